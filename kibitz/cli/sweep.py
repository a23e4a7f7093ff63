"""kibitz sweep: one command with many values of its options."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from kibitz.cli.common import Json, print_json, print_table
from kibitz.cli.options import On, argument, number, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import SolverError, SpecError

MOST = 100_000  # runs
COLUMNS = 6  # figures that are printed


def sweep(
    context: typer.Context,
    command: Annotated[str, argument("COMMAND", "A command without `kibitz`, in quotes: 'solve leduc'.")],
    on: On = None,
    jobs: Annotated[int | None, number("--jobs", "N", "Runs at the same time. Default: one per core.")] = None,
    out: Annotated[Path | None, option("--out", "DIR", "Keep results here: the same command continues.")] = None,
    json: Json = False,
) -> None:
    """Run a command with many values of its options.

    Options that sweep does not know are those of the command. Their values are ranges of whole numbers (0..99) or lists
    (1e-2,1e-3), and all combinations are run. {NAME} in the command stands for the value of an option. Each run takes
    one core; with --on they go to the nodes of a cluster. The figures of all runs are printed, or with --json all that
    they said.

    \b
    Examples:
      kibitz sweep 'solve leduc --until 0.01' --seed 0..3
      kibitz sweep 'solve kuhn --iterations 100' --solver cfr+,dcfr+ --json
    """
    varied = options_of(context.args)
    runs = [dict(zip(varied, values, strict=True)) for values in product(*varied.values())]
    with Watch(not json) as watch:
        from kibitz.papers.runs import Run, Shelf, carry_out

        work = Run("runs", result_of, [(words_of(command, each),) for each in runs], "cores")
        shelf = Shelf(None if out is None else out / "runs")
        answers = carry_out([work], jobs, lambda what, done, of: watch.phase(f"{done:,} of {of:,} runs"), shelf)["runs"]
    results = [{"options": each, "result": answer} for each, answer in zip(runs, answers, strict=True)]
    if json:
        print_json({"command": command, "runs": results, "done_before": shelf.read})
        return
    head, rows = figures(results)
    print_table(head, rows)
    if shelf.read:
        typer.echo(f"{shelf.read:,} of {len(runs):,} runs had been done before.")


def options_of(words: list[str]) -> dict[str, list[str]]:
    """{option's name: its values} of the words that are left: --seed 0..3 --solver cfr+,lp."""
    varied: dict[str, list[str]] = {}
    left = list(words)
    while left:
        name, equals, text = left.pop(0).partition("=")
        if not re.fullmatch(r"--[a-z][a-z-]*", name) or not (equals or left):
            raise SpecError(f"{name:.40}: give options of the command with their values, such as --seed 0..99")
        if name[2:] in varied:
            raise SpecError(f"{name} is given twice")
        varied[name[2:]] = values_of(name, text if equals else left.pop(0))
    if not varied:
        raise SpecError("nothing varies: give an option of the command with several values, such as --seed 0..99")
    count = 1
    for values in varied.values():
        count *= len(values)
    if count > MOST:
        raise SolverError(f"these are {count:,} runs; {MOST:,} are the most of one sweep")
    return varied


def values_of(name: str, text: str) -> list[str]:
    """0..99 or a,b,c. Commas inside of brackets belong to a value, as in mccfr(sampling=chance,seed=1)."""
    if match := re.fullmatch(r"(\d{1,15})\.\.(\d{1,15})", text):
        first, last = int(match[1]), int(match[2])
        if not first <= last < first + MOST:
            raise SpecError(f"{name} {text}: a range goes up, and has {MOST:,} numbers at most")
        return [str(value) for value in range(first, last + 1)]
    values, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            values.append("")
        else:
            values[-1] += letter
    if not all(value.strip() for value in values):
        raise SpecError(f"{name} {text:.80}: a value is empty")
    return [value.strip() for value in values]


def words_of(command: str, values: dict[str, str]) -> tuple[str, ...]:
    """The command of one run. An option that the command names as {NAME} only stands there."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SpecError(f"the command does not parse: {error}") from None
    if not words or words[0] in ("sweep", "play", "ui", "demo", "kibitz"):
        raise SpecError("give the command to run without `kibitz`, such as 'solve leduc'; it should print --json")
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    options = [word for name, value in values.items() for word in (f"--{name}", value)]
    return (*words, *options, "--json")


def result_of(words: tuple[str, ...]) -> Any:
    """What a command says, as data. It runs in a process of its own."""
    import json
    import subprocess
    import sys

    told = subprocess.run([sys.executable, "-m", "kibitz", *words], capture_output=True, text=True, check=False)
    if told.returncode:
        last = (told.stderr.strip().splitlines() or ["it said nothing"])[-1].removeprefix("error: ")
        raise SolverError(f"kibitz {shlex.join(words)}: {last}")
    try:
        return json.loads(told.stdout)
    except ValueError:
        raise SolverError(f"kibitz {shlex.join(words)} does not print JSON") from None


def figures(results: list[dict[str, Any]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """The options of each run, and the numbers of its result that are not the same in all; then their means."""
    names = list(results[0]["options"])
    numbers = {
        key
        for key, value in results[0]["result"].items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key not in names
    }
    for each in results:
        numbers &= {key for key, value in each["result"].items() if isinstance(value, int | float)}
    order = [key for key in results[0]["result"] if key in numbers]
    differing = [key for key in order if len({each["result"][key] for each in results}) > 1][:COLUMNS]
    rows = [
        (*(each["options"][name] for name in names), *(f"{each['result'][key]:.6g}" for key in differing))
        for each in results
    ]
    if len(rows) > 1 and differing:
        means = [sum(each["result"][key] for each in results) / len(results) for key in differing]
        rows.append(("mean", *[""] * (len(names) - 1), *(f"{mean:.6g}" for mean in means)))
    return [*names, *differing], rows
