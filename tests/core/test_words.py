"""Every text of the repository uses the terms of the field, not the private phrases that it once had."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("kibitz", "tests", "docs", "examples")
ENDINGS = (".py", ".md", ".html", ".js")
BETTER = {  # phrase: what to write instead
    "held against": "compared with",
    "gone on with": "resumed",
    "put aside": "earlier checkpoints",
    "how good they are, from below": "lower bounds on exploitability",
    "buckets that forget": "imperfect-recall buckets",
    "never forget": "perfect recall",
    "name their path": "perfect-recall buckets",
    "names its path": "perfect-recall buckets",
    "may leave at what its hand wins": "has an opt-out value",
    "looks at the gap": "best-response evaluation",
    "a process that never rests": "a competing CPU load",
    "first to most gaps": "fastest to most targets",
    "is told in a sentence": "is reported in one line",
    "what a client is told": "responses contain only what the player observes",
    "numbers that choices are drawn with": "random seed for action sampling",
    "within buckets": "in the abstract game",
    "within classes": "in the abstract game",
    "rows that may move": "trainable infosets",
    "fewer bets": "action abstraction",
    "hold'em for three": "three-player hold'em",
    "leduc for three": "three-player leduc",
    "kuhn for three": "three-player kuhn",
    "random starts": "random initialisations",
    "for want of": "without",
}
# A key of stored data, which its readers name too.
ALLOWED = {"within buckets": {"kibitz/papers/sandholm_gs2.py", "docs/explanation/figures.py"}}
HERE = "tests/core/test_words.py"  # which lists such phrases
# Phrases that have a meaning in code and in proofs, and none to a reader of documents.
IN_DOCUMENTS = ("from below", "that forget", "never rests", "is told")


def texts() -> Iterator[tuple[str, str]]:
    """Every text file of the repository by its path, in lower case and without line breaks."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS]
    for path in [*paths, *ROOT.glob("*.md")]:
        name = path.relative_to(ROOT).as_posix()
        if name != HERE and not any(part.startswith(("_build", ".")) for part in path.parts[len(ROOT.parts) :]):
            joined = re.sub(r'"\s*\n\s*f?"|\n\s*(#|//) ', " ", path.read_text(encoding="utf-8"))
            yield name, " ".join(joined.lower().split())


@pytest.fixture(scope="module")
def read() -> dict[str, str]:
    return dict(texts())


@pytest.mark.parametrize("phrase", BETTER)
def test_no_private_phrase_is_left(read: dict[str, str], phrase: str) -> None:
    allowed = ALLOWED.get(phrase, set())
    found = [name for name, text in read.items() if phrase in text and name not in allowed]
    assert not found, f"write {BETTER[phrase]!r} instead"


@pytest.mark.parametrize("phrase", IN_DOCUMENTS)
def test_no_document_has_a_phrase_of_the_code(read: dict[str, str], phrase: str) -> None:
    written = ("README.md", "docs/howto", "docs/architecture", "docs/glossary", "docs/own_game", "docs/papers.md")
    documents = [name for name in read if name.startswith(written) or name.endswith("/README.md")]
    assert len(documents) > 25
    assert not [name for name in documents if phrase in read[name]]


def test_it_reads_all_of_the_repository(read: dict[str, str]) -> None:
    for name in ("README.md", "kibitz/web/static/play.js", "kibitz/web/static/index.html", "docs/glossary.md"):
        assert name in read
    assert len(read) > 400
