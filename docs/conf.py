"""Sphinx builds the site from this folder: `make docs` writes build/site.

Pages are Markdown files that can also be read in the repository. Some of them link to files outside docs/. Before a
page is parsed, such a link is changed to the page that includes the file (docs/packages has these), or to a download.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

project = "kibitz"
author = "The kibitz authors"
extensions = ["myst_nb"]
exclude_patterns = ["**.ipynb_checkpoints"]
nb_execution_mode = "off"  # notebooks are shown with the outputs that are stored in them; tests run them
myst_heading_anchors = 3

html_theme = "furo"
html_title = "kibitz"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False

_INCLUDE = re.compile(r"^```\{include\} (\S+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()#:\s]+)(#[^()\s]*)?\)")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def pages() -> dict[Path, Path]:
    """The files outside docs/ that a page of the site includes, and that page."""
    including = {ROOT / "README.md": DOCS / "index.md"}
    for page in (DOCS / "packages").glob("*.md"):
        for target in _INCLUDE.findall(page.read_text(encoding="utf-8")):
            including[Path(os.path.normpath(page.parent / target))] = page
    return including


def relinked(text: str, source: Path, folder: Path) -> str:
    """The text of a source file, with its links as they must be in a page that is in a folder of docs/."""
    included = pages()

    def link(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        path = Path(os.path.normpath(source.parent / target))
        if not path.exists():
            return match[0]  # Sphinx reports it
        if path.is_dir():
            return label
        if path == ROOT / "README.md":
            anchor = ""  # the site has a first page of its own, with other headings
        path = included.get(path, path)
        scheme = "" if DOCS in path.parents else "path:"  # MyST copies the file into the site
        return f"[{label}]({scheme}{os.path.relpath(path, folder)}{anchor})"

    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in _FENCE.split(text))


def read_page(app: Any, name: str, content: list[str]) -> None:
    """Sphinx has read a page."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md":
        content[0] = relinked(content[0], path, path.parent)


def read_included(app: Any, path: Path, parent: str, content: list[str]) -> None:
    """Sphinx has read a file that a page of docs/packages includes."""
    content[0] = relinked(content[0], Path(os.path.normpath(DOCS / path)), DOCS / "packages")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("game", TextLexer)  # definitions of poker games, shown as they are
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
