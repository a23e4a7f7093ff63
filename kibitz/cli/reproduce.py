"""kibitz reproduce: recompute the tables of a paper, and check its claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import complete
from kibitz.cli.common import Json, check_file, console, note, print_json
from kibitz.cli.options import On, argument, counted, flag, number, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from kibitz.papers import PaperReport
    from kibitz.papers.claims import Claim
    from kibitz.report.figures import Sheet

BY_STAGES = (
    *(("gibson2011", table) for table in ("2", "why", "champions", "small")),
    *(("waugh2009", table) for table in ("3", "small")),
)
STAGED_PARTS = ("holdem-two", "holdem-three")  # whose pages can be made from results of stages
EXPERIMENTS = "gameshrink, rhode-island, gs2, gs3, egt, abstraction, phases, tournaments"
PART_HELP = (
    f"sandholm: {EXPERIMENTS}; auto-stitching: two-players, three-players, rhode-island. Default: all of these. Also "
    "auto-stitching holdem-two: limit hold'em, from --results, or --quick; and holdem-three, in an hour."
)
ITERATIONS_HELP = (
    "Iterations for every game. Default: three players, 1000; le2021, 100,000 of MCCFR; limit hold'em, 8,000 sampled "
    "boards (gibson2011) or 4,000 (waugh2009)."
)
UNTIL_HELP = "Two players: the NashConv, in chips, to solve every game to. Default: 1e-4; le2021: 1e-2."
EXACT_HELP = "Limit hold'em over all boards: exploitability takes a night a strategy, earnings an hour on a GPU."
SAMPLED_HELP = "gibson2011, two players: iterations of chance-sampled CFR for every game. Default: 100,000,000."
QUICK_HELP = "Three random initialisations and rough solutions, in about a minute; limit hold'em with 16 cards."
TABLE_HELP = "Only this table. Limit hold'em (gibson2011 2, waugh2009 3; both: small) is computed only if it is named."

STAGE_HELP = "Run a stage of limit hold'em at the papers' sizes, as in docs/plans/large_tables.md; `list` lists them."
RESULTS_HELP = "Make the page of limit hold'em from results of stages in a folder. Default of --stage: OUT/results."

REUSE_HELP = "Also use runs in this folder, such as those of another machine, whatever version made them."


def reproduce(
    name: Annotated[
        str,
        argument("PAPER", "gibson2011, waugh2009, le2021, sandholm, auto-stitching; all: the first two.",
                 complete.papers),
    ],
    table: Annotated[str | None, option("--table", "N", TABLE_HELP)] = None,
    players: Annotated[int, number("--players", "N", "gibson2011 --table 2, small: hold'em for two or three.")] = 2,
    hours: Annotated[float | None, number("--hours", "H", "Three-player hold'em: hours in all. Default: 2.")] = None,
    max_infosets: Annotated[
        str | None, option("--max-infosets", "N", "Three-player hold'em: infosets. Default: 162M.")
    ] = None,
    part: Annotated[str | None, option("--experiment", "NAME", PART_HELP)] = None,
    seeds: Annotated[int | None, number("--seeds", "N", "Random initialisations. Default: 16; le2021: 15.")] = None,
    seed: Annotated[int, number("--seed", "N", "Random seed of the first initialisation; the next ones follow.")] = 0,
    until: Annotated[float | None, number("--until", "NASHCONV", UNTIL_HELP)] = None,
    iterations: Annotated[int | None, number("--iterations", "N", ITERATIONS_HELP)] = None,
    sampled: Annotated[int | None, number("--sampled", "N", SAMPLED_HELP)] = None,
    sampled_seeds: Annotated[int | None, number("--sampled-seeds", "N", "Runs with --sampled. Default: 1.")] = None,
    jobs: Annotated[int | None, number("--jobs", "N", "Runs at the same time. Default: one per core.")] = None,
    on: On = None,
    out: Annotated[Path | None, option("--out", "DIR", "Where reports go. Default: runs/papers/PAPER.")] = None,
    markdown: Annotated[Path | None, option("--markdown", "FILE", "Also write one Markdown page with plots.")] = None,
    stage: Annotated[str | None, option("--stage", "NAME", STAGE_HELP)] = None,
    seconds: Annotated[float | None, number("--seconds", "S", "--stage: end before so many seconds are over.")] = None,
    device: Annotated[str, option("--device", "DEVICE", "--stage: cpu or gpu.")] = "cpu",
    results: Annotated[Path | None, option("--results", "DIR", RESULTS_HELP)] = None,
    quick: Annotated[bool, flag("--quick", QUICK_HELP)] = False,
    exact: Annotated[bool, flag("--exact", EXACT_HELP)] = False,
    reuse: Annotated[Path | None, option("--reuse", "DIR", REUSE_HELP)] = None,
    rerun: Annotated[bool, flag("--rerun", "Repeat every run. Default: results in DIR/runs are reused.")] = False,
    json: Json = False,
) -> None:
    """Recompute a paper's tables and test its claims.

    Each table is computed from several random initialisations. The command prints the tables and a verdict on each
    claim: holds, fails or undecided. It writes reports as Markdown, HTML and JSON, with plots.

    auto-stitching compares the search of `kibitz stitch auto` with the papers' partitions: minutes for Leduc, an
    hour or two for Rhode Island hold'em. waugh2009 takes a few minutes; le2021, about Toepen, up to twenty; gibson2011
    half an hour, most of it for the paper's own method (--sampled); sandholm up to half an hour an experiment.
    Limit hold'em (gibson2011 --table 2, waugh2009 --table 3) takes hours; with three players, as long as --hours
    says. With --table small and two players every figure is exact: gibson2011 has a deck of 20 cards and takes some
    hours of a core for each seed, waugh2009 has 16 and takes one. With three players gibson2011 --table small has 24
    cards, and takes twenty minutes for each seed. After Ctrl-C the same command continues.

    \b
    Examples:
      kibitz reproduce gibson2011 --table 1
      kibitz reproduce gibson2011 --table 2 --quick
      kibitz reproduce gibson2011 --table 2 --players 3 --hours 1
      kibitz reproduce gibson2011 --table small --seeds 2 --jobs 2
      kibitz reproduce gibson2011 --table small --players 3 --quick
      kibitz reproduce gibson2011 --stage list
      kibitz reproduce waugh2009 --table 2 --seeds 24
      kibitz reproduce waugh2009 --table 3 --quick
      kibitz reproduce waugh2009 --table small --seeds 2
      kibitz reproduce all --out runs/papers --markdown docs/stitching.md
      kibitz reproduce le2021 --markdown docs/toepen.md
      kibitz reproduce sandholm --experiment gameshrink
      kibitz reproduce auto-stitching --markdown docs/auto_stitching.md
    """
    from kibitz.papers import PAPERS, STITCHING, experiment, table_alone
    from kibitz.papers import reproduce as compute
    from kibitz.papers.runs import Shelf

    if name == "toepen":
        raise SpecError("toepen is not a paper but a benchmark: kibitz bench --only toepen-full")
    if name not in (*PAPERS, "all"):
        raise SpecError(f"unknown paper {name!r}: choose {', '.join(PAPERS)} or all")
    if reuse is not None and (stage is not None or results is not None or rerun):
        raise SpecError("--reuse does not go with --stage, --results or --rerun: leave one of them out")
    if stage is not None:
        _run_stage(stage, out or Path("runs/papers/stages"), results, device, seconds, quick)
        return
    if seconds is not None or device != "cpu":
        raise SpecError("--seconds and --device are for a stage: give --stage too")
    if results is not None and (name, table) not in BY_STAGES and part not in STAGED_PARTS:
        raise SpecError("--results is for limit hold'em: give gibson2011 --table 2, why, champions or small; waugh2009 "
                        "--table 3 or small; or auto-stitching --experiment holdem-two or holdem-three")  # fmt: skip
    if results is not None and (seeds is not None or seed or jobs is not None):
        raise SpecError("--results has the seeds that were run: leave --seeds, --seed and --jobs out")
    three = players == 3
    if three and (name, table) not in (("gibson2011", "2"), ("gibson2011", "small")):
        raise SpecError("--players 3 is for gibson2011 --table 2 or small; table 1 has both")
    if (hours is not None or max_infosets is not None) and not (three and table == "2"):
        raise SpecError("--hours and --max-infosets are for gibson2011 --table 2 --players 3")
    if three and (iterations is not None or exact):
        raise SpecError("--iterations and --exact are not for three players: their strategies are trained for --hours "
                        "(table 2) or as planned (small), and measured by matches")
    names = list(STITCHING) if name == "all" else [name]
    chosen = f"{table} for three" if three else table
    if results is not None and part not in STAGED_PARTS:
        chosen = f"{chosen} by stages"
    experiments = {each: table_alone(each, chosen if len(names) == 1 else None) for each in names}
    if table is not None and (len(names) > 1 or table not in experiments[name].tables):
        listed = {each: (*experiment(each).tables, *(x for x in experiment(each).alone if x.isdecimal()))
                  for each in names}  # fmt: skip
        tables = "; ".join(f"{each} has {' and '.join(of) or 'none'}" for each, of in listed.items())
        raise SpecError(f"--table {table} does not fit: {tables}")
    if part is not None and part not in experiments[names[0]].parts:
        whose = name if experiments[names[0]].parts else "sandholm"
        parts = " and ".join(experiment(whose).parts)
        raise SpecError(f"--experiment {part} does not fit {name}: {whose} has {parts}")
    for each in names:
        of = experiments[each].parts[part] if part is not None else experiments[each]
        for stop, value in (("iterations", iterations), ("until", until)):
            if value is not None and stop in of.ignores:
                where = f"{each} --experiment {part}" if part is not None else f"{each} --table {table}"
                raise SpecError(f"--{stop} means nothing to {where}: leave it out, or give {of.instead}")
    options = {"part": part, "starts": seeds, "until": until, "iterations": iterations, "jobs": jobs,
               "sampled": sampled, "sampled_seeds": sampled_seeds, "hours": hours,
               "limit": None if max_infosets is None else counted(max_infosets)}  # fmt: skip
    own = {k: v for k, v in options.items() if v is not None}
    first = experiments[names[0]]
    if part is not None and seeds is None:
        own["starts"] = (first.parts[part].quick if quick else first.parts[part].plan).starts
    alone = f"-table-{table}" + "-three" * three if chosen in experiment(names[0]).alone else ""
    if exact and not alone:
        raise SpecError("--exact is for gibson2011 --table 2 and waugh2009 --table 3: all else is exact already")
    plan = replace(first.quick if quick else first.plan, seed=seed, exact=exact, **own)  # type: ignore[arg-type]
    places = {
        each: (out or Path("runs/papers")) / f"{each}{alone}" if out is None or len(names) > 1 else out
        for each in names
    }
    plan = replace(plan, folder=str(places[names[0]]), results=str(results or ""))
    for place in places.values():
        if place.exists() and not place.is_dir():
            raise ArtefactError(f"--out {place} exists and is not a directory; choose another path")
        check_file(place / "report.md", "--out", (".md",))
    check_file(markdown, "--markdown", (".md",))
    if reuse is not None and not any(reuse.glob("*.json")):
        raise ArtefactError(f"--reuse {reuse} is not a folder of runs: give the folder `runs` of another --out")
    if rerun and plan.work.is_dir():
        from kibitz.papers.holdem_course import forget_kept

        forget_kept(plan.work)
    outcomes, written = [], []
    shelves = {each: Shelf(place / "runs", rerun, reuse) for each, place in places.items()}
    with Watch(not json) as watch:
        watch.phase("loading compiled code")
        from kibitz.bench.paper import as_data, write, write_page

        for each in names:

            def progress(what: str, done: int, of: int, each: str = each) -> None:
                watch.phase(f"{each}, {what}" + f": {done} of {of} runs" * (of > 1))

            if not json and (says := experiments[each].says(plan)):
                note(f"{each}: {says}")
            outcome = compute(each, plan, progress, shelves[each], chosen if alone else None)
            watch.phase(f"{each}: writing the report")
            written += write(outcome, places[each])
            outcomes.append(outcome)
        if markdown is not None:
            written += write_page(outcomes, markdown)
    for each, shelf in shelves.items():
        if shelf.trouble:
            note(f"{each}: {shelf.trouble}")
        if reuse is not None and not shelf.elsewhere:
            note(f"{each}: no run in {reuse} fits. Options must be the same; limit hold'em also needs the same --out")
    if json:
        print_json({**as_data(outcomes), "files": [str(path) for path in written]})
    else:
        _print(outcomes, table, written)
        read, of = (sum(counts) for counts in zip(*((s.read, s.read + s.done) for s in shelves.values()), strict=True))
        if read:
            typer.echo(f"{read} of {of} runs had been done before; --rerun repeats them.")


def _run_stage(
    stage: str, out: Path, results: Path | None, device: str, seconds: float | None, quick: bool
) -> None:
    """Go on with a stage, and say how to finish it."""
    from kibitz.papers.stages import all_stages, run_stages

    if stage == "list":
        for each in all_stages(quick, str(out / "work"), device).values():
            typer.echo(f"{each.name:16} {len(list(each.steps())):3} steps {each.expected:6.0f} s  {each.about}")
        return
    place = results or out / "results"
    done = run_stages(stage, place, out / "work", device, seconds, quick, place, typer.echo)
    typer.echo(f"{place}: " + ("complete" if done else "the same command goes on"))


def _print(outcomes: list[PaperReport], table: str | None, written: list[Path]) -> None:
    from kibitz.report.text import duration

    out = console()
    for outcome in outcomes:
        out.print(outcome.title, style="bold", markup=False)
        spread = outcome.unit + "s" * (outcome.plan.starts != 1)
        out.print(f"{outcome.plan.starts} {spread}, {duration(outcome.seconds)}\n", markup=False)
        for sheet in outcome.sheets:
            if table is None or not table.isdecimal() or str(sheet.table) == table:
                _print_sheet(out, sheet)
        papers = [claim for claim in outcome.claims if claim.of_the_paper] or list(outcome.claims)
        _print_claims(out, papers)
        rest = len(outcome.claims) - len(papers)
        claims = "claim of our own is" if rest == 1 else "claims of our own are"
        more = f" {rest} {claims} in the report." if rest else ""
        out.print(f"{outcome.verdict}{more}\n", markup=False)
    typer.echo("Written:")
    for path in written:
        typer.echo(f"  {path}")


def _print_sheet(out: Console, sheet: Sheet) -> None:
    from kibitz.report.tables import tables

    heads = [title.partition(":")[0] if k else title for k, title in enumerate(sheet.head)]
    pieces = tables(heads, sheet.rows, out.width)
    if len(pieces) > 1:  # ranges below their means leave room
        pieces = tables(heads, [[text.replace(" [", "\n[") for text in row] for row in sheet.rows], out.width)
    out.print(sheet.title, style="bold", markup=False)
    for piece in pieces:
        out.print(piece)
        out.print()
    if sheet.note:
        out.print(f"{sheet.note}\n", style="dim", markup=False)


def _print_claims(out: Console, claims: list[Claim]) -> None:
    from kibitz.bench.verdicts import tried
    from kibitz.report.tables import tables

    if not claims:
        return
    heads, counts = tried(claims)
    first = "claim of the paper" if claims[0].of_the_paper else "claim"
    heads = [first, *(head.replace(" ", "\n", 1) for head in heads), "verdict"]
    rows = [[claim.text, *cells, claim.verdict_text] for claim, cells in zip(claims, counts, strict=True)]
    for piece in tables(heads, rows, out.width, (0, len(heads) - 1)):
        out.print(piece)
        out.print()
