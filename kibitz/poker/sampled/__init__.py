"""Two-player poker where each decision uses buckets of hands of its own: betting tree times views."""
