"""What is poker's own and stands on runs: experts with buckets of their own, on sampled boards."""
