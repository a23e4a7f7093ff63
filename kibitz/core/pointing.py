"""Sentences that point at the character that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

MOST_SHOWN = 60  # characters of a text that is shown above the caret


def pointed(sentence: str, text: str, at: int, end: int | None = None) -> str:
    """A sentence, the text that it is about, and carets below the characters from `at` to `end`.

    A long text is cut on both sides, so that the carets are in view.
    """
    flat = "".join(" " if character.isspace() else character for character in text)
    at = min(max(at, 0), len(flat))
    end = at + 1 if end is None else min(max(end, at + 1), max(len(flat), at + 1))
    first = max(0, min(at - MOST_SHOWN // 2, len(flat) - MOST_SHOWN))
    shown = flat[first : first + MOST_SHOWN]
    before, after = "..." if first else "", "..." if first + MOST_SHOWN < len(flat) else ""
    carets = "^" * max(1, min(end, first + MOST_SHOWN) - at)
    return f"{sentence}\n    {before}{shown}{after}\n    {' ' * (len(before) + at - first)}{carets}"


def words_of(text: str, between: str = ",") -> Sequence[tuple[int, str]]:
    """(place, word) of the words of a list, without blanks around them; empty words too."""
    words, at = [], 0
    for piece in text.split(between):
        word = piece.strip()
        words.append((at + len(piece) - len(piece.lstrip()), word))
        at += len(piece) + len(between)
    return words
