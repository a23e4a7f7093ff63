"""Raises that a list of bet sizes offers, by the rules of no-limit betting for any number of players.

`kibitz.poker.rules.betting` has the rules; chips that nobody has to call (antes, the pot that a spot begins with) are
not in it but in `SizeRule.dead`, so that least raises are those of a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import Bets, raises
from kibitz.poker.spots.sizes import BetSize, geometric


class SizeRule(NamedTuple):
    """How sizes become chips. Amounts in units of the definition."""

    dead: int  # in the middle beside what was bet
    step: int  # bets are whole numbers of it: the smallest chip
    blind: int  # what a size in big blinds counts
    force_allin: float = 0.0  # a raise after whose call less than this share of the pot is behind is all in


def raises_to(game: Definition, bets: Bets, sizes: Sequence[BetSize], rule: SizeRule) -> list[int]:
    """What the seat to act may have put in after a raise, from low to high. No raise goes beyond the largest stack that
    can answer it."""
    low, high = raises(game, bets)
    if low > high or not sizes:
        return []
    assert game.stacks is not None
    top = max(bets.paid)
    others = (stack for seat, stack in enumerate(game.stacks) if seat != bets.turn and not bets.folded[seat])
    most = min(high, max(others))
    if most <= top:
        return []
    low = min(low, most)
    pot = rule.dead + sum(bets.paid) + top - bets.paid[bets.turn]  # after a call
    streets = game.rounds - bets.round
    totals = set()
    for size in sizes:
        total = min(max(_total(size, top, pot, most, streets, rule), low), most)
        behind = (pot + 2 * (total - top)) * rule.force_allin
        totals.add(most if most - total <= behind else total)
    return sorted(totals)


def _total(size: BetSize, top: int, pot: int, most: int, streets: int, rule: SizeRule) -> int:
    if size.kind == "allin":
        return most
    if size.kind == "pot":
        return top + _whole(size.number * pot, rule.step)
    if size.kind == "chips":
        return top + _whole(size.number * rule.step, rule.step)
    if size.kind == "to":
        return _whole(size.number * rule.blind, rule.step)
    if size.kind == "times":
        return _whole(size.number * top, rule.step)
    share = min(geometric((most - top) / pot, int(size.number) or streets), size.most)
    return top + _whole(pot * share, rule.step)


def _whole(units: float, step: int) -> int:
    """Rounded to whole chips, half up."""
    return step * math.floor(units / step + 0.5)
