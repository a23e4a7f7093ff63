"""Two-player poker within buckets: betting tree times joint weights of buckets."""
