"""The form of poker games: betting times cards, without a tree."""
