"""Two-player poker in buckets: betting tree times joint weights of buckets."""
