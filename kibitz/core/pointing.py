"""Sentences that point at the character that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from kibitz.core.errors import GameError

MOST_SHOWN = 60  # characters of a text that is shown above the caret


class PointedError(GameError):
    """A sentence about a text: below it the text, and carets below the characters from `at` to `end`."""

    def __init__(self, sentence: str, text: str, at: int, end: int | None = None) -> None:
        self.sentence, self.text, self.at = sentence, text, at
        self.end = at + 1 if end is None else end
        self.lines = carets(text, at, self.end)
        super().__init__("\n".join((sentence, *self.lines)))

    def within(self, what: str, text: str = "", before: int = 0) -> PointedError:
        """The same about a longer text, in which so many characters come before; what: its name."""
        text = text or self.text
        return PointedError(f"{what}: {self.sentence}", text, self.at + before, self.end + before)


def carets(text: str, at: int, end: int) -> tuple[str, str]:
    """A text in one line, cut on both sides where it is long, and a line of carets below a part of it."""
    flat = "".join(character if character.isprintable() else " " for character in text)
    at = min(max(at, 0), len(flat))
    end = max(at + 1, min(end, len(flat)))
    first = max(0, min(at - MOST_SHOWN // 2, len(flat) - MOST_SHOWN))
    shown = flat[first : first + MOST_SHOWN]
    before, after = "..." if first else "", "..." if first + MOST_SHOWN < len(flat) else ""
    width = max(1, min(end, first + MOST_SHOWN) - at)
    return f"    {before}{shown}{after}", f"    {' ' * (len(before) + at - first)}{'^' * width}"


def words_of(text: str, between: str = ",") -> Sequence[tuple[int, str]]:
    """(place, word) of the words of a list, without blanks around them; empty words too."""
    words, at = [], 0
    for piece in text.split(between):
        word = piece.strip()
        words.append((at + len(piece) - len(piece.lstrip()), word))
        at += len(piece) + len(between)
    return words
