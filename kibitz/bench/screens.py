"""Pictures of the web interface of `kibitz ui`, for docs/howto/ui.md: python -m kibitz.bench.screens [FOLDER [MADE]]

A server is started as a process of its own, on strategies that are made for this, and a browser (Chromium, through
Playwright) is led through all views, wide and on a phone, light and dark. Both are needed:
pip install -e '.[test]'. What is in a folder MADE already is not made again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kibitz.core.errors import KibitzError

FOLDER = Path("docs/ui")
# Of all pictures, those that docs/howto/ui.md shows.
SHOWN = ("look", "grid", "compare", "review", "three-phone", "spot", "runs-dark", "crosstable")
WIDE, PHONE = (1440, 900), (390, 844)  # what tests look at
# Windows of pictures: a page shows pictures 700 pixels wide, where the text of a wide window cannot be read. Two
# strategies stand side by side in a wider one. Pictures end where the content ends, or at the height.
SHOT, SIDE_BY_SIDE = (1000, 1060), (1210, 1060)
SCALE, MARGIN = 1.3, 24
SPOT_CARDS = ("6c", "2d")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The commands that make what is shown.
MADE = (
    "solve leduc --solver cfr+ --until 1e-3 --out leduc.profile --checkpoint leduc.checkpoint",
    "solve leduc --solver dcfr --until 1e-3 --out dcfr.profile --checkpoint dcfr.checkpoint",
    "solve leduc --abstraction J.QK --until 1e-2 --out coarse.profile",
    "stitch leduc --base J.QK --partition prefix(r,cr) --inside null --iterations 300 --out stitched.profile",
    "crosstable leduc.profile coarse.profile stitched.profile --json",
    "match leduc.profile coarse.profile --deals 3000 --json",
    # Some minutes: all 169 hands before the flop, perfect-recall buckets after it.
    "solve poker(file=holdem.limit.2p) --abstraction percentile([169,9,9,9],forget=1) --solver pcs --iterations 4800 "
    "--out holdem.profile",
)


def browser() -> str | None:
    """The path of a browser that Playwright can lead, if there is one."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def served(folder: Path, more: Sequence[str] = ()) -> Iterator[str]:
    """A server as a process; gives the address with its token."""
    command = [sys.executable, "-m", "kibitz.cli", "ui", str(folder), "--no-open", "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        address = None
        while address is None:
            line = process.stdout.readline()
            if not line:
                raise KibitzError("the server did not start: try `kibitz ui --no-open`")
            address = re.search(r"http://\S+", line)
        yield address[0]
    finally:
        process.terminate()
        process.wait(30)


def make(folder: Path) -> None:
    """What is shown."""
    for text in MADE:
        words = text.split(" ")
        target = folder / (f"{words[0]}.json" if "--json" in words else words[words.index("--out") + 1])
        if target.exists():
            continue
        done = subprocess.run([sys.executable, "-m", "kibitz.cli", *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise KibitzError(f"kibitz {text}: {done.stderr.strip()[-300:]}")
        if "--json" in words:
            target.write_text(done.stdout, encoding="utf-8")


def shots(page: Any, address: str, out: Path, suffix: str) -> None:
    """Go through all views."""
    base = address.partition("/?")[0]
    window = (page.viewport_size["width"], page.viewport_size["height"])

    def shot(name: str) -> None:
        if out == FOLDER and f"{name}{suffix}" not in SHOWN:
            return
        page.wait_for_timeout(300)  # bars grow
        size = page.viewport_size
        end = page.evaluate("Math.max(...[...document.querySelectorAll('#main *')].map("
                            "(each) => each.getBoundingClientRect().bottom))")  # fmt: skip
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], end + MARGIN)}
        page.screenshot(path=str(out / f"{name}{suffix}.png"), clip=clip)

    def ids() -> dict[str, str]:
        library = page.evaluate("fetch('/api/library').then(r => r.json())")
        return {each["name"]: each["id"] for each in library["strategies"]}

    def visit(path: str, until: str, name: str = "", hover: tuple[str, int] | None = None) -> None:
        """Open an address, wait for something on it, and take a picture of that name."""
        if window != PHONE:
            width, height = SIDE_BY_SIDE if name == "compare" else window
            page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{base}/{path}")
        page.wait_for_selector(until)
        if hover is not None:
            page.locator(hover[0]).nth(hover[1]).hover()
        if name:
            shot(name)

    page.goto(address)
    page.wait_for_selector(".look")
    known = ids()
    visit(f"look/{known['leduc']}/raise/call/Qs", ".cell", "look", (".strategy .cell", 2))
    visit(f"look/{known['stitched']}?with={known['coarse']}", ".apart .cell", "compare", (".apart .cell", 2))
    visit(f"look/{known['holdem']}/raise", ".cells.grid .cell", "grid", (".strategy .cell", 8))
    visit("play?game=leduc", ".sit", "lobby")
    page.get_by_label("Opponent").select_option(known["leduc"])
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector(".felt")
    shot("table")
    while page.locator("#next").count() == 0:
        before = page.locator(".log li").count()
        page.keyboard.press("c")
        page.locator(".log li").nth(before).wait_for()
    page.wait_for_selector(".review .cell")
    shot("review")
    visit("play?game=poker(file=holdem.limit.3p)", ".sit")
    page.get_by_role("button", name="Start").click()
    page.wait_for_selector(".felt", timeout=120_000)
    shot("three")
    visit("spots", ".spotform")
    for card in SPOT_CARDS:  # a river: solved in a moment
        page.locator(f'.boardpick [data-name="{card}"]').click()
    page.get_by_role("button", name="Solve").click()
    page.wait_for_selector(".strategy .cell")
    page.locator('.strategy [data-name="QJs"]').hover()
    shot("spot")
    runs = page.evaluate("fetch('/api/runs').then(r => r.json())")["runs"]
    curves = ",".join(run["id"] for run in runs if run["kind"] == "curve")
    visit(f"runs/{curves}", ".chart", "runs")
    visit(f"runs/{next(run['id'] for run in runs if run['kind'] == 'crosstable')}", ".cross", "crosstable")


def main(arguments: Sequence[str]) -> int:
    from playwright.sync_api import sync_playwright

    executable = browser()
    if executable is None:
        raise KibitzError(f"no browser is installed: one of {', '.join(BROWSERS)} is needed")
    out = Path(arguments[0]) if arguments else FOLDER
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments[1] if len(arguments) > 1 else temporary)
        make(folder)
        with served(folder) as address, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            for suffix, size, scheme in (
                ("", SHOT, "light"), ("-dark", SHOT, "dark"), ("-phone", PHONE, "light"),
                ("-phone-dark", PHONE, "dark"),
            ):
                context = chromium.new_context(
                    viewport={"width": size[0], "height": size[1]},
                    color_scheme=scheme,  # type: ignore[arg-type]
                    device_scale_factor=SCALE if size == SHOT else 1.0,
                )
                context.set_default_timeout(240_000)  # tables of hands may have to be made first
                shots(context.new_page(), address, out, suffix)
                context.close()
            chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
