"""Buckets of hands by name, for any poker definition: percentile(8), expectation([15, 225, 900]), potential([...]).

    from kibitz.poker.buckets.buckets import hand_buckets
    made = hand_buckets(game("rhode_island").definition, "percentile(8)")
    made.counts                                     # [8, 64, 508]
    made.save("rhode-island-8")                     # HandBuckets.load reads them; so does --abstraction

They depend on the cards alone, so games that bet differently share them. Large ones are kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.cards.strengths import METRICS, HandStrengths, Tell, strengths_of
from kibitz.core import spec as specs
from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, SpecError
from kibitz.core.resources import free_memory
from kibitz.poker.buckets.cuts import tabled
from kibitz.poker.buckets.expectation import expectation_rounds
from kibitz.poker.buckets.hand_buckets import KIND, HandBuckets, RoundBuckets
from kibitz.poker.buckets.percentile import percentile_rounds
from kibitz.poker.buckets.potential import DISTANCES, MOST, Clustering, Stages, potential_rounds

BYTES_TO_SORT = 34  # a hand on a board: key, value, weight, metric, parent, bucket
MEMORY_SHARE = 0.8
INNER = 16  # clusters of a parent in bottom-up passes of large games, where each is a byte of every hand on a board
MOST_INNER = 4096
VERSION = 1  # of what names mean: buckets in the cache of another are made anew
KEPT = 3_000_000  # hands on boards from which on buckets are kept in the cache

# name -> one line for the command line
NAMES: dict[str, str] = {
    "percentile": "equally likely groups of hands by E[HS^2]: percentile(8)",
    "expectation": "clusters of hands by E[HS], children by an integer programme: expectation([15, 225, 900, 3600])",
    "potential": "clusters of hands by what they turn into: potential([20, 800, 4800, 28800])",
}

Made = tuple[list[RoundBuckets], list[dict[str, Any]], dict[str, Any]]  # rounds, facts of each, other facts
_held: dict[tuple[Any, ...], HandBuckets] = {}


def is_bucket_name(source: Any) -> bool:
    """Whether a text names buckets of hands, or the folder where some were saved."""
    if not isinstance(source, str):
        return isinstance(source, HandBuckets)
    return source.partition("(")[0].strip() in NAMES or is_saved(source)


def is_saved(source: str) -> bool:
    return os.path.isdir(source) and store.kind_at(source) == KIND


def parse(source: str) -> specs.Spec:
    """A spec in which buckets= may be left out."""
    return specs.parse(source, "buckets")


def hand_buckets(definition: Any, source: str | HandBuckets, tell: Tell | None = None) -> HandBuckets:
    """The buckets of hands of a poker game's cards: by name, by the folder where some were saved, or given."""
    game = definition.ranks, definition.suits, tuple(definition.board), definition.hole
    if isinstance(source, HandBuckets) or is_saved(source):
        saved = source if isinstance(source, HandBuckets) else HandBuckets.load(source)
        if game != (saved.boards.ranks, saved.boards.suits, saved.boards.board, saved.hole):
            raise GameError(
                f"the buckets {saved.name} were made for {_cards(saved)}, and this game has other cards: make them anew"
            )
        return saved
    spec = parse(source)
    if spec.name not in (*NAMES, "gameshrink"):
        raise specs.unknown("abstraction of hands", spec.name, [*NAMES, "gameshrink"])
    key = (*game, str(spec))
    if key in _held:
        return _held[key]
    if spec.name == "gameshrink":
        return _facts(_shrunk(definition, spec))
    make = specs.call(_MAKERS[spec.name], spec)
    path = _cache(key)
    buckets = _from_cache(path, str(spec))
    if buckets is None:
        from kibitz.poker.rules.rules import strength

        hands = strengths_of(*game, strength)
        keep = _entries(hands) >= KEPT
        stages = Stages(path.with_name(f"{path.name}.part") if keep else None, str(spec))
        buckets = _made(hands, str(spec), make, stages, tell)
        if keep:
            path.parent.mkdir(parents=True, exist_ok=True)
            buckets.save(path)
            stages.clear()
    if len(_held) >= 4:
        _held.pop(next(iter(_held)))
    _held[key] = buckets
    return buckets


def is_kept(definition: Any, source: str | HandBuckets) -> bool:
    """Whether buckets need not be made: they are given, saved, in memory, or in the cache."""
    if isinstance(source, HandBuckets) or is_saved(source):
        return True
    game = definition.ranks, definition.suits, tuple(definition.board), definition.hole
    key = (*game, str(parse(source)))
    return key in _held or _from_cache(_cache(key), str(parse(source))) is not None


def _made(hands: HandStrengths, name: str, make: Callable[..., Made], stages: Stages, tell: Tell | None) -> HandBuckets:
    began, used = time.perf_counter(), time.process_time()
    rounds, facts, other = make(hands, stages, tell)
    seconds = {"seconds": time.perf_counter() - began, "processor": time.process_time() - used}
    return _facts(HandBuckets(name, hands.boards, hands.hole, tuple(rounds), {"rounds": facts, **other, **seconds}))


def _facts(buckets: HandBuckets) -> HandBuckets:
    """The same with figures of each round: buckets, children of a parent, boards and hands."""
    for level, (of, fact) in enumerate(zip(buckets.rounds, buckets.meta["rounds"], strict=True)):
        children = np.diff(of.first)
        fact["buckets"], fact["children"] = of.count, [int(children.min()), float(children.mean()), int(children.max())]
        fact["boards"] = len(buckets.boards.rounds[level].cards)
        fact["hands"] = buckets.boards.hands(level, buckets.hole)
    return buckets


def _shrunk(definition: Any, spec: specs.Spec) -> HandBuckets:
    from kibitz.poker.buckets.gameshrink import shrunk_by_name, shrunk_hands

    began, used = time.perf_counter(), time.process_time()
    buckets = shrunk_hands(definition, shrunk_by_name(definition, spec))
    buckets.meta.update(seconds=time.perf_counter() - began, processor=time.process_time() - used)
    return buckets


def game_size(rules: Any, buckets: HandBuckets) -> list[int]:
    """Infosets of the abstract game by round, of all seats: decisions of the betting times buckets."""
    tree = rules.betting
    return [int(((tree.turn >= 0) & (tree.round == level)).sum()) * count for level, count in enumerate(buckets.counts)]


def _cards(buckets: HandBuckets) -> str:
    private = "1 private card" if buckets.hole == 1 else f"{buckets.hole} private cards"
    board = ", ".join(map(str, buckets.boards.board))
    return f"{buckets.boards.ranks} ranks, {buckets.boards.suits} suits, {private} and boards of {board}"


def _cache(key: tuple[Any, ...]) -> Path:
    from kibitz.core.jit import cache_home

    return cache_home() / "buckets" / hashlib.sha256(f"{VERSION} {key}".encode()).hexdigest()[:24]


def _from_cache(path: Path, name: str) -> HandBuckets | None:
    """Buckets that were made before; damaged ones are made anew."""
    try:
        buckets = HandBuckets.load(path)
    except ArtefactError:
        return None
    return buckets if buckets.name == name else None


# The makers: parameters of a spec -> what makes rounds of buckets of hands


def _percentile(buckets: Any, metric: str = "ehs2", recall: bool = True, forget: int = 0) -> Callable[..., Made]:
    _check_metric("percentile", metric, METRICS)
    if forget and not recall:
        raise SpecError("percentile: recall=false forgets every round; leave forget out")

    def make(hands: HandStrengths, stages: Stages, tell: Tell | None) -> Made:
        each = budgets("percentile", buckets, hands.last + 1, repeat=True)
        if not 0 <= forget <= hands.last:
            raise SpecError(f"percentile: forget={forget} should be a number of rounds from 0 to {hands.last}")
        _check_memory(hands, BYTES_TO_SORT)
        rounds = percentile_rounds(hands, each, metric, recall, forget, tell)
        return *rounds, {"metric": metric, "recall": recall, "forget": forget}

    return make


def _expectation(buckets: Any, metric: str = "ehs") -> Callable[..., Made]:
    _check_metric("expectation", metric, METRICS)

    def make(hands: HandStrengths, stages: Stages, tell: Tell | None) -> Made:
        each = budgets("expectation", buckets, hands.last + 1)
        _check_memory(hands, BYTES_TO_SORT)
        return *expectation_rounds(hands, each, metric, tell), {"metric": metric}

    return make


def _potential(
    buckets: Any, metric: str = "l2", inner: int = 0, seed: int = 0, recall: bool = True
) -> Callable[..., Made]:
    _check_metric("potential", metric, DISTANCES)
    if not (inner == 0 or 2 <= inner <= MOST_INNER):
        raise SpecError(f"potential: inner={inner} should be from 2 to {MOST_INNER}, or 0 for as many as is usual")

    def make(hands: HandStrengths, stages: Stages, tell: Tell | None) -> Made:
        each = budgets("potential", buckets, hands.last + 1)
        wide = inner or (0 if _entries(hands) < KEPT else INNER)
        _check_memory(hands, (wide or MOST) + 10, f"; inner= below {wide or MOST} takes less")
        setting = Clustering(metric, wide, seed, recall)
        return *potential_rounds(hands, each, setting, stages, tell), {"metric": metric, "seed": seed, "recall": recall}

    return make


_MAKERS: dict[str, Callable[..., Callable[..., Made]]] = {
    "percentile": _percentile, "expectation": _expectation, "potential": _potential,
}  # fmt: skip


def _entries(hands: HandStrengths) -> int:
    """Hands on boards of the largest round that has a table."""
    sizes = [int(np.prod(hands.shape(level))) for level in range(hands.last + 1) if tabled(hands, level)]
    return max(sizes, default=0)


def _check_memory(hands: HandStrengths, each: int, knob: str = "") -> None:
    """Refuse what does not fit into memory before any work is done for it. each: bytes for a hand on a board."""
    needed, free = each * _entries(hands), free_memory()
    if needed > MEMORY_SHARE * free:
        raise GameError(
            f"{_entries(hands):,} hands on boards of a round take about {needed / 1e9:.1f} GB while buckets are made, "
            f"and {free / 1e9:.1f} GB are free: close other programs, or take a smaller deck or fewer board cards{knob}"
        )


def _check_metric(name: str, metric: str, known: Any) -> None:
    if metric not in known:
        raise SpecError(f"{name}: metric={metric:.80} is not known; use {' or '.join(known)}")


def budgets(name: str, buckets: Any, rounds: int, repeat: bool = False) -> list[int]:
    """Whole numbers of buckets, one for each round; with `repeat` one number stands for all."""
    each = buckets if isinstance(buckets, list | tuple) else [buckets] * rounds if repeat else [buckets]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 1 << 31 for n in each):
        raise SpecError(f"{name}: buckets={specs.brief(buckets)} should be whole numbers from 1 on, one for each round")
    if len(each) != rounds:
        raise SpecError(
            f"{name}: buckets={specs.brief(buckets)} has {len(each)} numbers, and the game has {rounds} rounds: give "
            f"one number for each round"
        )
    return list(each)
