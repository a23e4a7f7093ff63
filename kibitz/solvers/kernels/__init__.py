"""Walks of MCCFR and where they keep their rows."""
