"""Compiled no-limit betting, translation, matches and responses."""
