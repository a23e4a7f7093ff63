"""Experts of poker games: in the abstract game, and on sampled boards."""
