"""Poker without a tree: passes over betting times cards."""
