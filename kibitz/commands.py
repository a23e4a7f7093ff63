"""Python functions of commands: what `kibitz NAME` computes, `kibitz.NAME` returns, with the same defaults.

The table of all commands is in docs/api.md (`kibitz/bench/api.py`); functions that belong to a package are there. Where
a package has the name of a command (stitch, play, ...), `kibitz.NAME` is the package and has the function inside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kibitz.core.errors import ArtefactError, GameError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import CompactForm, InfosetValues
    from kibitz.games.protocol import Action
    from kibitz.games.tree import Tree
    from kibitz.poker.buckets.hand_buckets import HandBuckets
    from kibitz.poker.tournaments import Check, TournamentSolution
    from kibitz.solvers.blueprint import Blueprint

# Arrays of a CFR run by sequence: regret, average, strategy, plan, value; and, for an evaluation, two of the CFR state
# and two of probabilities. By point: values and choices.
CFR_BY_SEQUENCE, EVALUATION_BY_SEQUENCE, BY_POINT = 5, 4, 3
SELF_PLAY, MATCH_DEALS = 2_000, 100_000  # deals of a blueprint against itself, and of a responder against it

Message = Callable[[str], None]  # is called with a line about what goes on


def _nobody(text: str) -> None:
    """Hears nothing."""


# Games


def info(game: Any, abstraction: str | None = None, device: str = "cpu") -> dict[str, Any]:
    """A game's size, its kind, and the memory that a solve needs, as plain data.

    Of a game that is too large to be laid out it is what can be counted. abstraction: of two-player poker, hand buckets
    such as percentile(8): the cost of solving the abstract game on a device.
    """
    from kibitz.forms.choice import compact_form, needs_tree
    from kibitz.games import game as make_game
    from kibitz.games.plugins import plugin_of
    from kibitz.games.tree import tree_of

    rules: Any = make_game(game)
    if abstraction is not None:
        return abstract_info(rules, abstraction, device)
    began = time.perf_counter()
    try:
        subject = tree_of(rules) if needs_tree(rules) else compact_form(rules)
    except GameError as error:
        counts = plugin_of(rules).size(rules)
        if not counts:
            raise
        return {"game": rules.spec, "players": rules.players, **counts, "too_large": str(error)}
    return facts(subject, time.perf_counter() - began)


def abstract_info(rules: Any, abstraction: str, device: str) -> dict[str, Any]:
    """The size of an abstract poker game, and the cost of its weights and of an iteration; nothing is computed."""
    from kibitz.forms.choice import needs_tree
    from kibitz.games.plugins import plugin_of
    from kibitz.poker.bucketed.build import cost, layout_of
    from kibitz.poker.buckets.buckets import hand_buckets

    if needs_tree(rules) or not plugin_of(rules).reads(abstraction):
        raise GameError("--abstraction is for two-player poker with hand buckets, such as percentile(8)")
    buckets = hand_buckets(rules.definition, abstraction)
    layout = layout_of(rules, buckets)
    return {
        "game": rules.spec, "abstraction": buckets.name, "buckets": layout.rows.tolist(),
        "infosets": sum(g.lanes * int(layout.rows[g.level]) * len(g.nodes) for g in layout.groups),
        "sequences": layout.sequences - 2, "payoff": layout.scale, "device": device, **cost(layout, buckets, device),
    }  # fmt: skip


def facts(subject: Tree | CompactForm, seconds: float) -> dict[str, Any]:
    """The size and the kind of a game that is laid out, as plain data. seconds: that laying it out took."""
    import numpy as np

    from kibitz.forms.sequence import form_of
    from kibitz.games.tree import Tree

    if not isinstance(subject, Tree):
        return {**subject.facts(), "layout": {"seconds": seconds}}
    tree, form = subject, form_of(subject)

    def taken(part: Any) -> int:
        if isinstance(part, tuple | list):
            return sum(map(taken, part)) if part and isinstance(part[0], np.ndarray) else 0
        return part.nbytes if isinstance(part, np.ndarray) else 0

    form.packed  # noqa: B018  what kernels read, made on first use
    per_sequence = CFR_BY_SEQUENCE + EVALUATION_BY_SEQUENCE
    sizes = {
        "tree": sum(map(taken, [*vars(tree).values(), *vars(tree.infosets).values()])),
        "form": sum(map(taken, vars(form).values())),
        "cfr": 8 * (per_sequence * form.sequences + BY_POINT * form.points),
    }
    return {
        "game": tree.spec, "players": tree.players,
        "histories": {"total": tree.histories, **tree.counts()},
        "infosets": np.diff(tree.infosets.seat_start).tolist(),
        "sequences": np.diff(form.seat_sequence).tolist(),
        "most_actions": int(tree.infosets.width.max(initial=0)),
        "payoff_entries": form.entries, "zero_sum": tree.zero_sum, "perfect_recall": form.perfect_recall,
        "payoff": {"least": tree.payoff.min(axis=0).tolist(), "most": tree.payoff.max(axis=0).tolist()},
        "bytes": {**sizes, "solve": sum(sizes.values())},
        "layout": {"seconds": seconds, "histories_per_second": tree.histories / max(seconds, 1e-9)},
    }  # fmt: skip


# Poker


def abstract(game: Any, abstraction: str, progress: Callable[[str, int, int], None] | None = None) -> HandBuckets:
    """Group the hands of a poker game into buckets. The result has counts and facts of each round, and a method `save`.

    abstraction  percentile(8), expectation([...]), potential([...]), gameshrink, or a folder with saved buckets
    progress     is called with (the task, finished pieces, all pieces)
    """
    from kibitz.games import game as make_game
    from kibitz.poker.buckets.buckets import hand_buckets

    return hand_buckets(poker_rules(make_game(game)).definition, abstraction, progress)


def poker_rules(rules: Any) -> Any:
    """The rules of a poker game by its definition, of Leduc too."""
    from kibitz.games.leduc import Leduc
    from kibitz.poker.rules.rules import leduc_as_poker

    if isinstance(rules, Leduc) and rules.players == 2:
        return leduc_as_poker(rules)
    if not hasattr(getattr(rules, "definition", None), "hole"):
        raise GameError(f"{rules.spec or 'this game'} is not poker by a definition: only such games have hand buckets")
    return rules


def phases(
    game: Any,
    abstraction: str = "percentile(4)",
    rounds: int = 2,
    leaves: Profile | str = "rollout",
    begin: int | None = None,
    solver: str = "dcfr+",
    *,
    device: str = "cpu",
    progress: Message = _nobody,
    **stops: Any,
) -> list[Profile]:
    """Solve two-player poker in two phases, as GS1 and GS2 did: the profile of each phase; the last one is the answer.

    rounds    phase I is the game of the first rounds
    leaves    what comes after them: "rollout" (nobody bets any more), or a profile in the same buckets, or the path of
              one, for statistics of its play
    begin     solve phase II too, from this round on, with the rounds before as phase I plays them
    progress  is called with a line about the current task
    stops     iterations, until or seconds of each phase, as of `solve`
    """
    from kibitz.forms.choice import needs_tree
    from kibitz.forms.profile import Profile
    from kibitz.games import game as make_game
    from kibitz.poker.endgames.phases import ROLLOUT, phase_one, phase_two

    rules = make_game(game)
    if needs_tree(rules):
        raise SolverError(f"phases are for two-player poker games: {game} is none")
    if begin is not None and begin > rounds + 1:
        raise SolverError(f"--begin {begin}: phase I ends with round {rounds}, so phase II begins by {rounds + 1}")
    behind = leaves if leaves == ROLLOUT or isinstance(leaves, Profile) else Profile.load(leaves)
    progress(f"phase I: rounds 1 to {rounds}")
    profiles = [phase_one(rules, abstraction, rounds, behind, solver, device=device, **stops)]
    if begin is not None:
        progress(f"phase II: from round {begin} on")
        profiles.append(phase_two(rules, profiles[0], begin, solver, device=device, **stops))
    return profiles


class SolvedTournament(NamedTuple):
    """An equilibrium of a tournament, and the largest gain by deviating."""

    solution: TournamentSolution
    check: Check


def tournament(
    rules: str = "tournament",
    algorithm: str = "pi-fp",
    tolerance: float = 1e-4,
    *,
    out: str | PathLike[str] | None = None,
    deals: int | None = None,
    threads: int | None = None,
    on_step: Callable[[TournamentSolution, Any], None] | None = None,
    on_round: Callable[[int, int, int, int], None] | None = None,
) -> SolvedTournament:
    """Solve a push/fold tournament for two to four players, and check the solution.

    rules      "tournament(players=3, chips=13500, blinds=300/600, unit=300, prizes=50/30/20, ante=0)"
    algorithm  vi-fp, pi-fp (values, and fictitious play of hands inside), fp-pi or fp-vi
    tolerance  stop when values change by less, as a share of the first prize
    out        a directory to save the solution to after every iteration; a solution in it is continued
    deals      sample so many deals for three players and more, instead of counting all cards for three
    """
    from kibitz.poker.tournaments import check, solve
    from kibitz.poker.tournaments import tournament as read
    from kibitz.poker.tournaments.sampled import check_deals
    from kibitz.poker.tournaments.saved import load, save

    wanted = read(rules)
    if deals is not None:
        check_deals(deals)

    def keep(solution: TournamentSolution, step: Any) -> None:
        if on_step is not None:
            on_step(solution, step)
        if out is not None:
            save(solution, Path(out))

    start = load(Path(out)) if out is not None and (Path(out) / "manifest.json").exists() else None
    solution = solve(wanted, algorithm, tolerance, deals=deals or 0, start=start, on_step=keep, on_round=on_round,
                     threads=threads)  # fmt: skip
    if out is not None:
        save(solution, Path(out))
    return SolvedTournament(solution, check(wanted, solution.jams, solution.deals, threads))


# Strategies


def strategy_of(source: Any, game: Any = None) -> Profile | Blueprint:
    """A profile or a blueprint: itself, or read from the path where it is saved."""
    from kibitz.core.store import kind_at
    from kibitz.forms.profile import Profile

    if not isinstance(source, str | PathLike):
        return source  # type: ignore[no-any-return]
    if kind_at(source) != "blueprint":
        return Profile.load(source)
    from kibitz.solvers.saved_blueprints import load_blueprint

    return load_blueprint(source, compact=True, game=game)


def evaluate(
    strategy: Profile | Blueprint | str | PathLike[str],
    game: Any = None,
    *,
    seconds: float = 10.0,
    local: int | None = None,
    whole: bool = False,
    value: bool = False,
    device: str = "cpu",
    progress: Message = _nobody,
) -> dict[str, Any]:
    """Evaluate a strategy: values and best responses of all players, NashConv and exploitability, as plain data.

    It is exact if the game tree fits into memory, or in the abstract game if the profile has hand buckets. A blueprint
    of a larger game is sampled: its value in self-play, and "exploitability_at_least", the winnings of a responder that
    was trained against it.

    strategy  a profile, a blueprint, the path of a saved one; with `whole` also "always-call" and its like
    game      default: that of the strategy
    seconds   how long the responder is trained
    local     deals of limit poker that local best response plays against a sampled blueprint
    whole     poker with hand buckets: measure it in the whole game, board by board; value: also what each player gets
    device    cpu or gpu: of `whole`, and of the responder's training
    progress  is called with a line about the current task
    """
    from kibitz.evaluate import report
    from kibitz.evaluate.blueprints import laid_out
    from kibitz.forms.profile import Profile
    from kibitz.games.trusted import recalled

    if whole:
        return evaluate_whole(strategy, game, value, device)
    source = strategy_of(strategy, game)
    if isinstance(source, Profile):
        form = game if game is not None else recalled(source.game, "the profile", "game=...")
        profile = source
    else:
        try:
            form, profile = laid_out(source, game)
        except GameError as error:
            return evaluate_sampled(source, seconds, local, str(error), progress, device)
    if local is not None:
        raise SolverError("this game is measured exactly: leave local out")
    return {"game": profile.game, "sha256": profile.sha256, **report(form, profile)}


def evaluate_whole(
    strategy: Any, game: Any = None, value: bool = False, device: str = "cpu", tell: Any = None
) -> dict[str, Any]:
    """Best responses over all boards, and on demand the value. A run that was stopped continues after its last flop."""
    data = evaluate_together([strategy], game, value, device, tell)
    return {"game": data["game"], "whole": True, **data["strategies"][0]}


def evaluate_together(
    strategies: Sequence[Any], game: Any = None, value: bool = False, device: str = "cpu", tell: Any = None
) -> dict[str, Any]:
    """Best responses to several strategies of one poker game in one pass over all boards.

    value: also what each strategy gets against itself, and "earnings", what the row wins from the column. A run that
    was stopped continues after its last flop. Figures are in chips.
    """
    from kibitz.poker.bucketed.device import Device
    from kibitz.poker.rules import acpc
    from kibitz.poker.whole.profiles import measured_together
    from kibitz.poker.whole.walk import check

    Device(device)  # refuses a GPU that is missing, before any work
    named = [whole_player(strategy, game) for strategy in strategies]
    rules = named[0][0]
    for each, _ in named:
        check(each)
        if acpc.write(each.definition) != acpc.write(rules.definition):
            raise GameError(f"strategies that are measured together play one game, not {rules.spec} and {each.spec}")
    field = measured_together(rules, [player for _, player in named], tell, device, value)
    per_chip, data = 1000.0 / max(rules.definition.blinds), []
    for k, best in enumerate(field.best):
        nash_conv = max(0.0, float(best.sum()))
        first = None if field.values is None else float(field.values[k, k])
        data.append({
            **({} if first is None else {"value": [first, -first]}), "best_response": best.tolist(),
            "nash_conv": nash_conv, "exploitability": nash_conv / 2, "exploitability_mbb": nash_conv / 2 * per_chip,
        })  # fmt: skip
    earnings = {} if field.earnings is None else {"earnings": field.earnings.tolist(), "mbb_per_chip": per_chip}
    return {"game": rules.spec, "whole": True, "strategies": data, **earnings}


def whole_player(strategy: Any, game: Any) -> tuple[Any, Any]:
    """(rules, player) of a strategy that is measured over all boards."""
    from kibitz.forms.profile import Profile
    from kibitz.games import game as make_game
    from kibitz.games.trusted import recalled
    from kibitz.play.always import PLAIN

    player: Any = str(strategy)
    if player in PLAIN:
        if game is None:
            raise GameError(f"{strategy} can play any poker game: name one, such as --game holdem.limit.2p")
        return make_game(game), player
    player = strategy_of(strategy, game)
    if isinstance(player, Profile):
        return make_game(game or recalled(player.game, "the profile", "the game, as --game GAME")), player
    return player.game, player


def evaluate_sampled(
    blueprint: Blueprint, seconds: float, local: int | None, why: str, progress: Message = _nobody, device: str = "cpu"
) -> dict[str, Any]:
    """The value of each player in self-play, and what a trained responder wins: a lower bound on exploitability.

    why: it is not measured exactly. device: that trains the responder.
    """
    from kibitz.evaluate.sampled import self_play
    from kibitz.play.agents import blueprint_agent
    from kibitz.play.lower_bound import lower_bound

    if device == "gpu":
        from kibitz.solvers.gpu import gpu

        gpu()  # refuses a GPU that is missing, before any work
    agent = blueprint_agent(blueprint, blueprint.machine, "blueprint")
    if local is not None:  # refused before any work
        from kibitz.poker.whole import local_response

        local_response.check(local, 0)
        local_response.LocalResponse(agent)
    progress(f"playing {SELF_PLAY:,} deals against itself")
    sample = self_play(blueprint.machine, agent, SELF_PLAY)
    progress(f"training a responder for {seconds:g} s")
    deals = MATCH_DEALS if blueprint.machine.compiled else 100
    bound = lower_bound(agent, seconds=seconds, deals=deals, device=device)
    near: dict[str, Any] = {}
    if local is not None:
        progress(f"local best response: {local:,} deals")
        response = local_response.local_bound(agent, deals=local, on_progress=lambda done, score: progress(
            f"local best response: {done:,} of {local:,} deals, wins {score.mean:.2f}"))  # fmt: skip
        near = {"local_best_response": response.data()}
    return {
        "game": blueprint.machine.spec, "sha256": blueprint.sha256, "sampled": True, "why": why,
        "deals": sample.deals, "value": [score.data() for score in sample.value],
        "exploitability_at_least": bound.least,
        "responder": {**bound.result.scores[0].data(), "abstraction": bound.abstraction,
                      "iterations": bound.iterations, "seconds": seconds},
        **near,
    }  # fmt: skip


def show(
    profile: Profile,
    player: int | None = None,
    infoset: str | None = None,
    filter: str | None = None,
    top: int | None = None,
    *,
    values: InfosetValues | None = None,
) -> dict[str, Any]:
    """A profile, or some of its infosets, as plain data: the probability of each action, infoset by infoset.

    player   only this player; infoset: only the one of exactly this name; filter: only those whose name contains it
    top      infosets per player; default: all
    values   reach and expected values, as `kibitz.infoset_values` computes them, are shown too
    """
    strategy = []
    for seat, numbers in chosen(profile, player, infoset, filter).items():
        for i in numbers[: top or None]:
            row: dict[str, Any] = {"seat": seat, "infoset": profile.infosets.labels[i], "actions": profile.at(i)}
            if values is not None:
                row |= {"reach": float(values.reach[i]), "values": action_values(profile, values, i)}
            strategy.append(row)
    meta = {key: value for key, value in profile.meta.items() if key != "game"}
    return {"game": profile.game, "seats": profile.seats, "sha256": profile.sha256, "meta": meta, "strategy": strategy}


def chosen(
    profile: Profile, player: int | None, infoset: str | None, filter: str | None
) -> Mapping[int, Sequence[int]]:
    """player -> numbers of the infosets that are asked for."""
    if player is not None and not 0 <= player < profile.seats:
        raise GameError(f"there is no player {player}: players are 0 to {profile.seats - 1}")
    infosets = profile.infosets
    seats = range(profile.seats) if player is None else [player]
    if infoset is not None:
        named = {s: [i] for s in seats if (i := infosets.number_of(s, infoset)) is not None}
        if not named:
            infosets.find(seats[0], infoset)  # raises, with the near ones
        return named
    start, labels = infosets.seat_start, infosets.labels
    if not filter:
        return {s: range(start[s], start[s + 1]) for s in seats}
    matches = {s: [i for i in range(start[s], start[s + 1]) if filter in labels[i]] for s in seats}
    if not any(matches.values()):
        raise GameError(f"no infoset's name contains {filter!r}; `kibitz show` without --filter lists them")
    return matches


def action_values(profile: Profile, values: InfosetValues, infoset: int) -> dict[Action, float | None]:
    """Expected value by action name; None where there is none."""
    first, last = profile.infosets.first[infoset : infoset + 2]
    numbers = values.values[first:last].tolist()
    return {action: None if x != x else x for action, x in zip(profile.at(infoset), numbers, strict=True)}


def export(source: Any, target: str | PathLike[str]) -> None:
    """Write a game as a Gambit .efg file, or a profile (or the path of one) as CSV or JSON; the ending of target says
    which.

    CSV has the columns seat, infoset, action, probability. Names that begin with = + - @ ' or a control character get a
    ' in front, so that spreadsheets do not read them as formulas.
    """
    from kibitz.core import store
    from kibitz.forms.profile import Profile
    from kibitz.games import game as make_game
    from kibitz.games.efg import write_efg

    ending = Path(target).suffix.lower()
    if ending == ".efg":
        write_efg(make_game(source), Path(target))
        return
    if ending not in (".csv", ".json"):
        raise ArtefactError(f"{target} should end in .efg for a game, and in .csv or .json for a profile")
    profile = source if isinstance(source, Profile) else Profile.load(source)
    store.write_text(Path(target), as_csv(profile) if ending == ".csv" else as_json(profile))


def as_csv(profile: Profile) -> str:
    """A profile as a table of seat, infoset, action, probability."""
    lines = ["seat,infoset,action,probability"]
    for seat in range(profile.seats):
        for label, row in profile.items(seat):
            lines += [f"{seat},{_field(cell(label))},{_field(cell(str(a)))},{p!r}" for a, p in row.items()]
    return "\n".join(lines) + "\n"


def as_json(profile: Profile) -> str:
    return json.dumps(show(profile), indent=1) + "\n"


def _field(text: str) -> str:
    """A field of CSV; Python's own writer leaves a carriage return bare."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def cell(text: str) -> str:
    """A name that spreadsheets do not run. One ' at the front, where there is one, is not of the name."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "'") or (text and ord(text[0]) < ord(" ")) else text
