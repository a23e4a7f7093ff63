"""Toepen: its rules, keys, arrays and endgames."""
