"""Two-player poker where each decision sees hands through buckets of its own: betting tree times views."""
