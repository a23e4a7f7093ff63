"""Poker: rules, buckets, forms, blueprints, endgames, matches and tournaments."""
