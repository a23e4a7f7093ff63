"""Clustering, GameShrink and joint weights of buckets, compiled."""
