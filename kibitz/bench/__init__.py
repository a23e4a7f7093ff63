"""Benchmarks, peers, and builders of generated documents."""
