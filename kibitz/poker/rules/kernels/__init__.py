"""The rules of poker, compiled, and buckets of hands as walks look them up."""
