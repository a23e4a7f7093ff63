"""Toepen at the table: what a public history says of a hand.

A public history is a list of *words*: a card by its number (0 to 31), or CHECK, BET, CALL, FOLD (32 to 35). Forced
moves are in it, as in the game's own texts. What a seat knows is its own cards and the words, so all kernels here
replay the words with a hand of one seat; of the other seat they only ever see the cards that it has played.

*Models.* A player may be bent by counts of what was seen: counts[f, c] is how often class c of actions was taken in
situations of feature f. With a prior of strength s its strategy is (s * its own + counts) / (s + their sum): the mean
of a Dirichlet distribution around the player. Without counts it is the player itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.core.jit import ONE, TWO, U64, kernel, part
from kibitz.core.random import GOLDEN, NONE, SHIFT_11, TO_UNIT, choose, mix, seed_of
from kibitz.solvers.kernels.players import strategy
from kibitz.toepen.kernels import rules as bits
from kibitz.toepen.kernels.keys import key_of
from kibitz.toepen.kernels.machine import action_of, options, turn_of
from kibitz.toepen.kernels.rule import beaten_by, outlook, rule
from kibitz.toepen.kernels.rules import (
    PackedState,
    begin,
    bet_or_answer,
    draw_hands,
    field,
    legal_cards,
    lowest,
    phase_of,
    play_card,
    player_of,
    put,
    unseen_by,
    with_meta,
)

SAYS_CHECK, SAYS_BET, SAYS_CALL, SAYS_FOLD = U64(32), U64(33), U64(34), U64(35)
MOST_WORDS = 40
BUCKETS = U64(8)  # of a guess at the chance to win
BET_FEATURES = U64(128)  # phase, play, bucket
FEATURES = 128 + 48  # and for cards: play, whether suit is followed, how many cards may be played
ALL_CARDS = U64(0xFFFFFFFFFFFFFFFF)


class OpponentModel(NamedTuple):
    """A player bent by counts; see the top of the file."""

    player: Any
    counts: np.ndarray  # float64[FEATURES, 4]
    prior: float  # the strength of the prior; 0: the player itself


# Public histories


@part
def ready(state, rules):
    """Without betting the next thing is always a card."""
    if phase_of(state) == bits.BET and not rules.betting:
        return with_meta(state, put(state.meta, bits.PHASE, bits.M2, bits.CARD))
    return state


@part
def say(state, word, rules):
    """The state after one word, with no forced move made after it."""
    if word < SAYS_CHECK:
        return ready(play_card(state, word), rules)
    return ready(bet_or_answer(state, bits.BET if word < SAYS_CALL else bits.CALL, word & ONE), rules)


@part
def watched(words, first, count, state, rules):
    """The state after words first..count - 1."""
    for k in range(first, count):
        state = say(state, words[k], rules)
    return state


@part
def free(state, rules):
    """Does the player have a choice?"""
    phase = phase_of(state)
    if phase == bits.BET:
        return field(state.meta, bits.LAST, bits.M2) != player_of(state) + ONE
    if phase == bits.CARD:
        cards = legal_cards(state, rules)
        return (cards & (cards - ONE)) != NONE
    return phase == bits.CALL


@part
def index_of(word, phase, width, cards):
    """Which action a word is; `width` if it is none of them."""
    if phase != bits.CARD:
        return word & ONE
    for a in range(width):
        if (cards >> (bits.EIGHT * a)) & bits.M8 == word:
            return a
    return width


@part
def shown_by(words, count, rules):
    """(the cards seat 0 has played, those seat 1 has)."""
    one = NONE
    two = NONE
    state = PackedState(ALL_CARDS, ALL_CARDS, NONE, NONE, begin(NONE, NONE).meta)
    for k in range(count):
        word = words[k]
        if word < SAYS_CHECK:
            if player_of(state):
                two |= ONE << word
            else:
                one |= ONE << word
        state = say(state, word, rules)
    return one, two


@kernel
def shown_cards(rules, words, seat):
    """The cards that a seat has played in a public history."""
    shown = shown_by(words, U64(len(words)), rules)
    return shown[1] if seat else shown[0]


@part
def feature(state, rules, width, cards):
    """A coarse description of a situation, as a row of counts."""
    seat = player_of(state)
    phase = phase_of(state)
    play = field(state.meta, bits.PLAY, bits.M4)
    hand = (state.hands >> (bits.HALF * seat)) & bits.WORD
    led = field(state.meta, bits.LED, bits.M5)
    if phase == bits.CARD:
        follows = ONE if play & ONE and (hand >> (bits.EIGHT * (led >> bits.THREE))) & bits.M8 else NONE
        return BET_FEATURES + (play * TWO + follows) * bits.THREE + width - TWO
    unseen, lacks = unseen_by(state, rules, seat)
    bucket = U64(min(max(outlook(hand, unseen, lacks, play & ONE, led, True), 0.0), 0.999) * float(BUCKETS))
    return ((ONE if phase == bits.CALL else NONE) * bits.EIGHT + play) * BUCKETS + bucket


@part
def class_of(state, rules, width, cards, a):
    """Which class of actions the a-th one is: for cards, how many of the others are harder to beat."""
    if phase_of(state) != bits.CARD:
        return a
    unseen, lacks = unseen_by(state, rules, player_of(state))
    mine = beaten_by((cards >> (bits.EIGHT * a)) & bits.M8, unseen, lacks)
    place = NONE
    for b in range(width):
        other = beaten_by((cards >> (bits.EIGHT * b)) & bits.M8, unseen, lacks)
        if other < mine or (other == mine and b < a):
            place += ONE
    return place


@part
def modelled(model, state, rules, width, cards, probability):
    """probability[0:width] of a player bent by counts; see the top of the file."""
    strategy(model.player, rules, turn_of(state, width, cards), width, probability)
    if model.prior <= 0.0:
        return
    row = model.counts[feature(state, rules, width, cards)]
    total = 0.0
    for c in range(width):
        total += row[c]
    if total <= 0.0:
        return
    for a in range(width):
        seen = row[class_of(state, rules, width, cards, a)]
        probability[a] = (model.prior * probability[a] + seen) / (model.prior + total)


@part
def dealt_to(seat, hand, other, rules):
    """The state after a deal in which a seat has `hand` and the other has cards `other`."""
    return ready(begin(other, hand) if seat else begin(hand, other), rules)


@part
def likelihood(model, state, rules, seat, words, first, count, probability):
    """The probability that the seat's moves in words first..count - 1 after a state are made."""
    product = 1.0
    for k in range(first, count):
        word = words[k]
        if player_of(state) == seat:
            if word < SAYS_CHECK and not (legal_cards(state, rules) >> word) & ONE:
                return 0.0
            if free(state, rules):
                phase, width, cards = options(state, rules)
                modelled(model, state, rules, width, cards, probability)
                product *= probability[index_of(word, phase, width, cards)]
        state = say(state, word, rules)
    return product


@kernel
def likelihoods(rules, model, seat, words, hands, result, probability):
    """result[i]: the probability that the player in a seat, dealt hands[i], makes its moves in the public history.

    words: uint64[w]; hands: uint64[n], as they were dealt; 0 where the rules rule a hand out; probability: [4] scratch.
    """
    shown = shown_by(words, len(words), rules)
    mine, other = (shown[1], shown[0]) if seat else (shown[0], shown[1])
    for i in range(len(hands)):
        result[i] = 0.0
        if hands[i] & mine == mine and not hands[i] & other:
            state = dealt_to(seat, hands[i], other, rules)
            result[i] = likelihood(model, state, rules, seat, words, NONE, U64(len(words)), probability)


@part
def known_state(rules, seat, words, hand):
    """The state after a public history as a seat knows it that was dealt a hand."""
    shown = shown_by(words, len(words), rules)
    return watched(words, 0, len(words), dealt_to(seat, hand, shown[0] if seat else shown[1], rules), rules)


@kernel
def key_after(rules, keys, seat, words, hand):
    """The key of the row that a seat, dealt a hand, reads after a public history."""
    return key_of(known_state(rules, seat, words, hand), rules, keys)


@kernel
def advised(rules, seat, words, hand):
    """The action that the rule of thumb takes for a seat, dealt a hand, after a public history."""
    state = known_state(rules, seat, words, hand)
    _, width, cards = options(state, rules)
    return rule(state, rules, width, cards)


@kernel
def observe(rules, seat, words, hands, weights, counts):
    """Add what a seat did in a hand to counts; hands[i] was dealt to it with probability weights[i]."""
    shown = shown_by(words, len(words), rules)
    other = shown[0] if seat else shown[1]
    for i in range(len(hands)):
        if weights[i] <= 0.0:
            continue
        state = dealt_to(seat, hands[i], other, rules)
        for k in range(len(words)):
            if player_of(state) == seat and free(state, rules):
                phase, width, cards = options(state, rules)
                a = index_of(words[k], phase, width, cards)
                if a < width:
                    c = class_of(state, rules, width, cards, a)
                    counts[feature(state, rules, width, cards), c] += weights[i]
            state = say(state, words[k], rules)


@kernel
def until_trick(rules, one, two, seed, number, trick, words, cards, probability):
    """Play a deal up to the start of a trick (0 is the first); returns how many words were said, or -1 if the hand
    ended before.

    words: uint64[MOST_WORDS], filled with the public history; cards: uint64[64] and probability: [4] are scratch.
    """
    mine, yours, random = draw_hands(rules, cards, seed_of(seed, number))
    state = ready(begin(mine, yours), rules)
    count = 0
    while True:
        phase = phase_of(state)
        play = field(state.meta, bits.PLAY, bits.M4)
        if phase == bits.END:
            return -1
        if play == TWO * U64(trick):
            return count
        player = player_of(state)
        if free(state, rules):
            _, width, packed = options(state, rules)
            if player:
                strategy(two, rules, turn_of(state, width, packed), width, probability)
            else:
                strategy(one, rules, turn_of(state, width, packed), width, probability)
            random += GOLDEN
            a = choose(probability, width, (mix(random) >> SHIFT_11) * TO_UNIT)
            action = action_of(phase, packed, a)
        elif phase == bits.CARD:
            action = lowest(legal_cards(state, rules))
        else:
            action = NONE
        word = action
        if phase == bits.BET:
            word = SAYS_CHECK + action
        elif phase == bits.CALL:
            word = SAYS_CALL + action
        words[count] = word
        count += 1
        state = say(state, word, rules)
