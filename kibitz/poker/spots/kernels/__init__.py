"""Compiled loops of spots."""
