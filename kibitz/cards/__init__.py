"""Playing cards: names, hands as numbers that compare as the hands do, and hands up to the names of suits.

    from kibitz import cards
    cards.evaluate(cards.parse("Ah Kh Qh Jh Th 2c 2d"))      # larger is better
    cards.Indexer([2, 3]).size                               # 1,286,792 hands and flops
    cards.strength("Ah Kd", "Qs 7c 2d")                      # against a random hand: exact, see holdem.py
    cards.equity("Ah Kd", "Qs Qc")                           # against another
    cards.equities(["AhKd", "TT+, AQs+", "random"])          # hands and ranges, two seats or more: see showdowns.py

A card is an integer, rank * 4 + suit: deuces are 0 to 3, aces 48 to 51; suits are c d h s.
"""

from __future__ import annotations

from kibitz.cards.deck import NAMES, NUMBERS, RANKS, SUITS, card, flat_hands, name, names, parse
from kibitz.cards.holdem import (
    Classes,
    Equity,
    ShowdownCounts,
    Strength,
    class_equity,
    class_hands,
    class_names,
    classes,
    counts,
    equity,
    histogram,
    strength,
)
from kibitz.cards.isomorphism import Indexer
from kibitz.cards.ranges import Range, parse_range
from kibitz.cards.ranking import CATEGORIES, CATEGORIES_OF_THREE, category, category_of_three, evaluate, evaluate_three
from kibitz.cards.showdowns import Equities, Seat, equities

__all__ = ["CATEGORIES", "CATEGORIES_OF_THREE", "NAMES", "NUMBERS", "RANKS", "SUITS", "Classes", "Equities",
           "Equity", "Indexer", "Range", "Seat", "ShowdownCounts", "Strength", "card", "category",
           "category_of_three", "class_equity", "class_hands", "class_names", "classes", "counts", "equities",
           "equity", "evaluate", "evaluate_three", "flat_hands", "histogram", "name", "names", "parse",
           "parse_range", "strength"]  # fmt: skip
