"""Buckets of hands by name, for any poker definition: percentile(8), expectation([15, 225, 900]), potential([...]).

    from kibitz.abstractions.buckets import hand_buckets
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

from kibitz import spec as specs
from kibitz import store
from kibitz.abstractions.expectation import expectation_rounds
from kibitz.abstractions.percentile import percentile_rounds
from kibitz.cards.buckets import KIND, HandBuckets, RoundBuckets
from kibitz.cards.strengths import METRICS, HandStrengths, Heard, strengths_of
from kibitz.errors import ArtefactError, GameError, SpecError

VERSION = 1  # of what names mean: buckets in the cache of another are made anew
KEPT = 3_000_000  # hands on boards from which on buckets are kept in the cache

# name -> one line for the command line
NAMES: dict[str, str] = {
    "percentile": "equally likely groups of hands by E[HS^2]: percentile(8)",
    "expectation": "clusters of hands by E[HS], children by an integer programme: expectation([15, 225, 900, 3600])",
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


def hand_buckets(definition: Any, source: str | HandBuckets, heard: Heard | None = None) -> HandBuckets:
    """The buckets of hands of a poker game's cards: by name, by the folder where some were saved, or given."""
    game = definition.ranks, definition.suits, tuple(definition.board), definition.hole
    if isinstance(source, HandBuckets) or is_saved(source):
        found = source if isinstance(source, HandBuckets) else HandBuckets.load(source)
        if game != (found.boards.ranks, found.boards.suits, found.boards.board, found.hole):
            raise GameError(
                f"the buckets {found.name} were made for {_cards(found)}, and this game has other cards: make them anew"
            )
        return found
    spec = parse(source)
    if spec.name not in NAMES:
        raise specs.unknown("abstraction of hands", spec.name, NAMES)
    key = (*game, str(spec))
    if key in _held:
        return _held[key]
    make = specs.call(_MAKERS[spec.name], spec)
    path = _cache(key)
    made = _from_cache(path, str(spec))
    if made is None:
        from kibitz.games.poker.rules import strength

        made = _made(strengths_of(*game, strength), str(spec), make, heard)
        if sum(of.table.size for of in made.rounds if of.table is not None) >= KEPT:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.save(path)
    if len(_held) >= 4:
        _held.pop(next(iter(_held)))
    _held[key] = made
    return made


def _made(hands: HandStrengths, name: str, make: Callable[..., Made], heard: Heard | None) -> HandBuckets:
    began, used = time.perf_counter(), time.process_time()
    rounds, facts, other = make(hands, heard)
    for level, (of, fact) in enumerate(zip(rounds, facts, strict=True)):
        fact["buckets"] = of.count
        children = np.diff(of.first)
        fact["children"] = [int(children.min()), float(children.mean()), int(children.max())]
        fact["boards"], fact["hands"] = hands.shape(level)
    seconds = {"seconds": time.perf_counter() - began, "processor": time.process_time() - used}
    return HandBuckets(name, hands.boards, hands.hole, tuple(rounds), {"rounds": facts, **other, **seconds})


def _cards(found: HandBuckets) -> str:
    private = "1 private card" if found.hole == 1 else f"{found.hole} private cards"
    board = ", ".join(map(str, found.boards.board))
    return f"{found.boards.ranks} ranks, {found.boards.suits} suits, {private} and boards of {board}"


def _cache(key: tuple[Any, ...]) -> Path:
    from kibitz.kernels.jit import cache_home

    return cache_home() / "buckets" / hashlib.sha256(f"{VERSION} {key}".encode()).hexdigest()[:24]


def _from_cache(path: Path, name: str) -> HandBuckets | None:
    """Buckets that were made before; damaged ones are made anew."""
    try:
        found = HandBuckets.load(path)
    except ArtefactError:
        return None
    return found if found.name == name else None


# The makers: parameters of a spec -> what makes rounds of buckets of hands


def _percentile(buckets: Any, metric: str = "ehs2", recall: bool = True) -> Callable[..., Made]:
    _check_metric("percentile", metric, METRICS)

    def make(hands: HandStrengths, heard: Heard | None) -> Made:
        each = budgets("percentile", buckets, hands.last + 1, repeat=True)
        return *percentile_rounds(hands, each, metric, recall, heard), {"metric": metric, "recall": recall}

    return make


def _expectation(buckets: Any, metric: str = "ehs") -> Callable[..., Made]:
    _check_metric("expectation", metric, METRICS)

    def make(hands: HandStrengths, heard: Heard | None) -> Made:
        each = budgets("expectation", buckets, hands.last + 1)
        return *expectation_rounds(hands, each, metric, heard), {"metric": metric}

    return make


_MAKERS: dict[str, Callable[..., Callable[..., Made]]] = {"percentile": _percentile, "expectation": _expectation}


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
