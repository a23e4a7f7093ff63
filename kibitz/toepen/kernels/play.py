"""Toepen at the table: what a public history says of a hand.

A public history is a list of *words*: a card by its number (0 to 31), or CHECK, BET, CALL, FOLD (32 to 35). Forced
moves are in it, as in the game's own texts. What a seat knows is its own cards and the words, so all kernels here
replay the words with a hand of one seat; of the other seat they only ever see the cards that it has played.

*Models.* A player may be bent by counts of what was seen: counts[f, c] is how often class c of actions was taken in
situations of feature f. With a prior of strength s its strategy is (s * its own + counts) / (s + their sum): the mean
of a Dirichlet distribution around the player. Without counts it is the player itself.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import ONE, TWO, U64, kernel, maker, part
from kibitz.core.random import GOLDEN, NONE, SHIFT_11, TO_UNIT, choose, mix, seed_of
from kibitz.solvers.kernels.players import strategy
from kibitz.toepen.kernels.keys import key_of
from kibitz.toepen.kernels.machine import action_of, options, spot_of
from kibitz.toepen.kernels.rule import beaten_by, outlook, rule
from kibitz.toepen.kernels.rules import (
    ANTE,
    BET,
    CALL,
    CALLED,
    CARD,
    EIGHT,
    END,
    HALF,
    LAST,
    LED,
    M1,
    M2,
    M4,
    M5,
    M8,
    PHASE,
    PLAY,
    PLAYER,
    THREE,
    WORD,
    State,
    begin,
    draw_hands,
    field,
    legal_cards,
    phase_of,
    play_card,
    player_of,
    put,
    unseen_by,
)

SAYS_CHECK, SAYS_BET, SAYS_CALL, SAYS_FOLD = U64(32), U64(33), U64(34), U64(35)
MOST_WORDS = 40
BUCKETS = U64(8)  # of a guess at the chance to win
BET_FEATURES = U64(128)  # phase, play, bucket
FEATURES = 128 + 48  # and for cards: play, whether suit is followed, how many cards may be played
ALL_CARDS = U64(0xFFFFFFFFFFFFFFFF)


# Public histories


@part
def with_meta(state, meta):
    return State(state.start, state.hands, state.low, state.high, meta)


@part
def ready(state, rules):
    """Without betting the next thing is always a card."""
    if phase_of(state) == BET and not rules.betting:
        return with_meta(state, put(state.meta, PHASE, M2, CARD))
    return state


@part
def say(state, word, rules):
    """The state after one word, with no forced move made after it."""
    meta = state.meta
    player = field(meta, PLAYER, M1)
    if word < SAYS_CHECK:
        state = play_card(state, word)
    elif word == SAYS_CHECK:
        state = with_meta(state, put(meta, PHASE, M2, CARD))
    elif word == SAYS_BET:
        state = with_meta(state, put(put(meta, PHASE, M2, CALL), PLAYER, M1, ONE - player))
    elif word == SAYS_CALL:
        meta = put(put(put(meta, PLAYER, M1, ONE - player), PHASE, M2, CARD), LAST, M2, ONE - player + ONE)
        meta += ONE << ANTE
        meta |= ONE << (CALLED + field(meta, PLAY, M4))
        state = with_meta(state, meta)
    else:
        state = with_meta(state, put(put(meta, PLAYER, M1, ONE - player), PHASE, M2, END))
    return ready(state, rules)


@part
def free(state, rules):
    """Does the player have a choice?"""
    phase = phase_of(state)
    if phase == BET:
        return field(state.meta, LAST, M2) != player_of(state) + ONE
    if phase == CARD:
        cards = legal_cards(state, rules)
        return (cards & (cards - ONE)) != NONE
    return phase == CALL


@part
def index_of(word, phase, width, cards):
    """Which action a word is; `width` if it is none of them."""
    if phase != CARD:
        return word & ONE
    for a in range(width):
        if (cards >> (EIGHT * a)) & M8 == word:
            return a
    return width


@part
def shown_by(words, count, rules):
    """(the cards seat 0 has played, those seat 1 has)."""
    one = NONE
    two = NONE
    state = State(ALL_CARDS, ALL_CARDS, NONE, NONE, begin(NONE, NONE).meta)
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
    play = field(state.meta, PLAY, M4)
    hand = (state.hands >> (HALF * seat)) & WORD
    led = field(state.meta, LED, M5)
    if phase == CARD:
        follows = ONE if play & ONE and (hand >> (EIGHT * (led >> THREE))) & M8 else NONE
        return BET_FEATURES + (play * TWO + follows) * THREE + width - TWO
    unseen, lacks = unseen_by(state, rules, seat)
    bucket = U64(min(max(outlook(hand, unseen, lacks, play & ONE, led, True), 0.0), 0.999) * float(BUCKETS))
    return ((ONE if phase == CALL else NONE) * EIGHT + play) * BUCKETS + bucket


@part
def class_of(state, rules, width, cards, a):
    """Which class of actions the a-th one is: for cards, how many of the others are harder to beat."""
    if phase_of(state) != CARD:
        return a
    unseen, lacks = unseen_by(state, rules, player_of(state))
    mine = beaten_by((cards >> (EIGHT * a)) & M8, unseen, lacks)
    place = NONE
    for b in range(width):
        other = beaten_by((cards >> (EIGHT * b)) & M8, unseen, lacks)
        if other < mine or (other == mine and b < a):
            place += ONE
    return place


@part
def modelled(player, counts, prior, state, rules, width, cards, probability):
    """probability[0:width] of a player bent by counts; see the top of the file."""
    strategy(player, rules, spot_of(state, width, cards), width, probability)
    if prior <= 0.0:
        return
    row = counts[feature(state, rules, width, cards)]
    total = 0.0
    for c in range(width):
        total += row[c]
    if total <= 0.0:
        return
    for a in range(width):
        seen = row[class_of(state, rules, width, cards, a)]
        probability[a] = (prior * probability[a] + seen) / (prior + total)


@part
def dealt_to(seat, hand, other):
    """The state after a deal in which a seat has `hand` and the other has cards `other`."""
    return begin(other, hand) if seat else begin(hand, other)


@part
def likelihood(state, rules, player, counts, prior, seat, words, first, count, probability):
    """(the state after words first..count - 1, the probability that the seat's moves in them are made)."""
    product = 1.0
    for k in range(first, count):
        word = words[k]
        if player_of(state) == seat:
            if word < SAYS_CHECK and not (legal_cards(state, rules) >> word) & ONE:
                return state, 0.0
            if free(state, rules):
                phase, width, cards = options(state, rules)
                modelled(player, counts, prior, state, rules, width, cards, probability)
                product *= probability[index_of(word, phase, width, cards)]
        state = say(state, word, rules)
    return state, product


@maker
def likelihoods(rules, player, counts, prior, seat, words, hands, result):
    """result[i]: the probability that the player in a seat, dealt hands[i], makes its moves in the public history.

    words: uint64[w]; hands: uint64[n], as they were dealt; 0 where the rules rule a hand out.
    """
    weigh_hands(rules, player, counts, prior, seat, words, hands, result, np.zeros(4))


@part
def weigh_hands(rules, player, counts, prior, seat, words, hands, result, probability):
    shown = shown_by(words, len(words), rules)
    mine, other = (shown[1], shown[0]) if seat else (shown[0], shown[1])
    for i in range(len(hands)):
        if hands[i] & mine != mine or hands[i] & other:
            result[i] = 0.0
            continue
        state = ready(dealt_to(seat, hands[i], other), rules)
        _, result[i] = likelihood(state, rules, player, counts, prior, seat, words, NONE, U64(len(words)), probability)


@kernel
def answers(rules, player, counts, prior, seat, words, hands, result, actions):
    """What the player in a seat, dealt hands[i], does after a public history, where it is that seat's turn.

    result: float64[n, 4]; actions: uint64[n]  the cards of a card phase, a byte each.
    """
    shown = shown_by(words, len(words), rules)
    other = shown[0] if seat else shown[1]
    for i in range(len(hands)):
        state = ready(dealt_to(seat, hands[i], other), rules)
        for k in range(len(words)):
            state = say(state, words[k], rules)
        _, width, cards = options(state, rules)
        actions[i] = cards
        modelled(player, counts, prior, state, rules, width, cards, result[i])


@kernel
def key_after(rules, keys, seat, words, hand):
    """The key of the row that a seat, dealt a hand, reads after a public history."""
    shown = shown_by(words, len(words), rules)
    state = ready(dealt_to(seat, hand, shown[0] if seat else shown[1]), rules)
    for k in range(len(words)):
        state = say(state, words[k], rules)
    return key_of(state, rules, keys)


@kernel
def advised(rules, seat, words, hand):
    """The action that the rule of thumb takes for a seat, dealt a hand, after a public history."""
    shown = shown_by(words, len(words), rules)
    state = ready(dealt_to(seat, hand, shown[0] if seat else shown[1]), rules)
    for k in range(len(words)):
        state = say(state, words[k], rules)
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
        state = ready(dealt_to(seat, hands[i], other), rules)
        for k in range(len(words)):
            if player_of(state) == seat and free(state, rules):
                phase, width, cards = options(state, rules)
                a = index_of(words[k], phase, width, cards)
                if a < width:
                    c = class_of(state, rules, width, cards, a)
                    counts[feature(state, rules, width, cards), c] += weights[i]
            state = say(state, words[k], rules)


@maker
def until_trick(rules, one, two, seed, number, trick, words, cards):
    """Play a deal up to the start of a trick (0 is the first); returns how many words were said, or -1 if the hand
    ended before, and the hands that were dealt.

    words: uint64[MOST_WORDS], filled with the public history.
    """
    return play_until(rules, one, two, seed, number, trick, words, cards, np.zeros(4))


@part
def play_until(rules, one, two, seed, number, trick, words, cards, probability):
    mine, yours, random = draw_hands(rules, cards, seed_of(seed, number))
    state = ready(begin(mine, yours), rules)
    count = 0
    while True:
        phase = phase_of(state)
        play = field(state.meta, PLAY, M4)
        if phase == END:
            return -1, mine, yours
        if play == TWO * U64(trick):
            return count, mine, yours
        player = player_of(state)
        if free(state, rules):
            _, width, packed = options(state, rules)
            if player:
                strategy(two, rules, spot_of(state, width, packed), width, probability)
            else:
                strategy(one, rules, spot_of(state, width, packed), width, probability)
            random += GOLDEN
            a = choose(probability, width, (mix(random) >> SHIFT_11) * TO_UNIT)
            action = action_of(phase, packed, a)
        elif phase == CARD:
            action = only_card(legal_cards(state, rules))
        else:
            action = NONE
        word = action
        if phase == BET:
            word = SAYS_CHECK + action
        elif phase == CALL:
            word = SAYS_CALL + action
        words[count] = word
        count += 1
        state = say(state, word, rules)


@part
def only_card(mask):
    card = NONE
    while not (mask >> card) & ONE:
        card += ONE
    return card
