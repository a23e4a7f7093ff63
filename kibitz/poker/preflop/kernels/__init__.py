"""Compiled functions of play before the flop."""
