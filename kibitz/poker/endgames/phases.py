"""Solving a poker game in two phases, as GS1 and GS2 did [Gilpin & Sandholm 2006, 2007].

    from kibitz.poker.endgames.phases import beliefs, phase_one, phase_two
    first = phase_one(game, "percentile(6)", 2)                     # rounds 1 and 2, with roll-outs behind them
    first = phase_one(game, "percentile(6)", 2, leaves=profile)     # or what play in `profile` makes of later rounds
    both = phase_two(game, first, 2)                                # from round 2 on, with round 1 as it is

Phase I is a game of the first rounds alone. Where they end, hands are rolled out: the cards that are left come and
nobody bets any more. Or play goes on by *statistics*: how often each action was taken in each betting situation of a
round with each bucket, however the betting came there. Either is a strategy for the later rounds, so phase I is the
whole game with these frozen; with roll-outs they need not even be walked, as who wins is known bucket by bucket.

Phase II is what comes after, with phase I frozen. Here it is solved offline and whole, with the same buckets; who
solves it at the table instead, on the cards that came, begins with `beliefs`: how likely each hand is, by Bayes' rule,
after what its owner did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import pairs
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.games.protocol import CHANCE
from kibitz.poker.bucketed.build import bucket_form, layout_of
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.infosets import BucketInfosets
from kibitz.poker.bucketed.layout import BucketLayout
from kibitz.poker.bucketed.weights import JointWeights, joint_weights
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.layout import ViewLayout, viewed
from kibitz.poker.stitching.experts import base_of, poker_of
from kibitz.solvers.run import solve_through

Floats = NDArray[np.float64]
ROLLOUT = "rollout"
TREMBLE = 0.01


# Phase I


def first_rounds(game: Poker, rounds: int) -> Poker:
    """The betting of the first rounds alone. Who wins at its end is not for its own cards to say."""
    whole = game.definition
    if not 1 <= rounds < whole.rounds:
        raise SolverError(f"phase I has from 1 to {whole.rounds - 1} of the {whole.rounds} rounds, not {rounds}")
    by_round = {name: getattr(whole, name)[:rounds] for name in ("raise_size", "first_player", "max_raises", "board")}
    return Poker(replace(whole, rounds=rounds, name="", **by_round), spec=f"{game.spec}, rounds 1 to {rounds}")


def rolled_out(game: Poker, buckets: HandBuckets, rounds: int, device: str = "cpu") -> BucketForm:
    """Phase I as a game of its own: at its end the cards that are left come, and nobody bets any more."""
    short, layout = first_rounds(game, rounds), layout_of(game, buckets)
    of = joint_weights(buckets, device=device)
    weights = JointWeights(of.meets[:rounds], of.wins[:rounds])
    digest = f"{buckets.digest} rounds {rounds}"
    return BucketForm(short, buckets.name, digest, list(layout.parents[:rounds]), weights, device)


def calling(layout: BucketLayout) -> Floats:
    """Nobody bets, nobody folds: what a roll-out is as a strategy, by infoset column."""
    views = views_of(layout)
    probabilities, actions = np.zeros(views.columns), views.betting.actions
    for node in views.order.tolist():
        offer = actions[int(views.betting.actions_of[node])]
        views.at(probabilities, node)[:, offer.index("call") if "call" in offer else offer.index("check")] = 1.0
    return probabilities


def statistics(form: BucketForm, probabilities: Floats) -> Floats:
    """How often each action is taken in a betting situation of a round with a bucket, by infoset column.

    A situation is what was done in the round so far. The frequencies are those of a strategy that plays itself, as
    endless many hands would show them; where it never comes, all its ways to come there count the same.
    """
    views, betting = views_of(form), form.betting
    reach = form.infoset_values(probabilities).reach
    at = dict(zip(views.order.tolist(), np.cumsum([0, *views.rows[views.order][:-1].tolist()]).tolist(), strict=True))
    alike: dict[tuple[Any, ...], list[int]] = {}
    for node in views.order.tolist():
        said = betting.text[node].rpartition("/")[2]
        key = int(betting.round[node]), int(betting.turn[node]), said, int(betting.actions_of[node])
        alike.setdefault(key, []).append(node)
    frequencies = np.zeros(views.columns)
    for nodes in alike.values():
        rows = int(views.rows[nodes[0]])
        comes = np.stack([reach[at[node] : at[node] + rows] for node in nodes])  # [nodes, buckets]
        comes = np.where(comes.sum(axis=0) > 0.0, comes, 1.0)
        played = np.stack([views.at(probabilities, node) for node in nodes])
        pooled = (comes[:, :, None] * played).sum(axis=0) / comes.sum(axis=0)[:, None]
        for node in nodes:
            views.at(frequencies, node)[:] = pooled
    return frequencies


def phase_one(
    game: Any, abstraction: str | HandBuckets, rounds: int, leaves: str | Profile = ROLLOUT, solver: str = "dcfr+",
    *,
    device: str = "cpu",
    **options: Any,
) -> Profile:  # fmt: skip
    """Solve the first rounds. leaves: "rollout", or a profile of the same buckets, for statistics of its play.

    The profile is one of the whole game: in later rounds it plays what phase I took for granted. options: of `solve`.
    """
    rules = poker_of(game)
    buckets = hand_buckets(rules.definition, abstraction)
    layout = layout_of(rules, buckets)
    if isinstance(leaves, Profile):
        form = bucket_form(rules, buckets, device)
        later = statistics(form, _within(rules, leaves, buckets))
        rows = form.freeze(~_later(layout, rounds), later)
        answer = solve_through(form, solver, rows=rows, **options)
        probabilities, kind = answer.probabilities, "statistics"
    elif leaves == ROLLOUT:
        small = rolled_out(rules, buckets, rounds, device)
        answer = solve_through(small, solver, **options)
        probabilities, kind = lifted(layout, small, answer.probabilities, calling(layout)), ROLLOUT
    else:
        raise SolverError(f"leaves={leaves}: take rollout, or a profile whose play gives the statistics")
    return _profile(rules, layout, probabilities, answer, {"phase": 1, "rounds": rounds, "leaves": kind})


def phase_two(
    game: Any, first: Profile, begin: int, solver: str = "dcfr+", *, tremble: float = TREMBLE, device: str = "cpu",
    **options: Any,
) -> Profile:  # fmt: skip
    """Solve the game from round `begin` on (counted from 1), with what comes before frozen at phase I.

    tremble: how often phase I is thought to do anything else than it does, each action as likely. Where it never goes
    there would be no belief about hands, and any answer to who goes there would do.
    """
    rules = poker_of(game)
    base = base_of(rules, first)
    if len(base.buckets) != 1:
        raise SolverError("phase I is a profile of one set of buckets: that of phase_one")
    if not 2 <= begin <= rules.definition.rounds:
        raise SolverError(f"phase II begins in one of the rounds 2 to {rules.definition.rounds}, not {begin}")
    if not 0.0 <= tremble < 1.0:
        raise SolverError(f"tremble={tremble:g} is a probability, below 1")
    form = bucket_form(rules, base.buckets[0], device)
    later = _later(form, begin - 1)
    shaken = (1.0 - tremble) * first.probabilities + tremble * form.uniform()
    answer = solve_through(form, solver, rows=form.freeze(later, shaken), **options)
    probabilities = np.where(np.repeat(later, form.infosets.width), answer.probabilities, first.probabilities)
    meta = {"phase": 2, "begin": begin, "tremble": tremble, "first": first.sha256}
    return _profile(rules, form, probabilities, answer, meta)


def lifted(layout: BucketLayout, small: BucketLayout, first: Floats, later: Floats) -> Floats:
    """Probabilities of the first rounds, and of the whole game for the others, by infoset column of the whole."""
    big, little, betting = views_of(layout), views_of(small), layout.betting
    rounds = small.definition.rounds
    # Betting is in preorder, and what goes is whole branches; a round that would begin is an end there.
    kept = np.flatnonzero((betting.round < rounds) | ((betting.turn == CHANCE) & (betting.round == rounds)))
    if len(kept) != len(small.betting):
        raise GameError("the first rounds were made of another game")
    probabilities = later.copy()
    for node, mine in enumerate(kept.tolist()):
        if small.betting.turn[node] >= 0:
            big.at(probabilities, mine)[:] = little.at(first, node)
    return probabilities


def _later(layout: BucketLayout, rounds: int) -> NDArray[np.bool_]:
    """[I]  infosets that lie behind the first rounds."""
    if not 1 <= rounds < layout.definition.rounds:
        raise SolverError(f"phase I has from 1 to {layout.definition.rounds - 1} rounds, not {rounds}")
    views = views_of(layout)
    return np.repeat(layout.betting.round[views.order] >= rounds, views.rows[views.order])


def _within(game: Poker, profile: Profile, buckets: HandBuckets) -> Floats:
    compact = profile.infosets.compact
    layout = None if compact is None else viewed(compact.form)
    if layout is None or [view.digest for view in layout.views] != [buckets.digest]:
        raise GameError(
            f"statistics come from a profile within the same buckets, {buckets.name}: one of phases, or of solve where "
            "a game is too large to be known by its cards"
        )
    base_of(game, profile)  # of the same game
    return np.asarray(profile.probabilities, np.float64)


def _profile(game: Poker, layout: BucketLayout, columns: Floats, answer: Profile, phase: dict[str, Any]) -> Profile:
    """The profile of some probabilities by infoset column. answer: the solver's, whose meta goes with it."""
    kept = {name: answer.meta[name] for name in ("solver", "iterations", "seed") if name in answer.meta}
    gap = {f"phase_{name}": answer.meta[f"abstract_{name}"] for name in ("nash_conv", "value")
           if f"abstract_{name}" in answer.meta}  # fmt: skip
    meta = {"game": game.spec, "tree": layout.tree_digest, **kept, "abstraction": layout.abstraction, **gap, **phase}
    return Profile(BucketInfosets(layout), columns, meta)


def views_of(layout: BucketLayout) -> ViewLayout:
    views = viewed(layout)
    assert views is not None
    return views


# Between the phases


def beliefs(game: Any, profile: Profile, betting: str, board: Sequence[int]) -> tuple[NDArray[np.int64], Floats]:
    """(hands [n, cards], [2, n] how likely each seat does what it did if it holds a hand) after some betting.

    betting: in the competition's letters, as "crc/r"; board: the cards that came, in order, as numbers. By Bayes' rule
    the chance that a seat holds a hand is its share among the hands that do not meet what the other holds.
    """
    rules = poker_of(game)
    base = base_of(rules, profile)
    views, tree = base.layout, rules.betting
    if betting not in tree.text:
        raise GameError(f"no hand of {rules.spec} is bet {betting!r}")
    node = tree.text.index(betting)
    shown = int(sum(rules.definition.board[: int(tree.round[node]) + 1]))
    cards = np.asarray(board, np.int64)
    if len(cards) != shown or len(set(cards.tolist()) & set(rules.definition.deck)) != shown:
        raise GameError(f"after {betting!r} {shown} different cards of the deck are on the board")
    left = np.setdiff1d(np.array(rules.definition.deck), cards)
    hands = left[pairs(len(left), rules.definition.hole)]
    reach = np.ones((2, len(hands)))
    while tree.parent[node] >= 0:
        above = int(tree.parent[node])
        seat = int(tree.turn[above])
        if seat >= 0:
            level = int(tree.round[above])
            seen = cards[: int(sum(rules.definition.board[: level + 1]))]
            known = np.hstack([hands, np.broadcast_to(seen, (len(hands), len(seen)))])
            bucket = base.buckets[int(views.of_node[above])].of(level, known)
            reach[seat] *= views.at(profile.probabilities, above)[bucket, int(tree.action[node])]
        node = above
    return hands, reach
