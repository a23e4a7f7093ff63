"""Poker board by board, and local best responses: compiled."""
