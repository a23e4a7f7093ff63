"""Lays Toepen out from its state machine: the arrays of a Tree, millions of histories a second."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.core.random import NONE
from kibitz.toepen.kernels import rules as bits
from kibitz.toepen.kernels.keys import key_of
from kibitz.toepen.kernels.rules import PackedState, act, choices, deal, payoff, phase_of, player_of, signature

EMPTY = -1


@part
def push(stack, depth, state, parent, action):
    for k in range(5):
        stack[depth, k] = state[k]
    stack[depth, 5] = parent
    stack[depth, 6] = action


@part
def state_at(words, at):
    """The state whose words are in a row."""
    return PackedState(words[at, 0], words[at, 1], words[at, 2], words[at, 3], words[at, 4])


@part
def open_state(stack, depth, state, rules, node):
    """Push what follows a decision, the first action on top; returns the new depth."""
    phase = phase_of(state)
    width = U64(2)
    cards = NONE
    if phase == bits.CARD:
        width, cards = choices(state, rules)
    for k in range(width):
        a = width - ONE - k
        action = (cards >> (bits.EIGHT * a)) & bits.M8 if phase == bits.CARD else a
        push(stack, depth, act(state, phase, action, rules), node, a)
        depth += ONE
    return depth


@kernel
def count_histories(deals, rules, stack, limit):
    """(histories, terminal ones) below all deals, uint64[D, 2], without the root; stops above a limit."""
    histories = 0
    ends = 0
    for d in range(deals.shape[0]):
        if histories > limit:
            break
        push(stack, NONE, deal(deals[d, 0], deals[d, 1], rules), NONE, NONE)
        depth = ONE
        while depth > NONE:
            depth -= ONE
            state = state_at(stack, depth)
            histories += 1
            if phase_of(state) == bits.END:
                ends += 1
            else:
                depth = open_state(stack, depth, state, rules, NONE)
    return histories, ends


class LaidTree(NamedTuple):
    """Arrays of a Tree whose history 0 deals, for N histories of which L are terminal."""

    parent: np.ndarray  # int32[N]
    turn: np.ndarray  # int8[N]
    action: np.ndarray  # int32[N]
    infoset: np.ndarray  # int32[N]  numbered seat by seat from 0
    leaf: np.ndarray  # float64[L]  seat 0's payoff


class InfosetTable(NamedTuple):
    """The infosets met so far: a hash table of a power of two in size, and a list for each seat."""

    key: np.ndarray  # uint64[size]
    infoset: np.ndarray  # int32[size]  EMPTY, or a number of the seat's list
    example: np.ndarray  # uint64[2, I, 5]  a state of each infoset
    offered: np.ndarray  # uint64[2, I]  the cards a byte each, all ones where a byte is none, or the phase of betting
    count: np.ndarray  # int64[2]  infosets of each seat


@kernel
def lay(deals, rules, keys, stack, tree, table):
    """Fill the arrays of a tree."""
    parent, turn, action, infoset, leaf = tree
    table_key, table_infoset, example, offered, count = table
    mask = U64(len(table_key) - 1)
    node = ONE
    ends = NONE
    parent[0] = -1
    turn[0] = -1
    action[0] = 0
    infoset[0] = -1
    for d in range(deals.shape[0]):
        push(stack, NONE, deal(deals[d, 0], deals[d, 1], rules), NONE, U64(d))
        depth = ONE
        while depth > NONE:
            depth -= ONE
            state = state_at(stack, depth)
            parent[node] = stack[depth, 5]
            action[node] = stack[depth, 6]
            if phase_of(state) == bits.END:
                turn[node] = -2
                infoset[node] = -1
                leaf[ends] = payoff(state)
                ends += ONE
            else:
                seat = player_of(state)
                turn[node] = seat
                key = key_of(state, rules, keys)
                at = key & mask
                while table_infoset[at] != EMPTY and table_key[at] != key:
                    at = (at + ONE) & mask
                if table_infoset[at] == EMPTY:
                    number = count[seat]
                    count[seat] += 1
                    table_key[at] = key
                    table_infoset[at] = number
                    for k in range(5):
                        example[seat, number, k] = state[k]
                    offered[seat, number] = phase_of(state)
                    if phase_of(state) == bits.CARD:
                        width, cards = choices(state, rules)
                        offered[seat, number] = cards | (~NONE << (bits.EIGHT * width))
                infoset[node] = table_infoset[at]
                depth = open_state(stack, depth, state, rules, node)
            node += ONE
    return node


@kernel
def count_rows(deals, rules, keys, stack, table_key, count):
    """Distinct rows of each seat; count: int64[2]. Returns False when the table is full. Zero marks an empty place."""
    mask = U64(len(table_key) - 1)
    most = len(table_key) - len(table_key) // 8
    for d in range(deals.shape[0]):
        push(stack, NONE, deal(deals[d, 0], deals[d, 1], rules), NONE, NONE)
        depth = ONE
        while depth > NONE:
            depth -= ONE
            state = state_at(stack, depth)
            if phase_of(state) == bits.END:
                continue
            key = key_of(state, rules, keys)
            at = key & mask
            while table_key[at] != NONE and table_key[at] != key:
                at = (at + ONE) & mask
            if table_key[at] == NONE:
                table_key[at] = key
                count[player_of(state)] += 1
                if count[0] + count[1] > most:
                    return False
            depth = open_state(stack, depth, state, rules, NONE)
    return True


@kernel
def ties_at(states, rules, out):
    """Cards that a seat cannot tell apart. out: int64[n, 4], for each action the first one that is the same to it."""
    for i in range(states.shape[0]):
        state = state_at(states, i)
        for b in range(4):
            out[i, b] = b
        if phase_of(state) != bits.CARD:
            continue
        seat = player_of(state)
        width, cards = choices(state, rules)
        for b in range(width):
            card = (cards >> (bits.EIGHT * b)) & bits.M8
            for a in range(b):
                like = (cards >> (bits.EIGHT * a)) & bits.M8
                same = signature(state, seat, like >> bits.THREE) == signature(state, seat, card >> bits.THREE)
                if like & bits.M3 == card & bits.M3 and same:
                    out[i, b] = a
                    break


@kernel
def keys_at(states, rules, keys, out):
    """The keys of some decisions. states: uint64[n, 5]; out: uint64[n]."""
    for i in range(states.shape[0]):
        out[i] = key_of(state_at(states, i), rules, keys)
