"""Ranges as other programs write them: blocks of a weight, and lists of 1,326 weights.

    [50]AA,AKs[/50],KK       GTO+, Flopzilla: hands between the tags have a weight of 50%
    0 0 0.5 1 ...            PioSOLVER: a weight for each hand, 2d2c 2h2c 2h2d 2s2c ..., which is the order here too

What `kibitz.cards.parse_range` reads by itself (AA:0.5, 22+, A5s-A2s, AsKh) may stand between the tags.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError

Floats = NDArray[np.float64]
HANDS = 1326
_TAG = re.compile(r"\[\s*(?P<close>/?)\s*(?P<weight>\d{1,3}(?:\.\d{0,9})?|\.\d{1,9})\s*%?\s*\]")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e-?\d+)?|\.\d+", re.IGNORECASE)
LEAST = 20  # numbers that are a list of weights, and not hands such as 98 87 76


def has_weights(text: str) -> bool:
    """Whether a text is a list of numbers, and not of hands such as 22 33 98."""
    words = re.split(r"[\s,;]+", text.strip(" \t\r\n,;"))
    return len(words) >= LEAST and all(map(_NUMBER.fullmatch, words)) and not re.fullmatch("[2-9][2-9]", words[0])


def weights_of(text: str) -> Floats:
    """[1326]  a list of weights in the order of hands."""
    words = list(re.finditer(r"[^\s,;]+", text))
    if len(words) != HANDS:
        at = words[HANDS].start() if len(words) > HANDS else len(text.rstrip())
        raise PointedError(f"a list of weights has one for each of {HANDS:,} hands, and there are {len(words):,}", text,
                           at)  # fmt: skip
    weights = np.array([float(word[0]) for word in words])
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights <= 1.0)))
    if len(wrong):
        word = words[int(wrong[0])]
        raise PointedError(f"the weight {word[0]:.20} should be from 0 to 1", text, word.start(), word.end())
    if not weights.any():
        raise GameError("the range holds no hand: all of its weights are 0")
    return weights


class RangeBlock(NamedTuple):
    """A part of a text, and the weight of its hands."""

    at: int
    end: int
    weight: float


def blocks_of(text: str) -> list[RangeBlock]:
    """The parts of a range between tags such as [50] and [/50], those without a weight too."""
    blocks: list[RangeBlock] = []
    weight, opened, at = 1.0, None, 0
    for tag in (*_TAG.finditer(text), None):
        end = len(text) if tag is None else tag.start()
        _check_brackets(text, at, end)
        if text[at:end].strip(" \t\r\n,;"):
            blocks.append(RangeBlock(at, end, weight))
        if tag is None:
            break
        share = float(tag["weight"]) / 100
        if share > 1.0:
            raise PointedError(f"the weight {tag[0]} should be from 0 to 100", text, tag.start(), tag.end())
        if tag["close"]:
            if opened is None or abs(share - weight) > 1e-12:
                raise PointedError(f"{tag[0]} ends what was not begun", text, tag.start(), tag.end())
            weight, opened = 1.0, None
        else:
            if opened is not None:
                raise PointedError(f"{tag[0]} begins before {opened[0]} ends", text, tag.start(), tag.end())
            weight, opened = share, tag
        at = tag.end()
    if opened is not None:
        raise PointedError(f"{opened[0]} has no end: write [/{opened['weight']}] after its hands", text, opened.start(),
                           opened.end())  # fmt: skip
    return blocks


def _check_brackets(text: str, at: int, end: int) -> None:
    for k in range(at, end):
        if text[k] in "[]":
            raise PointedError("brackets are for weights, as [50]AA,AKs[/50]", text, k)
