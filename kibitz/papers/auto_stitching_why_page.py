"""Tables and paragraphs on why automatic stitching lost to parts by hand, from the runs of `auto_stitching_why`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kibitz.papers import auto_stitching_rhode as rhode
from kibitz.papers import auto_stitching_why as why
from kibitz.report.figures import Sheet, Spread
from kibitz.stitch.auto.plan import FEW_PAIRED

Seeds = Sequence[Mapping[str, Mapping[str, Any]]]  # of each seed: change -> what came of it


def run_of(change: str) -> str:
    """The run that a row is read from. As it was: the first rounds of the search that had more."""
    return why.ROUNDS if change == why.WAS else change


def with_change(seeds: Seeds, change: str) -> list[Mapping[str, Any]]:
    """The searches with a change, of the seeds in which it was run."""
    return [seed[run_of(change)] for seed in seeds if run_of(change) in seed]


def loss_of(search: Mapping[str, Any], change: str) -> float:
    losses = search["losses"][: rhode.LINES] if change == why.WAS else [search["automatic"]]
    return float(losses[-1])


def better(searches: Sequence[Mapping[str, Any]], change: str) -> int:
    """Searches that are less exploitable than the experts by hand."""
    return sum(loss_of(search, change) < search["by_hand"] for search in searches)


def verdict(searches: Sequence[Mapping[str, Any]], change: str) -> str:
    """As the plan says: a cause if it decides all seeds, none if it decides none."""
    count = better(searches, change)
    if len(searches) < why.SEEDS:
        return "too few seeds"
    return "a cause" if count == len(searches) else "no cause" if not count else "undecided"


def spread(values: Iterable[float]) -> Spread:
    return Spread(tuple(float(x) for x in values))


def kept_by(search: Mapping[str, Any], change: str) -> list[str]:
    rounds = search["search"]["rounds"][: rhode.LINES if change == why.WAS else None]
    return [name for each in rounds for name in each["kept"]]


def change_sheet(seeds: Seeds) -> Sheet:
    rows = []
    for change in (why.WAS, *why.CHANGES):
        searches = with_change(seeds, change)
        if not searches:
            continue
        own, hand = spread(loss_of(each, change) for each in searches), spread(each["by_hand"] for each in searches)
        first = spread(len(each["in_plans"][0]) for each in searches)
        kept = spread(len(kept_by(each, change)) for each in searches)
        rows.append((
            change, why.ABOUT[change], own.text(3), hand.text(3), f"{better(searches, change)} of {len(searches)}",
            first.text(1), kept.text(1), "" if change == why.WAS else verdict(searches, change),
        ))  # fmt: skip
    return Sheet(
        "Why automatic stitching lost",
        ("change", "what is other than in version 1", "automatic", f"{why.AGAINST}, by hand", "less exploitable",
         "experts of its first plan", "experts kept", "verdict"), rows,
        "One change at a time, in chips; means ± standard deviations over the seeds. A change that makes automatic "
        "stitching less exploitable in all of them shows a cause, by the rule of the plan.",
    )  # fmt: skip


def expert_sheet(seeds: Seeds) -> Sheet:
    """Which experts there are, of the first seed: part and list of buckets."""
    seed = seeds[0]
    own = {change: kept_by(seed[run_of(change)], change) for change in (why.WAS, why.GROWTH)}
    rows = [
        (f"{why.AGAINST}, by hand", listed(seed[why.CHOICE]["experts"])),
        ("version 1 keeps", listed(own[why.WAS])), ("version 2 keeps", listed(own[why.GROWTH])),
    ]  # fmt: skip
    return Sheet("Experts by hand and those of the search", ("strategy", "experts"), rows,
                 "Of the first seed. Experts of a later round may replace part of an earlier one.")  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """cc in percentile(13); ... of the names of moves."""
    return "; ".join(part_of(name) + " in " + name.partition(" in ")[2].removesuffix(", S=N") for name in names)


def part_of(name: str) -> str:
    """cc of "static prefix(cc) in percentile(13), S=N"."""
    part = name.partition(" in ")[0].partition(" ")[2]
    return part.removeprefix("prefix(").removesuffix(")")


def notes(seeds: Seeds) -> tuple[str, ...]:
    """What the search made of the plan by hand, and what its programme had to choose from."""
    first = {
        change: [search["search"]["rounds"][0] for search in with_change(seeds, change)]
        for change in (why.CHOICE, why.ROUNDS, why.GROWTH)
    }
    by_hand, own, grown = (spread(x["predicted"] for x in plans) for plans in first.values())
    after = spread(x["achieved"] for x in first[why.CHOICE])
    both = [seed for seed in seeds if why.CHOICE in seed and why.ROUNDS in seed]
    knows = sum(
        seed[why.CHOICE]["search"]["rounds"][0]["predicted"] > seed[why.ROUNDS]["search"]["rounds"][0]["predicted"]
        for seed in both
    )
    parts = spread(
        len({part_of(name) for name, _ in search["best_pilots"][0][:FEW_PAIRED]})
        for search in with_change(seeds, why.ROUNDS)
    )
    return (
        f"Measured as a plan of the search, the experts by hand of {why.AGAINST} are predicted to gain "
        f"{by_hand.text(3)} chips and gain {after.text(3)}. The first plan of version 1 predicted {own.text(3)}, the "
        f"one of version 2 {grown.text(3)}. The search would have preferred the plan by hand to its own in {knows} of "
        f"{len(both)} seeds. In version 1 the integer programme chose among the {FEW_PAIRED} pilots that gained most "
        f"alone, which were for {parts.text(1)} different parts.",
    )  # fmt: skip


def sheets_of(seeds: Seeds) -> tuple[Sheet, ...]:
    return change_sheet(seeds), expert_sheet(seeds)
