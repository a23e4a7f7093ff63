"""Spots: a board, two ranges, a pot, stacks and a few bet sizes, solved from the flop, turn or river on."""
