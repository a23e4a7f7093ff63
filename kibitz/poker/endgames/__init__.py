"""Endgames: subgames solved at the table, safe refinement, phases."""
