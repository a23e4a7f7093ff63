"""Stages of the papers' large tables, by name, and the command that runs one: docs/plans/large_tables.md.

    python -m kibitz.papers.stages --list
    python -m kibitz.papers.stages --stage two-pilot --device gpu --seconds 530 --out results --work /tmp/work

    python -m kibitz.papers.stages --beside two-trained-0,two-pairs-0 --beside two-trained-each-0 --device gpu

A command ends before --seconds are over, with checkpoints in --work, and the same command goes on. It needs NumPy and
Numba, and CuPy for a GPU. Results in --known, such as those of earlier sessions, are not computed again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kibitz.core.errors import KibitzError, SpecError
from kibitz.papers import (
    auto_stitching_holdem,
    auto_stitching_three,
    champions,
    champions_buckets,
    champions_phases,
    gibson2011_avoided,
    gibson2011_large,
    gibson2011_small,
    gibson2011_three_large,
    gibson2011_three_small,
    holdem_course,
    waugh2009_large,
    waugh2009_small,
)
from kibitz.papers.beside import CONTINUED, MISSING, side_by_side
from kibitz.papers.ledger import RESULTS, Ledger, Stage, go_through, ledgers_in, origin
from kibitz.poker.bucketed.device import Device


def all_stages(quick: bool, work: str, device: str) -> dict[str, Stage]:
    """By name, in the order of the plan."""
    every = [*gibson2011_large.stages(gibson2011_large.setting_of(quick, work, device)), *gibson2011_avoided.stages(),
             *gibson2011_small.stages(quick, work, device),
             *gibson2011_three_large.stages(quick, work, device), *gibson2011_three_small.stages(quick),
             *waugh2009_large.stages(waugh2009_large.setting_of(quick, work, device)),
             *waugh2009_small.stages(quick, work, device),
             *champions.stages(champions.setting_of(quick, work, device)), *champions_phases.stages(quick),
             *champions_buckets.stages(quick, work, device),
             *auto_stitching_holdem.stages(gibson2011_large.setting_of(quick, work, device)),
             *auto_stitching_three.stages(quick, work, device)]  # fmt: skip
    return {stage.name: stage for stage in every}


def named(name: str, every: dict[str, Stage]) -> list[str]:
    """The stage of a name; or those of a table, such as two or three-0; or all."""
    names = [each for each in every if name in (each, "all") or each.startswith(f"{name}-")]
    if not names:
        raise SpecError(f"there is no stage {name!r}: choose {', '.join(every)}, or all")
    return names


def run_stages(
    name: str, out: Path, work: Path, device: str = "cpu", seconds: float | None = None, quick: bool = False,
    known: Path | None = None, tell: Callable[[str], None] = print, also: Path | None = None,
) -> bool:  # fmt: skip
    """Go on with one stage after another; returns whether all are done."""
    began = time.perf_counter()
    for each in named(name, all_stages(quick, str(work), device)):
        left = None if seconds is None else seconds - (time.perf_counter() - began)
        if (left is not None and left <= 0) or not run_stage(
            each, out, work, device, left, quick, known, tell, also
        ):
            return False
    return True


def run_stage(
    name: str, out: Path, work: Path, device: str = "cpu", seconds: float | None = None, quick: bool = False,
    known: Path | None = None, tell: Callable[[str], None] = print, also: Path | None = None,
) -> bool:  # fmt: skip
    """Go on with a stage; returns whether it is done."""
    every = all_stages(quick, str(work), device)
    began, label = time.perf_counter(), Device(device).label or "cpu"
    out.mkdir(parents=True, exist_ok=True)
    others = ledgers_in(known) if known is not None else []
    ledger, done = Ledger(out / f"{name}.json", origin(label), others, str(work), also), False
    if ledger.entries:
        ledger.write()  # what earlier commands wrote, to the second copy too
    try:
        done = go_through(every[name], ledger, seconds, tell)
    finally:
        if not done:
            mark = time.perf_counter()
            holdem_course.save_courses()
            tell(f"{name}: checkpoints in {time.perf_counter() - mark:.1f} s")
    tell(f"{name}: {'complete' if done else 'to be continued'}, {time.perf_counter() - began:.0f} s")
    return done


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kibitz.papers.stages", description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="the stages, with their steps and seconds on one H200")
    parser.add_argument("--stage", action="append", default=[], help="one, or those of a table (two); or several")
    parser.add_argument("--beside", action="append", default=[], metavar="STAGES", help="stages, with commas, for a "
                        "process of its own; several of these go on side by side")  # fmt: skip
    parser.add_argument("--seconds", type=float, help="end before so many are over")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where results are written, STAGE.json")
    parser.add_argument("--also", type=Path, help="a folder for a second copy of the results")
    parser.add_argument("--known", type=Path, default=Path(RESULTS), help=f"results so far; default: {RESULTS}")
    parser.add_argument("--work", type=Path, default=Path("work"), help="where checkpoints are kept")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--quick", action="store_true", help="a deck of 12 cards")
    options = parser.parse_args(arguments)
    try:
        every = all_stages(options.quick, str(options.work), options.device)
        if options.beside:
            for name in ",".join(options.beside).split(","):
                named(name, every)
            shared = ["--out", str(options.out), "--known", str(options.known), "--work", str(options.work),
                      "--device", options.device, *["--quick"] * options.quick,
                      *(["--also", str(options.also)] if options.also is not None else [])]  # fmt: skip
            return 0 if side_by_side(options.beside, shared, options.seconds) else CONTINUED
        if options.list or not options.stage:
            for stage in every.values():
                print(f"{stage.name:16} {len(list(stage.steps())):3} steps {stage.expected:6.0f} s  {stage.about}")
            return 0
        began, done = time.perf_counter(), True
        for name in options.stage:
            left = None if options.seconds is None else options.seconds - (time.perf_counter() - began)
            if left is not None and left <= 0:
                return CONTINUED
            done = run_stages(name, options.out, options.work, options.device, left, options.quick, options.known,
                              lambda text: print(text, flush=True), options.also) and done  # fmt: skip
    except KibitzError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"Error: a package is missing or damaged ({error}): install it, then run the same command again",
              file=sys.stderr)  # fmt: skip
        return MISSING
    return 0 if done else CONTINUED


if __name__ == "__main__":
    sys.exit(main())
