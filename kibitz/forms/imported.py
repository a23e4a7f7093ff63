"""Strategies that come in: from a dict, a CSV or JSON file as `kibitz export` writes it, an OpenSpiel policy.

Nothing is taken on trust: every infoset must be one of the game's, every number a probability, every sum one.
"""

from __future__ import annotations

import csv
import io
import json
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.profile import SUM_TOLERANCE, Profile
from kibitz.forms.protocol import Form, ProfileInfosets
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of

MOST_BYTES = 2 << 30  # of a file
OFF = 1e-6  # a sum that is off by no more than this is rounding of whoever wrote it, and is put right
NAMED = 3  # missing infosets that the error names
# What a file may say of how its strategy was made, if it holds that very strategy.
KEPT: dict[str, type | tuple[type, ...]] = {
    "solver": str, "iterations": int, "seed": int, "abstraction": str, "size": int, "interrupted": bool,
    "nash_conv": float, "value": list, "abstract_nash_conv": float, "abstract_value": list,
}  # fmt: skip


class Given(NamedTuple):
    """One infoset as it came in."""

    seat: int | None  # None: the one seat that has such an infoset
    infoset: str
    actions: Mapping[Any, Any]  # action -> probability


class _Twice(GameError):
    """An infoset that is given twice."""


def profile_from(
    game: Game | Tree | Form | str, source: Any, *, missing: str = "error", pyspiel_game: Any = None
) -> Profile:
    """A profile of a game from a strategy that somebody else made.

    source        a dict {infoset: {action: probability}}, with (seat, infoset) as key where two seats have an infoset
                  of that name; the path of a .csv or .json file as `kibitz export` writes them; or an OpenSpiel policy
    missing       "error", or "uniform" to play infosets uniformly that the source does not have
    pyspiel_game  the OpenSpiel game of the policy; default: what the policy or the game says

    An action that is left out has probability 0. Sums that are off by less than a millionth are put right; otherwise
    the probabilities are the source's to the last bit.
    """
    if missing not in ("error", "uniform"):
        raise GameError(f"missing={missing!r} must be 'error' or 'uniform'")
    subject = game if isinstance(game, Tree | Form) else make_game(game)
    if hasattr(source, "action_probabilities"):
        return filled(subject, _of_policy(subject, source, pyspiel_game), missing, {"solver": "openspiel"})
    if isinstance(source, Mapping):
        return filled(subject, _of_table(source), missing, {})
    if isinstance(source, str | os.PathLike):
        entries, said = read(Path(source))
        return filled(subject, entries, missing, said)
    raise GameError(
        f"a profile comes from a dict, a .csv or .json file or an OpenSpiel policy, not from {type(source).__name__!r}"
    )


# Reading


def read(path: Path) -> tuple[list[Given], dict[str, Any]]:
    """(the infosets of a file, what else it says: game, meta, sha256)."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".json"):
        raise ArtefactError(f"{path} should end in .csv or .json")
    try:
        text = store.read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        return (_of_csv(text), {"solver": "import"}) if kind == ".csv" else _of_json(text)
    except GameError as error:
        raise ArtefactError(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise ArtefactError(f"{path} is not text in UTF-8: save it as such") from None


def _of_csv(text: str) -> list[Given]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: dict[tuple[int | None, str], dict[str, float]] = {}
    try:
        head = [name.strip().lower() for name in next(lines, [])]
        if not {"infoset", "action", "probability"} <= set(head) or len(set(head)) < len(head):
            raise GameError("the first line should be seat,infoset,action,probability")
        at = {name: head.index(name) for name in ("seat", "infoset", "action", "probability") if name in head}
        for line in lines:
            if not line:
                continue
            where = f"line {lines.line_num}"
            if len(line) != len(head):
                raise GameError(f"{where} has {len(line)} fields, and the first line {len(head)}")
            seat = _whole(line[at["seat"]], where) if "seat" in at else None
            infoset, action = _name(line[at["infoset"]]), _name(line[at["action"]])
            row = rows.setdefault((seat, infoset), {})
            if action in row:
                raise GameError(f"{where} gives action {action!r} of infoset {infoset!r} once more")
            try:
                if "_" in line[at["probability"]]:  # 0_5 is a number of Python, and of nobody else
                    raise ValueError
                row[action] = float(line[at["probability"]])
            except ValueError:
                raise GameError(f"{where}: the probability {line[at['probability']]!r} is not a number") from None
    except csv.Error as error:
        raise GameError(f"line {lines.line_num} is not CSV ({error})") from None
    return [Given(seat, infoset, row) for (seat, infoset), row in rows.items()]


def _name(field: str) -> str:
    """A name as it was before `kibitz export` put a ' before it, lest a spreadsheet take it for a formula."""
    return field[1:] if field.startswith("'") else field


def _whole(text: str, where: str) -> int:
    if not (text.strip().isdecimal() and len(text) <= 9):
        raise GameError(f"{where}: the seat {text!r} is not a whole number")
    return int(text)


def _of_json(text: str) -> tuple[list[Given], dict[str, Any]]:
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise GameError("it nests too deep for a strategy") from None
    except json.JSONDecodeError as error:
        raise GameError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except ValueError as error:  # a number of too many digits
        raise GameError(f"it is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise GameError("it should hold {infoset: {action: probability}}, or what `kibitz export` writes")
    if not isinstance(data.get("strategy"), list):
        return list(_of_table(data)), {"solver": "import"}
    entries = []
    for number, row in enumerate(data["strategy"]):
        known = isinstance(row, dict) and isinstance(row.get("infoset"), str) and isinstance(row.get("actions"), dict)
        seat = row.get("seat") if known else None
        if not known or isinstance(seat, bool) or not isinstance(seat, int | None):
            raise GameError(f"entry {number} of its strategy should have seat, infoset and actions")
        entries.append(Given(seat, row["infoset"], row["actions"]))
    meta = data["meta"] if isinstance(data.get("meta"), dict) else {}
    kept = {key: x for key, x in meta.items() if key in KEPT and isinstance(x, KEPT[key])}
    return entries, {**kept, "game": data.get("game"), "sha256": data.get("sha256")}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise GameError(f"{twice[:80]!r} is given twice")
    return table


def _of_table(table: Mapping[Any, Any]) -> Iterator[Given]:
    for key, row in table.items():
        seat, label = None, key
        if isinstance(key, tuple) and len(key) == 2:
            try:
                seat, label = operator.index(key[0]), key[1]
            except TypeError:
                seat, label = None, key
        if not isinstance(row, Mapping):
            raise GameError(f"infoset {str(label)[:80]!r} should have a table {{action: probability}}, not {row!r:.80}")
        yield Given(seat, str(label), row)


def _of_policy(subject: Any, policy: Any, pyspiel_game: Any) -> Iterator[Given]:
    from kibitz.games.openspiel import OpenSpielGame, policy_rows

    if isinstance(subject, Tree | Form):
        raise GameError("an OpenSpiel policy needs the game itself, not its tree or form")
    if pyspiel_game is None:
        pyspiel_game = getattr(policy, "game", None)
    if pyspiel_game is None and isinstance(subject, OpenSpielGame):
        pyspiel_game = subject.game
    if pyspiel_game is None and hasattr(subject, "openspiel"):
        pyspiel_game = subject.openspiel()
    if pyspiel_game is None:
        raise GameError("the policy does not say its game: give it with pyspiel_game=...")
    for seat, infoset, row in policy_rows(subject, pyspiel_game, policy):
        if row:
            yield Given(seat, str(infoset), row)


# Into a profile


def filled(subject: Any, entries: Iterable[Given], missing: str, said: Mapping[str, Any]) -> Profile:
    """A profile of a game (rules, tree or form) from what came in.

    Poker has two kinds of infosets, those of its form and, with names of suits told apart, those of its tree: where
    two that are one on the form came in, it is the tree's that are meant.
    """
    entries = list(entries)
    ground: Any = subject
    if not isinstance(subject, Tree | Form):
        ground = tree_of(subject) if needs_tree(subject) else compact_form(subject)
    try:
        probabilities = _probabilities(ground.infosets, entries, missing)
    except _Twice:
        if isinstance(ground, Tree) or ground.game is None or not ground.infosets.plain:
            raise
        ground = tree_of(ground.game)
        probabilities = _probabilities(ground.infosets, entries, missing)
    digest = ground.digest if isinstance(ground, Tree) else ground.tree_digest
    meta = {"game": ground.spec, "tree": digest}
    facts = {key: x for key, x in said.items() if key in KEPT}
    profile = Profile(ground.infosets, probabilities, {**meta, **facts})
    if said.get("sha256") not in (None, profile.sha256):  # not the strategy that the rest was said of
        profile = Profile(ground.infosets, probabilities, {**meta, "solver": "import"})
    return profile


def _probabilities(infosets: ProfileInfosets, entries: Iterable[Given], missing: str) -> NDArray[np.float64]:
    """Probabilities by infoset column, each checked."""
    probabilities = np.zeros(infosets.columns)
    seen = np.zeros(len(infosets.labels), bool)
    first, actions_of = infosets.first, infosets.actions_of
    places = [{str(action): k for k, action in enumerate(actions)} for actions in infosets.actions]
    for seat, label, row in entries:
        seat, i = _find(infosets, seat, label)
        if seen[i]:
            raise _Twice(f"infoset {label!r} of seat {seat} is given twice")
        seen[i] = True
        place = places[actions_of[i]]
        numbers = [0.0] * len(place)
        for action, p in row.items():
            if str(action) not in place:
                legal = ", ".join(place)
                raise GameError(f"infoset {label!r} of seat {seat} has no action {str(action)!r:.80}: it has {legal}")
            numbers[place[str(action)]] = _number(p, str(action), label, seat)
        total = sum(numbers)
        if not abs(total - 1.0) <= OFF:
            raise GameError(f"the probabilities of infoset {label!r} of seat {seat} sum to {total:.9g}, not to 1")
        if abs(total - 1.0) > SUM_TOLERANCE:
            numbers = [p / total for p in numbers]
        probabilities[first[i] : first[i + 1]] = numbers
    if not seen.all():
        gone = np.flatnonzero(~seen)
        if missing == "error":
            names = ", ".join(f"{infosets.labels[i]!r} of seat {infosets.seat_of(i)}" for i in gone[:NAMED].tolist())
            raise GameError(
                f"{len(gone):,} of {len(seen):,} infosets are missing, such as {names}: give them all, or allow it "
                "with missing='uniform' (--missing uniform)"
            )
        row_of = infosets.row_of_column
        empty = ~seen[row_of]
        probabilities[empty] = 1.0 / infosets.width[row_of[empty]]
    return probabilities


def _find(infosets: ProfileInfosets, seat: int | None, label: str) -> tuple[int, int]:
    """(seat, infoset) of a name; without a seat it is the one that has it."""
    if seat is None:
        numbers = [(s, i) for s in range(infosets.seats) if (i := infosets.number_of(s, label)) is not None]
        if len(numbers) == 1:
            return numbers[0]
        if numbers:
            seats = " and ".join(str(s) for s, _ in numbers)
            raise GameError(f"seats {seats} both have an infoset {label!r}: say the seat, as in ({numbers[0][0]}, ...)")
        if infosets.compact is None:
            import difflib

            near = difflib.get_close_matches(label, list(infosets.labels[:20_000]), n=3, cutoff=0.3)
            hint = f"; near ones are {', '.join(map(repr, near))}" if near else ""
            raise GameError(f"no seat has an infoset {label!r:.80}{hint}")
        seat = 0
    return seat, infosets.find(seat, label)


def _number(p: Any, action: str, label: str, seat: int) -> float:
    """A probability, if it is one."""
    where = f"the probability of {action!r} at infoset {label!r} of seat {seat}"
    try:
        if isinstance(p, bool | str | bytes):
            raise TypeError
        number = float(p)
    except (TypeError, ValueError, OverflowError):
        raise GameError(f"{where} is {p!r:.80}, not a number") from None
    if not math.isfinite(number) or not 0.0 <= number <= 1.0 + OFF:
        raise GameError(f"{where} is {number:g}, not from 0 to 1")
    return number
