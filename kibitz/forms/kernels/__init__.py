"""Sequence forms: layout, payoffs, CFR, best responses."""
