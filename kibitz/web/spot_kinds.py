"""What the form asks: a spot of two players, one of three, or play before the flop.

A kind reads a request, says how large it is, solves it, opens a saved one, and answers with its decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Protocol

from kibitz.cards.deck import name
from kibitz.core.errors import GameError, SolverError
from kibitz.core.gpu import cupy_module, require
from kibitz.poker.multiway.machine import size_of as multiway_size
from kibitz.poker.multiway.question import Multiway, multiway
from kibitz.poker.multiway.question import written as multiway_written
from kibitz.poker.multiway.saved import load_multiway
from kibitz.poker.multiway.solving import solve_multiway
from kibitz.poker.preflop.question import Preflop, data_of, preflop
from kibitz.poker.preflop.sampled import size_of as preflop_size
from kibitz.poker.preflop.solving import solve_preflop
from kibitz.poker.preflop.tables import load_preflop
from kibitz.poker.spots.estimates import check_size
from kibitz.poker.spots.reading import spot as spot_of
from kibitz.poker.spots.reading import written
from kibitz.poker.spots.saved import load_spot
from kibitz.poker.spots.solving import SpotProgress, solve_spot
from kibitz.poker.spots.spot import PLAYERS, Spot, betting_of
from kibitz.web.errors import Wrong
from kibitz.web.spot_nodes import before_data, cards_to_come, runouts, three_data, two_data

MOST_SECONDS = 3600.0
TEXTS = ("board", "bets", "raises", "donks", "prizes", "others", "max_raises")
NUMBERS = ("pot", "stacks", "rake", "rake_cap", "dead", "force_allin", "add_allin", "merge", "min_bet", "chip")
THREE_TEXTS = ("board", "bets", "raises", "max_raises")
THREE_NUMBERS = ("pot", "stacks", "rake", "rake_cap", "dead", "force_allin", "chip")
BEFORE_TEXTS = ("opens", "threebets", "fourbets", "postflop", "blinds", "bets", "raises", "max_raises")
BEFORE_NUMBERS = ("stacks", "ante", "force_allin")
OWN = ("kind", "ranges", "until", "seconds", "limps", "device")  # fields of a request that are read apart
Message = dict[str, Any]


@dataclass(frozen=True)
class WebProgress:
    """How far a solve is."""

    phase: str
    iterations: int
    exploitability: float | None  # share of the pot; before the flop, big blinds. None: nobody knows it


@dataclass(frozen=True)
class WebWork:
    """How long a solve may take, and who hears of it: once the person wants no more of it, `say` returns True."""

    until: float
    seconds: float
    say: Callable[[WebProgress], bool]
    stop: Callable[[], bool]


class SpotKind(Protocol):
    """A question that the page can ask."""

    kind: str

    @property
    def target(self) -> bool: ...  # whether exploitability is known while it is solved, so that a target can end it
    def title(self) -> str: ...
    def board(self) -> list[str]: ...
    def players(self) -> list[str]: ...
    def written(self) -> dict[str, Any]: ...
    def size(self) -> dict[str, Any]: ...
    def solve(self, work: WebWork) -> Any: ...
    def known(self, solution: Any) -> dict[str, Any]: ...
    def node_data(self, node: Any) -> dict[str, Any]: ...
    def runouts(self, node: Any) -> list[dict[str, Any]]: ...


@dataclass(frozen=True, eq=False)
class TwoPlayers:
    """A flop, turn or river of two players."""

    spot: Spot
    device: str = "cpu"
    kind = "two"
    target = True

    def title(self) -> str:
        return f"pot {self.spot.pot:g}, {self.spot.stack:g} behind"

    def board(self) -> list[str]:
        return [name(card) for card in self.spot.board]

    def players(self) -> list[str]:
        return list(PLAYERS)

    def written(self) -> dict[str, Any]:
        return written(self.spot)

    def size(self) -> dict[str, Any]:
        size = check_size(self.spot, betting_of(self.spot), device=self.device)
        return {"nodes": size.nodes, "sequences": size.sequences, "bytes": size.bytes, "seconds": size.seconds}

    def solve(self, work: WebWork) -> Any:
        def say(now: SpotProgress) -> None:
            work.say(WebProgress("solving", now.iterations, now.exploitability))

        return solve_spot(self.spot, until=work.until, seconds=work.seconds, device=self.device, stop=work.stop,
                          on_progress=say)  # fmt: skip

    def known(self, solution: Any) -> dict[str, Any]:
        return {"exploitability": solution.exploitability, "values": solution.values.tolist()}

    def node_data(self, node: Any) -> dict[str, Any]:
        return two_data(node)

    def runouts(self, node: Any) -> list[dict[str, Any]]:
        return runouts(node)


@dataclass(frozen=True, eq=False)
class ThreePlayers:
    """A flop, turn or river of three players, trained by sampling."""

    question: Multiway
    kind = "three"
    target = False

    def title(self) -> str:
        stacks = ", ".join(f"{stack:g}" for stack in self.question.stacks)
        return f"three players, pot {self.question.pot:g}, {stacks} behind"

    def board(self) -> list[str]:
        return [name(card) for card in self.question.board]

    def players(self) -> list[str]:
        return list(self.question.names)

    def written(self) -> dict[str, Any]:
        return multiway_written(self.question)

    def size(self) -> dict[str, Any]:
        return asdict(multiway_size(self.question))

    def solve(self, work: WebWork) -> Any:
        return solve_multiway(
            self.question, seconds=work.seconds,
            on_progress=lambda now: work.say(WebProgress(now.phase, now.iterations, None)),
        )  # fmt: skip

    def known(self, solution: Any) -> dict[str, Any]:
        names = ("values", "value_errors", "gains", "gain_errors")
        return {"exploitability": None, "exact": solution.exact, "knowledge": solution.knowledge,
                **{name: getattr(solution, name).tolist() for name in names}}  # fmt: skip

    def node_data(self, node: Any) -> dict[str, Any]:
        return three_data(node)

    def runouts(self, node: Any) -> list[dict[str, Any]]:
        return cards_to_come(node)


@dataclass(frozen=True, eq=False)
class BeforeFlop:
    """Play before the flop."""

    question: Preflop
    kind = "preflop"

    @property
    def target(self) -> bool:
        return self.question.is_exact

    def title(self) -> str:
        stacks = ", ".join(f"{stack:g}" for stack in self.question.stacks)
        return f"before the flop, {stacks} big blinds"

    def board(self) -> list[str]:
        return []

    def players(self) -> list[str]:
        return list(self.question.names)

    def written(self) -> dict[str, Any]:
        return data_of(self.question)

    def size(self) -> dict[str, Any]:
        if self.question.is_exact:
            return {"nodes": len(self.question.betting), "bytes": 0}
        return asdict(preflop_size(self.question))

    def solve(self, work: WebWork) -> Any:
        def say(now: Any) -> bool:
            done = "" if now.share is None else f" {100 * now.share:.0f}%"
            return work.say(WebProgress(f"{now.phase}{done}", now.iterations, now.exploitability))

        until = work.until if self.question.is_exact else None
        return solve_preflop(self.question, until=until, seconds=work.seconds, on_progress=say)

    def known(self, solution: Any) -> dict[str, Any]:
        errors = [0.0] * self.question.players if solution.trust is None else list(solution.trust.gain_errors)
        return {"exploitability": solution.exploitability, "exact": solution.trust is None,
                "knowledge": solution.knowledge, "values": solution.values.tolist(),
                "value_errors": solution.value_errors.tolist(), "gains": solution.gains.tolist(),
                "gain_errors": errors}  # fmt: skip

    def node_data(self, node: Any) -> dict[str, Any]:
        return before_data(node)

    def runouts(self, node: Any) -> list[dict[str, Any]]:
        raise GameError("no card comes here")


@lru_cache(1)
def has_gpu() -> bool:
    """Whether spots of two players can be solved on a GPU here."""
    try:
        cupy_module()
    except SolverError:
        return False
    return True


# Saved ones


def opened(kind: str, path: Any) -> tuple[SpotKind, Any]:
    """(the question, its solution) of a saved artefact of a kind."""
    if kind == "multiway":
        three = load_multiway(path)
        return ThreePlayers(three.question), three
    if kind == "preflop":
        before = load_preflop(path)
        return BeforeFlop(before.question), before
    two = load_spot(path)
    return TwoPlayers(two.spot), two


# What a form asks


def asked(message: Message) -> SpotKind:
    """A question from the fields of a request. Their types are checked here; what they say, where texts are read."""
    kind = message.get("kind", "two")
    device = message.get("device", "cpu")
    if not isinstance(device, str) or (device != "cpu" and kind != "two"):
        raise Wrong("device must be cpu; or gpu, for a spot of two players")
    require(device)
    if kind == "two":
        return TwoPlayers(spot_of(ranges=_ranges(message, 2), **_fields(message, TEXTS, NUMBERS, _SPOT)), device)
    if kind == "three":
        return ThreePlayers(multiway(ranges=_ranges(message, 3), **_fields(message, THREE_TEXTS, THREE_NUMBERS, _SPOT)))
    if kind == "preflop":
        limps = message.get("limps", True)
        if not isinstance(limps, bool):
            raise Wrong("limps must be true or false")
        return BeforeFlop(preflop(**_fields(message, BEFORE_TEXTS, BEFORE_NUMBERS, ("stacks",)), limps=limps))
    raise Wrong("kind must be two, three or preflop")


_SPOT = ("board", "pot", "stacks")


def _ranges(message: Message, count: int) -> list[str]:
    ranges: Any = message.get("ranges")
    if not isinstance(ranges, list) or len(ranges) != count or not all(isinstance(each, str) for each in ranges):
        number = {2: "two", 3: "three"}[count]
        raise Wrong(f"ranges must be {number} texts, the first to act first")
    return ranges


def _fields(message: Message, texts: tuple[str, ...], numbers: tuple[str, ...], needed: tuple[str, ...]) -> Message:
    fields: Message = {}
    for key, value in message.items():
        if key in OWN or value is None or value == "":
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (isinstance(value, str) and key in (*texts, *numbers)) and not (is_number and key in numbers):
            raise Wrong(f"{key[:40]!r} is not a field of a spot, or has a value of the wrong type")
        fields[key] = value
    if missing := [each for each in needed if each not in fields]:
        raise Wrong(f"{missing[0]} is missing")
    return fields


def number_asked(message: Message, key: str, default: float, least: float, most: float) -> float:
    value = message.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Wrong(f"{key} must be a number from {least:g} to {most:,g}")
    return float(value)
