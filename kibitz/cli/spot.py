"""kibitz poker spot: a board, two ranges, a pot and bet sizes, solved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_artefact, check_file, print_json, print_table
from kibitz.cli.multiway import Show, is_solved, solve_three, solved_three, third_range
from kibitz.cli.options import Iterations, Seconds, SpotDevice, argument, flag, number, option
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.spots.comparing import SpotComparison
    from kibitz.poker.spots.nearest import NearestSpot
    from kibitz.poker.spots.solution import SpotNode, SpotSolution
    from kibitz.poker.spots.solving import SpotProgress
    from kibitz.poker.spots.spot import Spot

SIZES = "'33%, 75%, allin'; by street and player: '33%; river: 75%; turn IP: 50%'"
FILE_HELP = (
    "A .toml or .json file with these options, which an option replaces; a file of TexasSolver or PioVIEWER; or a "
    "saved solution."
)
LOCK_HELP = "Fix a decision: 'check: bet 50 = AA, KK', 'check: fold = 40%'; or a player: IP=DIR. Repeat for more."
NEAR_HELP = "Stay near a strategy, written as a lock is, or a saved solution. Repeat for more."
TARGET_HELP = "Stop once both can gain no more than this share of the pot, on average."


def spot(
    file: Annotated[Path | None, argument("[FILE]", FILE_HELP)] = None,
    board: Annotated[str | None, option("--board", "CARDS", "Three to five cards: 'Qs Jh 2h'.")] = None,
    ranges: Annotated[
        tuple[str, str] | None,
        option("--ranges", "OOP IP", "Two ranges: out of position, in position. Three for three players.")
    ] = None,
    pot: Annotated[str | None, option("--pot", "CHIPS", "Chips in the middle.")] = None,
    stacks: Annotated[str | None, option("--stacks", "A,B,C", "Chips behind: one number, or one for each.")] = None,
    bets: Annotated[str | None, option("--bets", "SIZES", f"Bet sizes: {SIZES}. Default: 50%, allin.")] = None,
    raises: Annotated[str | None, option("--raises", "SIZES", "Raise sizes; 2.5x too. Default: 60%, allin.")] = None,
    donks: Annotated[
        str | None, option("--donks", "SIZES", "Bets of OOP into the player who bet on the street before.")
    ] = None,
    rake: Annotated[str | None, option("--rake", "SHARE", "Share of the pot that is taken as rake: 5%.")] = None,
    rake_cap: Annotated[str | None, option("--rake-cap", "CHIPS", "The most that it takes.")] = None,
    dead: Annotated[str | None, option("--dead", "CHIPS", "Antes and dead money beside the pot.")] = None,
    force_allin: Annotated[
        str | None,
        option("--force-allin", "SHARE", "Bets become all in if a call leaves less than this share of the pot."),
    ] = None,
    add_allin: Annotated[
        str | None, option("--add-allin", "POTS", "Also offer all in if the stack is at most so many pots.")
    ] = None,
    max_raises: Annotated[
        str | None, option("--max-raises", "N", "Bets and raises on a street; one number, or A,B,C.")
    ] = None,
    chip: Annotated[str | None, option("--chip", "CHIPS", "What bets are rounded to. Default: 1.")] = None,
    prizes: Annotated[
        str | None, option("--prizes", "A,B,C", "In a tournament: prizes of the places left, the best first.")
    ] = None,
    others: Annotated[
        str | None, option("--others", "A,B", "Stacks of the players of the tournament who are not in the hand.")
    ] = None,
    target: Annotated[str | None, option("--target", "SHARE", f"{TARGET_HELP} Default: 0.5%.")] = None,
    iterations: Iterations = None,
    seconds: Seconds = None,
    threads: Annotated[
        int | None, number("--threads", "N", "Cores to use. Three players: results repeat only with 1. Default: all.")
    ] = None,
    device: SpotDevice = "cpu",
    at: Annotated[str, option("--at", "LINE", "The decision to show: 'check, bet 50, call, Qc'.")] = "",
    detail: Annotated[str | None, option("--detail", "RANGE", "Show these hands one by one: 'AA, QJs'.")] = None,
    lock: Annotated[list[str] | None, option("--lock", "LOCK", LOCK_HELP)] = None,
    near: Annotated[list[str] | None, option("--near", "LOCK|DIR", NEAR_HELP)] = None,
    compare: Annotated[Path | None, option("--compare", "DIR", "Compare with a saved solution, at --at.")] = None,
    without: Annotated[
        str | None, option("--without", "SIZE", "Solve it without a bet size too, and say what changes.")
    ] = None,
    save: Annotated[Path | None, option("--save", "DIR", "Save the solution; DIR as FILE shows it again.")] = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write strategies and values of all hands.")] = None,
    estimate: Annotated[bool, flag("--estimate", "Print size, memory and time, and do not solve.")] = False,
    json: Json = False,
) -> None:
    """Solve a poker spot: what to do on a flop, turn or river, and why.

    Player OOP is out of position and acts first; player IP is in position. The command prints what both win, and what
    the player to act does with each class of hands. Sizes are shares of the pot (33%), chips (40c), multiples of the
    bet that is raised (2.5x), geometric (e, 2e) or allin. A line (--at) leads to another decision, cards included.
    With three ranges a spot of three players is trained by sampling, for --seconds.
    With --prizes payoffs are values of stacks by the Independent Chip Model.

    \b
    Examples:
      kibitz poker spot --board 'Qs Jh 2h 5c 5d' --pot 100 --stacks 200 \\
          --ranges 'AA, QJs, T9s, 65s' 'KK, AQ, AJs:0.5' --bets '50%, allin'
      kibitz poker spot --board 'Qs Jh 2h 5c' --pot 100 --stacks 150 \\
          --ranges '22+, AJ+, QJs' 'TT+, AQ+' --at 'check, bet 50' --detail AQs
      kibitz poker spot --board 'Qs Jh 2h 5c 5d' --pot 100 --stacks 200 \\
          --ranges 'AA, QJs, T9s, 65s' 'KK, AQ' --lock 'check: check = 100%' \\
          --without allin
      kibitz poker spot --board 'Qs Jh 2h 5c 5d' --pot 90 --stacks 200,100,150 \\
          --ranges 'AA, QJs, T9s' 'KK, AQ' 'QQ, KJs' --bets 50% --seconds 5
      kibitz poker spot --board 'Qs Jh 2h' --pot 100 --stacks 400 \\
          --ranges 'top 20%' 'top 30%' --bets '33%; river: allin' --estimate
    """
    from kibitz.poker.spots.reading import share_of

    check_file(csv, "--csv", (".csv",))
    if detail is not None:
        from kibitz.cards.ranges import parse_items

        parse_items(detail)  # before the work
    options: dict[str, Any] = {
        "board": board, "ranges": ranges, "pot": pot, "stacks": stacks, "bets": bets, "raises": raises, "donks": donks,
        "rake": rake, "rake_cap": rake_cap, "dead": dead, "force_allin": force_allin, "add_allin": add_allin,
        "max_raises": max_raises, "chip": chip, "prizes": prizes, "others": others,
    }  # fmt: skip
    options = {name: value for name, value in options.items() if value is not None}
    third = None if ranges is None else third_range(file)
    fields = options if file is None or file.is_dir() or third is not None else {**_read(file), **options}
    only = {"target": target, "near": near, "compare": compare, "without": without,
            "device": None if device == "cpu" else device}  # fmt: skip
    stops = {"iterations": iterations, "seconds": seconds, "threads": threads}
    show = Show(at, detail, csv, save, estimate, json)
    if file is not None and is_solved(file):
        solved_three(file, {**options, **only, "lock": lock}, show)
        return
    if ranges is not None and third is not None:
        fields["ranges"] = (*ranges, third)
    if isinstance(fields.get("ranges"), list | tuple) and len(fields["ranges"]) == 3:
        solve_three(fields, {**stops, "locks": lock or ()}, only, show)
        return
    check_artefact(save, "--save", "spot")
    limits: dict[str, Any] = {"until": None if target is None else share_of("--target", target)}
    limits |= {**stops, "device": device}
    rivals: list[tuple[str, SpotSolution]] = [] if compare is None else [(str(compare), _loaded(compare, {}))]
    if near and (without is not None or device != "cpu"):
        raise GameError(f"--near goes without {'--without' if without is not None else '--device'}: leave one out")
    nearest: NearestSpot | None = None
    with Watch(not json) as watch:
        if file is not None and file.is_dir():
            more = {"lock": lock, "near": near, "without": without}
            solution = _loaded(file, {**options, **{name: value for name, value in more.items() if value}})
        else:
            question = _asked(fields)
            watch.phase("estimating")
            size = _sized(question, device)
            if estimate:
                _print_size(size, json)
                return
            from kibitz.poker.spots.solving import solve_spot

            watch.phase("solving")
            limits |= {"locks": lock or (), "on_progress": lambda now: watch.phase(_said(now))}
            if near:
                from kibitz.poker.spots.nearest import nearest_spot

                del limits["device"]
                nearest = nearest_spot(question, near, **limits)
            solution = nearest.solution if nearest else solve_spot(question, **limits)
            if without is not None:
                from kibitz.poker.spots.comparing import without as spot_without

                rivals.append((f"without {without}", solve_spot(spot_without(question, without), **limits)))
        watch.phase("evaluating")
        node = solution.at(at)
        _ = node.values
        from kibitz.poker.spots.comparing import compare_spots

        compared = [(name, compare_spots(solution, other, at)) for name, other in rivals]
    if save is not None:
        from kibitz.poker.spots.saved import save_spot

        save_spot(solution, save)
    if csv is not None:
        _write_csv(solution, at, csv)
    if json:
        from kibitz.poker.spots.tables import node_data, solution_data

        print_json({**solution_data(solution), "node": node_data(node),
                    "compared": {name: comparison.data() for name, comparison in compared},
                    **({} if nearest is None else {"near": nearest.data()})})  # fmt: skip
        return
    _print(solution, node)
    if lock:
        typer.echo("\nExploitability leaves out what is locked; what a player can still gain counts it.")
    if nearest is not None:
        _print_nearest(nearest)
    if detail is not None:
        _print_hands(node, detail)
    for name, comparison in compared:
        _print_compared(name, comparison)
    for path in (csv, save):
        if path is not None:
            say(f"written to {path}")


def _asked(fields: dict[str, Any]) -> Spot:
    """The spot of a file and of options."""
    from kibitz.poker.spots.reading import spot as spot_of

    for name in ("board", "ranges", "pot", "stacks"):
        if name not in fields:
            raise GameError(f"give --{name}, or a file that has it")
    return spot_of(**fields)


def _loaded(path: Path, options: dict[str, Any]) -> SpotSolution:
    from kibitz.poker.spots.saved import load_spot

    if options:
        raise GameError(f"{path} is solved: leave --{next(iter(options)).replace('_', '-')} out, or give a file "
                        "instead")  # fmt: skip
    return load_spot(path)


def _read(path: Path) -> dict[str, Any]:
    """The arguments of a spot in a file. What a file of another solver says and has no place here is said."""
    from kibitz.poker.spots.importing import read_import
    from kibitz.poker.spots.reading import arguments_of

    if path.suffix.lower() in (".toml", ".json"):
        return arguments_of(path)
    other = read_import(path)
    say(f"{path}: read as a file of {other.source}")
    for note in other.notes:
        say(f"note: {note}")
    return other.arguments


def _said(now: SpotProgress) -> str:
    return f"solving: {now.iterations:,} iterations, exploitability {100 * now.exploitability:.3g}% of the pot"


def _sized(question: Spot, device: str) -> Any:
    from kibitz.core.gpu import require
    from kibitz.poker.spots.estimates import check_size
    from kibitz.poker.spots.spot import betting_of

    require(device)
    return check_size(question, betting_of(question), device=device)


def _print_size(size: Any, json: bool) -> None:
    from dataclasses import asdict

    from kibitz.report.text import duration

    if json:
        print_json(asdict(size))
        return
    typer.echo(f"{size.nodes:,} betting nodes, {size.boards:,} boards, {size.sequences:,} sequences; about "
               f"{size.bytes / 1e6:,.0f} MB and {duration(size.seconds)} to 0.5% of the pot")  # fmt: skip


def _print(solution: SpotSolution, node: SpotNode) -> None:
    from kibitz.cards.deck import names
    from kibitz.poker.spots.spot import PLAYERS, live
    from kibitz.poker.spots.tables import action_means
    from kibitz.report.text import duration

    question = solution.spot
    holds = [int((weights > 0).sum()) for weights in live(question)]
    typer.echo(f"{names(question.board)}: pot {question.pot:g}, {question.stack:g} behind; OOP has {holds[0]:,} hands, "
               f"IP {holds[1]:,}")  # fmt: skip
    typer.echo(f"exploitability {100 * solution.exploitability:.3g}% of the pot after {solution.iterations:,} "
               f"iterations in {duration(solution.seconds)}\n")  # fmt: skip
    if node.line:
        typer.echo(f"After {node.line}: pot {node.pot:g}, board {names(node.board)}, reached {100 * node.reach:.3g}% "
                   "of the time")  # fmt: skip
    cells = [(player, _chips(node.mean_values[seat]), _share(node.mean_equities[seat]), _chips(node.gains[seat]))
             for seat, player in enumerate(PLAYERS)]  # fmt: skip
    wins = "value in prizes" if question.prizes else "wins, chips"
    print_table(("player", wins, "equity", "can still gain"), cells)
    if question.prizes:
        typer.echo("With prizes the game is not zero-sum, and CFR need not converge. What each player can still gain "
                   "is exact.")  # fmt: skip
    if node.player is None:
        typer.echo("\nThe hand is over here." if node.is_over else "\nA card comes here: name it in --at.")
        return
    typer.echo(f"\n{node.player} to act:")
    means = action_means(node)
    print_table(("action", "how often", wins),
                [(action, _share(node.frequencies[k]), _chips(means[k])) for k, action in enumerate(node.actions)])
    _print_grid(node)


def _print_grid(node: SpotNode) -> None:
    """How often each class of hands bets or raises, or calls where it cannot."""
    from kibitz.cards.deck import RANKS
    from kibitz.poker.spots.tables import grid

    active = [k for k, action in enumerate(node.actions) if " " in action]
    word = "bets or raises"
    if not active:
        active, word = [len(node.actions) - 1], f"{node.actions[-1]}s"
    shares = grid(node, node.strategy[active].sum(axis=0), node.turn)
    typer.echo(f"\nHow often {node.player} {word} with a hand, in percent: suited hands above the\n"
               "pairs, offsuit hands below; a dot is a hand that it does not hold.\n")  # fmt: skip
    typer.echo("   " + "".join(f"{rank:>4}" for rank in RANKS[::-1]))
    for rank, row in zip(RANKS[::-1], shares, strict=True):
        typer.echo(f"  {rank}" + "".join("   ." if share != share else f"{100 * share:4.0f}" for share in row))


def _print_hands(node: SpotNode, text: str) -> None:
    from kibitz.cards.ranges import parse_range
    from kibitz.poker.spots.tables import hand_names, hand_rows

    wanted = {name for name, weight in zip(hand_names(), parse_range(text).weights, strict=True) if weight > 0}
    rows = [row for row in hand_rows(node) if row["hand"] in wanted]
    typer.echo("")
    if not rows:
        typer.echo(f"{node.player or 'OOP'} holds none of {text} here.")
        return
    head = ("hand", "equity", "wins", *node.actions)
    cells = []
    for row in rows:
        does = [f"{_share(row['strategy'][a])} ({_chips(row['values'][a])})" for a in node.actions]
        cells.append((row["hand"], _share(row["equity"]), _chips(row["value"]), *does))
    print_table(head, cells)
    typer.echo("In brackets: what the action wins from here on, in chips.")


def _print_nearest(nearest: NearestSpot) -> None:
    both = {"nearest": nearest.solution, "plain": nearest.plain}
    rows = [(name, *(f"{apart:.4f}" for apart in nearest.distances[k]), f"{100 * solution.exploitability:.3g}%")
            for k, (name, solution) in enumerate(both.items())]  # fmt: skip
    typer.echo("\nHow far the answer is from what --near says, and how far a plain solution is:\n")
    print_table(("solution", "distance of OOP", "of IP", "exploitability"), rows)


def _print_compared(name: str, comparison: SpotComparison) -> None:
    from kibitz.poker.spots.spot import PLAYERS

    typer.echo(f"\nBeside {name}: {_share(comparison.distance)} of the play differs here.")
    values = [(f"{player} wins, chips", _chips(a), _chips(b), f"{b - a:+.2f}")
              for player, a, b in zip(PLAYERS, *comparison.values, strict=True)]  # fmt: skip
    shares = [(action, _share(a), _share(b), f"{100 * (b - a):+.1f}%")
              for action, a, b in zip(comparison.actions, *comparison.frequencies, strict=True)]  # fmt: skip
    print_table(("", "here", "there", "change"), [*values, *shares])
    rows = [row for row in comparison.classes if row["distance"] > 0.05][:5]
    if rows:
        typer.echo("Hands that differ most: " + ", ".join(f"{row['hand']} {_share(row['distance'])}" for row in rows))


def _write_csv(solution: SpotSolution, line: str, path: Path) -> None:
    from kibitz.poker.spots.tables import csv_lines

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines(solution, line or None))


def _share(number: float | None) -> str:
    return "-" if number is None or number != number else f"{100 * number:.1f}%"


def _chips(number: float | None) -> str:
    return "-" if number is None or number != number else f"{number:.2f}"
