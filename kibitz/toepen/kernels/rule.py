"""A sensible player of Toepen by rule of thumb: counts what can beat each card, keeps the best for the end.

It is an opponent to measure against, not a strategy from theory: it never bluffs.
"""

from __future__ import annotations

from kibitz.core.jit import ONE, U64, part
from kibitz.core.random import NONE
from kibitz.toepen.kernels import rules as bits
from kibitz.toepen.kernels.rules import count_bits, field, phase_of, player_of, unseen_by

BET_FROM, CALL_FROM = 0.72, 0.42


@part
def beaten_by(card, unseen, lacks):
    """How many unseen cards beat a card that is led; none if the opponent was seen to lack the suit."""
    suit = card >> bits.THREE
    if (lacks >> suit) & ONE:
        return NONE
    return bits.COUNT[((unseen >> (bits.EIGHT * suit)) & bits.M8) >> (card & bits.M3)]


@part
def rule(state, rules, width, cards):
    """The number of the action that the rule of thumb takes."""
    meta = state.meta
    seat = player_of(state)
    hand = (state.hands >> (bits.HALF * seat)) & bits.WORD
    unseen, lacks = unseen_by(state, rules, seat)
    reacting = field(meta, bits.PLAY, bits.M4) & ONE
    led = field(meta, bits.LED, bits.M5)
    phase = phase_of(state)
    if phase == bits.CARD:
        return choose_card(hand, unseen, lacks, reacting, led, width, cards)
    if phase == bits.BET:
        return ONE if outlook(hand, unseen, lacks, reacting, led, True) >= BET_FROM else NONE
    # The other one has bet before a card of his own: if he reacts, the card led is mine and still in play.
    if reacting:
        hand |= ONE << led
    ante = float(field(meta, bits.ANTE, bits.M5))
    chance = outlook(hand, unseen, lacks, NONE, led, reacting != NONE)
    # Calling risks ante + 1 to win as much where folding loses ante, against one who bets on good hands.
    return NONE if chance >= max(CALL_FROM, 1.0 / (2.0 * (ante + 1.0))) else ONE


@part
def choose_card(hand, unseen, lacks, reacting, led, width, cards):
    """Win a trick as cheaply as possible; else give away the card that most unseen ones beat."""
    suit = led >> bits.THREE
    best = NONE
    if reacting and (hand >> (bits.EIGHT * suit)) & bits.M8:
        for a in range(width):
            if ((cards >> (bits.EIGHT * a)) & bits.M8) > led:  # in order of rank: the cheapest that wins
                return a
        return NONE
    sure = NONE
    left = count_bits(hand)
    most = NONE
    for a in range(width):
        worse = beaten_by((cards >> (bits.EIGHT * a)) & bits.M8, unseen, lacks)
        sure += ONE if worse == NONE else NONE
        if worse > most:
            most = worse
            best = a
    if reacting or sure + ONE < left:
        return best
    for a in range(width):  # all but one cannot be beaten: lead them, the doubtful one comes last
        if beaten_by((cards >> (bits.EIGHT * a)) & bits.M8, unseen, lacks) == NONE:
            return a
    return best


@part
def outlook(hand, unseen, lacks, reacting, led, leads):
    """A guess at the chance to win the last trick; leads: may the player lead, or has he led, this trick?"""
    left = count_bits(hand)
    hidden = float(count_bits(unseen))
    suit = led >> bits.THREE
    same = (hand >> (bits.EIGHT * suit)) & bits.M8
    wins = reacting and (same >> (led & bits.M3)) != NONE
    if left == ONE and reacting:
        return 1.0 if wins else 0.0
    first = 0.0
    second = 0.0
    for card in range(U64(32)):
        if (hand >> card) & ONE:
            # The opponent's cards are `left` (or one fewer) of the hidden ones.
            theirs = float(left - ONE) if reacting else float(left)
            good = max(0.0, 1.0 - float(beaten_by(card, unseen, lacks)) * max(theirs, 1.0) / hidden)
            if good > first:
                second = first
                first = good
            elif good > second:
                second = good
    if left == ONE:
        return first
    lead = 0.1 if (wins or (leads and not reacting)) else -0.1
    return 0.5 * first + 0.5 * second + lead
