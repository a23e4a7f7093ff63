"""Toepen as a compiled state machine on bit masks: what samplers walk where no tree could be laid out.

A card is suit * 8 + rank, so a byte of a mask is a suit. A state is five words:

    start   both initial hands, seat 1's in the upper half
    hands   both hands now, likewise
    low     which cards were played, by suit: for suits 0 and 1 a half each; play t stands in the hex digit 7 - t of its
            suit's half as rank + 1, so that halves compare as lists of plays
    high    the same for suits 2 and 3
    meta    everything else, in fields of a few bits (below)

Moves that are forced are made at once (`settle`), so that every state that anyone sees is a decision with two or more
actions, or the end. The readable twin is `kibitz.toepen.rules`; up to four cards a hand fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, part
from kibitz.core.random import GOLDEN, NONE, mix

MOST_CARDS = 4  # in a hand
BET, CALL, CARD, END = U64(0), U64(1), U64(2), U64(3)  # phases: check or bet, call or fold, play a card, over

# Fields of meta: where they begin. play 4 bits, phase 2, player (at the end: winner), leader, led 5, last bettor 2
# (0: nobody, else seat + 1), ante 5, called 8 (bit t: a bet was called before play t), thesis labels of each seat 8
# (suit of label k in bits 2k), suits each seat was seen to lack 4, high cards each seat has played 3.
PLAY, PHASE, PLAYER, LEADER, LED, LAST, ANTE, CALLED = (U64(b) for b in (0, 4, 6, 7, 8, 13, 15, 20))
LABELS, LACKS, HIGH = U64(28), U64(44), U64(52)
M1, M2, M3, M4, M5, M8 = U64(1), U64(3), U64(7), U64(15), U64(31), U64(255)
HALF, WORD = U64(32), U64(0xFFFFFFFF)
EIGHT, THREE, FOUR, FIVE = U64(8), U64(3), U64(4), U64(5)
SUITS = U64(4)


def _ordered() -> np.ndarray:
    """[256]  the ranks of a suit's byte as hex digits, lowest rank first: these compare as lists of ranks do."""
    table = np.zeros(256, np.uint64)
    for byte in range(256):
        ranks = [r for r in range(8) if byte >> r & 1][:MOST_CARDS]
        for k, rank in enumerate(ranks):
            table[byte] |= U64((rank + 1) << (12 - 4 * k))
    return table


ORDERED = _ordered()
COUNT = np.array([bin(byte).count("1") for byte in range(256)], np.uint64)


class Rules(NamedTuple):
    """The parameters of a game."""

    deck: np.uint64  # mask of the cards that exist
    hand: np.uint64  # cards in a hand
    betting: np.uint64  # 0 or 1
    follow: np.uint64  # 0 or 1: must the reactor follow suit?


class PackedState(NamedTuple):
    """Where play stands; see the top of the file."""

    start: np.uint64
    hands: np.uint64
    low: np.uint64
    high: np.uint64
    meta: np.uint64


@part
def field(meta, where, mask):
    return (meta >> where) & mask


@part
def put(meta, where, mask, value):
    return (meta & ~(mask << where)) | (value << where)


@part
def with_meta(state, meta):
    return PackedState(state.start, state.hands, state.low, state.high, meta)


@part
def player_of(state):
    return field(state.meta, PLAYER, M1)


@part
def phase_of(state):
    return field(state.meta, PHASE, M2)


@part
def count_bits(mask):
    """Cards in the lower half of a word."""
    lower = COUNT[mask & M8] + COUNT[(mask >> EIGHT) & M8]
    return lower + COUNT[(mask >> U64(16)) & M8] + COUNT[(mask >> U64(24)) & M8]


@part
def plays_in(state, suit):
    """The plays of a suit, as a half word."""
    word = state.low if suit < U64(2) else state.high
    return (word >> (HALF * (suit & ONE))) & WORD


@part
def labels_of(hand):
    """Suits in the order of the thesis' labels: by their lowest rank in the hand, absent ones last, ties by suit."""
    packed = NONE
    taken = NONE
    k = NONE
    for rank in range(U64(9)):  # rank 8: suits that the hand lacks
        for suit in range(SUITS):
            present = (hand >> (EIGHT * suit)) & M8
            here = (present >> rank) & ONE if rank < EIGHT else ONE
            if here and not (taken >> suit) & ONE:
                packed |= suit << (k + k)
                taken |= ONE << suit
                k += ONE
    return packed


@part
def begin(hand_0, hand_1):
    """The state after the deal, with no forced move made yet."""
    both = hand_0 | (hand_1 << HALF)
    meta = (ONE << ANTE) | (labels_of(hand_0) << LABELS) | (labels_of(hand_1) << (LABELS + EIGHT))
    return PackedState(both, both, NONE, NONE, meta)


@part
def deal(hand_0, hand_1, rules):
    """The first decision of a deal."""
    return settle(begin(hand_0, hand_1), rules)


@part
def unseen_by(state, rules, seat):
    """(cards that a seat has not seen, suits that the other was seen to lack)."""
    shift = HALF * seat
    shown = ((state.start ^ state.hands) >> (HALF - shift)) & WORD  # what the other has played
    unseen = rules.deck & ~((state.start >> shift) & WORD) & ~shown
    return unseen, field(state.meta, LACKS + FOUR * (ONE - seat), M4)


@part
def legal_cards(state, rules):
    """Mask of the cards that the player may play."""
    player = player_of(state)
    hand = (state.hands >> (HALF * player)) & WORD
    if rules.follow and field(state.meta, PLAY, M4) & ONE:
        suit = field(state.meta, LED, M5) >> THREE
        same = hand & (M8 << (EIGHT * suit))
        if same:
            return same
    return hand


@part
def play_card(state, card):
    """The player's card goes onto the table; the trick, and the game, may end with it. Forced moves come after."""
    start, hands, low, high, meta = state
    player = field(meta, PLAYER, M1)
    play = field(meta, PLAY, M4)
    suit = card >> THREE
    rank = card & M3
    hands &= ~(ONE << (card + HALF * player))
    digit = (rank + ONE) << (U64(28) - FOUR * play + HALF * (suit & ONE))
    if suit < U64(2):
        low |= digit
    else:
        high |= digit
    if rank >= FOUR:
        meta += ONE << (HIGH + THREE * player)
    meta = put(meta, PLAY, M4, play + ONE)
    meta = put(meta, PHASE, M2, BET)
    if not play & ONE:
        meta = put(meta, LED, M5, card)
        meta = put(meta, PLAYER, M1, ONE - player)
        return PackedState(start, hands, low, high, meta)
    led = field(meta, LED, M5)
    winner = ONE - player
    if led >> THREE == suit:
        if card > led:
            winner = player
    else:
        meta |= ONE << (LACKS + FOUR * player + (led >> THREE))
    meta = put(meta, LEADER, M1, winner)
    meta = put(meta, PLAYER, M1, winner)
    if not hands:
        meta = put(meta, PHASE, M2, END)
    return PackedState(start, hands, low, high, meta)


@part
def settle(state, rules):
    """Make forced moves until there is a choice of two or more, or the end."""
    while True:
        phase = phase_of(state)
        if phase == BET:
            if rules.betting and field(state.meta, LAST, M2) != player_of(state) + ONE:
                return state
            state = with_meta(state, put(state.meta, PHASE, M2, CARD))
        elif phase == CARD:
            cards = legal_cards(state, rules)
            if cards & (cards - ONE):
                return state
            state = play_card(state, lowest(cards))
        else:
            return state


@part
def lowest(mask):
    """The lowest card of a mask that has one."""
    card = NONE
    while not mask & M8:
        mask >>= EIGHT
        card += EIGHT
    while not mask & ONE:
        mask >>= ONE
        card += ONE
    return card


@part
def signature(state, player, suit):
    """All that a seat knows about a suit: its first cards there, lowest first, and the plays in it."""
    start = (state.start >> (HALF * player + EIGHT * suit)) & M8
    return (ORDERED[start] << HALF) | plays_in(state, suit)


@part
def choices(state, rules):
    """(how many, the cards a byte each) at a card phase, in the game's order of actions.

    Suits go by the ranks that are left in the hand, then by what the seat knows of the suit, then by name.
    """
    cards = legal_cards(state, rules)
    player = player_of(state)
    count = NONE
    packed = NONE
    done = NONE
    while True:
        best = SUITS
        best_key = NONE
        for suit in range(SUITS):
            left = (cards >> (EIGHT * suit)) & M8
            if left and not (done >> suit) & ONE:
                # The legal cards of a suit are all that the hand has of it.
                key = (ORDERED[left] << U64(48)) | signature(state, player, suit)
                if best == SUITS or key < best_key:
                    best = suit
                    best_key = key
        if best == SUITS:
            return count, packed
        done |= ONE << best
        left = (cards >> (EIGHT * best)) & M8
        for rank in range(EIGHT):
            if (left >> rank) & ONE:
                packed |= (best * EIGHT + rank) << (EIGHT * count)
                count += ONE


@part
def bet_or_answer(state, phase, action):
    """The state after action 0 or 1 of a betting phase (check or bet, call or fold), before any forced move."""
    meta = state.meta
    player = field(meta, PLAYER, M1)
    if phase == BET:
        if action == NONE:
            meta = put(meta, PHASE, M2, CARD)
        else:
            meta = put(put(meta, PHASE, M2, CALL), PLAYER, M1, ONE - player)
    else:
        meta = put(meta, PLAYER, M1, ONE - player)
        if action == NONE:
            meta = put(put(meta, PHASE, M2, CARD), LAST, M2, ONE - player + ONE)
            meta += ONE << ANTE
            meta |= ONE << (CALLED + field(meta, PLAY, M4))
        else:
            meta = put(meta, PHASE, M2, END)
    return with_meta(state, meta)


@part
def act(state, phase, action, rules):
    """The next decision after action 0 or 1 of a betting phase, or a card (by its number) of a card phase."""
    return settle(play_card(state, action) if phase == CARD else bet_or_answer(state, phase, action), rules)


@part
def payoff(state):
    """Of seat 0 at the end."""
    ante = float(field(state.meta, ANTE, M5))
    return -ante if field(state.meta, PLAYER, M1) else ante


@part
def draw_hands(rules, cards, random):
    """Two random hands; `cards` has a place for each card of the deck. Returns them and the generator's state."""
    size = NONE
    for card in range(HALF):
        if (rules.deck >> card) & ONE:
            cards[size] = card
            size += ONE
    one = NONE
    two = NONE
    for k in range(rules.hand + rules.hand):
        random += GOLDEN
        at = k + (((mix(random) >> HALF) * (size - k)) >> HALF)
        card = cards[at]
        cards[at] = cards[k]
        cards[k] = card
        if k < rules.hand:
            one |= ONE << card
        else:
            two |= ONE << card
    return one, two, random
