"""Spots with three players and more: trained by sampling, with exact hands."""
