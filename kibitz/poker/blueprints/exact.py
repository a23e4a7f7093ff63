"""What a blueprint of poker plays at every infoset of a poker form, or bucket by bucket at a node of the betting.

A poker form merges hands only if they differ by a suit permutation; a blueprint may distinguish such hands. A game
too large for a form is evaluated board by board (`kibitz.poker.whole`), by the same `BettingRows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate.blueprints import too_large
from kibitz.forms.choice import needs_tree
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.buckets.buckets import hand_buckets, is_bucket_name
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.exact.deal import deal
from kibitz.poker.exact.form import PokerForm, poker_form
from kibitz.poker.rules import acpc
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.rules.rounds import HALF
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.table_strategy import looked_up

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
STRIDE, OFFSET = 4, 5  # columns of a poker machine's nodes, as in kibitz.poker.rules.kernels.machine


def on_form_of(blueprint: Blueprint, game: Any) -> tuple[Form, Profile] | None:
    """(poker form, what the blueprint plays there) of a game, or of a form that was given; None if there is none."""
    if isinstance(game, Form):
        return (game, on_form(blueprint, game)) if isinstance(game, PokerForm) and game.buckets is None else None
    if needs_tree(game):
        return None
    try:
        form = by_suits(game)
    except GameError as error:
        whole = blueprint.machine.players == 2 and is_bucket_name(blueprint.abstraction)
        said = too_large(blueprint, "goes through all its boards with --whole" if whole else "samples it")
        raise GameError(f"{said} ({error})") from None
    return form, on_form(blueprint, form)


def by_suits(rules: Any) -> PokerForm:
    """The poker form whose classes of hands differ only by a renaming of suits, kept as long as the game lives."""
    if rules.definition.hole != 1:
        return poker_form(rules)  # only hands of one card are alike by more
    form: PokerForm | None = rules.__dict__.get("_form_by_suits")
    if form is None:
        form = rules.__dict__["_form_by_suits"] = PokerForm(rules, cards=deal(rules.definition, alike=False))
    return form


class Voice(NamedTuple):
    """A blueprint that plays at some betting nodes, and its buckets there."""

    blueprint: Blueprint
    buckets: HandBuckets | None  # None: hands are known by what is seen of the cards


class BettingRows:
    """The rows of a blueprint of poker, by node of the betting tree."""

    def __init__(self, blueprint: Blueprint, betting: BettingTree) -> None:
        blueprint.check_whole()
        machine: Any = blueprint.machine
        if acpc.write(machine.definition) != acpc.write(betting.definition):
            raise GameError(f"the blueprint is of {machine.spec}, which is another game")
        self.betting, self.machine = betting, machine
        self.deciding = np.flatnonzero(betting.turn >= 0)
        self.of_node = np.zeros(len(betting), np.int64)  # [betting nodes]  which voice plays there
        self.voices: list[Voice] = []
        if is_placed(blueprint):
            layout = layout_of(blueprint)
            for name in layout.rows.buckets:
                self.voices.append(Voice(blueprint, hand_buckets(machine.definition, name) if name else None))
            for node in self.deciding.tolist():
                self.of_node[node] = layout.part[self._place(node)]
            return
        for each in (blueprint, blueprint.base):
            if each is not None:
                named = is_bucket_name(each.abstraction)
                self.voices.append(Voice(each, hand_buckets(machine.definition, each.abstraction) if named else None))
        if blueprint.base is not None:
            self.of_node[:] = betting.round != blueprint.part

    def _word(self, node: int) -> int:
        """A node as the machine numbers it."""
        if not self.machine.by_rounds:
            return node
        return int(self.machine.node_of(int(self.betting.turn[node]), self.betting.text[node]))

    def _place(self, node: int) -> int:
        """The place of a node where rows lie by place."""
        return int(self.machine.betting.place(self._word(node)))

    def keys(self, node: int, seen: Ints | Words) -> Words:
        """The keys of rows at a node. seen: buckets, or what is seen of the cards where there are none."""
        from kibitz.poker.rules.kernels.machine import join, join_buckets

        voice, word = self.voices[self.of_node[node]], self._word(node)
        local = word & ((1 << HALF) - 1)
        table = self.machine.game.node
        if is_placed(voice.blueprint):
            column = int(layout_of(voice.blueprint).column[self._place(node), int(self.betting.turn[node])])
            begin = column + int(table[local, OFFSET])
            return (begin + seen.astype(np.int64) * int(table[local, STRIDE]) + 1).astype(np.uint64)
        keys = np.zeros(len(seen), np.uint64)
        nodes = np.full(len(seen), (word >> HALF) * len(table) + local, np.uint64)
        (join if voice.buckets is None else join_buckets)(seen.astype(np.uint64), nodes, keys)
        return keys

    def rows(self, node: int, seen: Ints | Words) -> Floats:
        """[n, actions]  probabilities at a node. seen: as of `keys`."""
        width = len(self.betting.actions[int(self.betting.actions_of[node])])
        table = self.voices[self.of_node[node]].blueprint.table
        return looked_up(table, self.keys(node, seen), width, self.machine.actions)[:, :width]


def on_form(blueprint: Blueprint, form: PokerForm) -> Profile:
    """What a blueprint plays at each infoset of a poker form."""
    rows = BettingRows(blueprint, form.betting)
    seen = [[_seen(rows.machine, voice, level, cards) for level, cards in enumerate(form.cards.rounds)]
            for voice in rows.voices]  # fmt: skip
    return _filled(rows, blueprint, form, lambda node, of_class: seen[rows.of_node[node]][_round(rows, node)][of_class])


def in_buckets(blueprint: Blueprint, form: BucketForm) -> Profile:
    """What a blueprint plays in the abstract game of its buckets, where it can be measured without the error that the
    buckets themselves make."""
    rows = BettingRows(blueprint, form.betting)
    buckets = rows.voices[0].buckets
    if len(rows.voices) != 1 or buckets is None or buckets.digest != form.buckets_digest:
        raise GameError("the blueprint was trained in other buckets than those of the abstract game")
    return _filled(rows, blueprint, form, lambda node, bucket: bucket)


def _round(rows: BettingRows, node: int) -> int:
    return int(rows.betting.round[node])


def _filled(rows: BettingRows, blueprint: Blueprint, form: Any, seen: Callable[[int, Ints], Any]) -> Profile:
    """The profile of a form. seen: (betting node, classes of hands) -> what rows are found by."""
    infosets = form.infosets
    node, of_class = infosets.order()
    probabilities = np.zeros(int(infosets.first[-1]))
    order = np.argsort(node, kind="stable")
    starts = np.searchsorted(node[order], rows.deciding)
    for at, end, one in zip(starts, np.append(starts[1:], len(order)), rows.deciding.tolist(), strict=True):
        here = order[at:end]
        of_node = rows.rows(one, seen(one, of_class[here]))
        probabilities[infosets.first[here][:, None] + np.arange(of_node.shape[1])] = of_node
    meta = {
        "game": form.spec, "tree": form.tree_digest, "solver": "blueprint", "abstraction": blueprint.abstraction,
        "iterations": blueprint.iteration, "seed": blueprint.seed,
    }  # fmt: skip
    return Profile(infosets, probabilities, meta)


def _seen(machine: Any, voice: Voice, level: int, cards: Any) -> Ints | Words:
    """[classes]  what a voice knows of the hands of a class in a round, by which it finds rows."""
    board = np.repeat(cards.boards, np.diff(cards.board_hand), axis=0)
    every: Ints | Words
    if voice.buckets is not None:
        every = voice.buckets.of(level, np.concatenate((cards.hands, board), axis=1)).astype(np.int64)
    else:
        from kibitz.poker.rules.kernels.machine import sights

        every = np.zeros(len(cards.hands), np.uint64)
        sights(machine.game, voice.blueprint.keys, machine.states(board, cards.hands), level, every)
    by_class = np.zeros(cards.classes, every.dtype)
    by_class[cards.hand_class] = every
    if (by_class[cards.hand_class] != every).any():
        raise GameError(
            f"the blueprint distinguishes hands ({voice.blueprint.abstraction}) that the poker form of "
            f"{machine.spec} merges, so it cannot be evaluated exactly; `kibitz evaluate` uses samples"
        )
    return by_class
