"""Tables and paragraphs on why automatic stitching lost to parts by hand, from the runs of `auto_stitching_why`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kibitz.papers import auto_stitching_rhode as rhode
from kibitz.papers import auto_stitching_why as why
from kibitz.report.figures import Sheet, Spread
from kibitz.stitch.auto.plan import FEW_PAIRED

Seeds = Sequence[Mapping[str, Mapping[str, Any]]]  # of each seed: change -> what came of it


def outcome(seed: Mapping[str, Mapping[str, Any]], change: str) -> tuple[Mapping[str, Any], float]:
    """(the search with a change, its exploitability). As it was: the first rounds of the search that had more."""
    if change != why.WAS:
        return seed[change], float(seed[change]["automatic"])
    longer = seed[why.ROUNDS]
    return longer, float(longer["losses"][: rhode.LINES][-1])


def better(seeds: Seeds, change: str) -> int:
    """Seeds in which a search is less exploitable than the experts by hand."""
    return sum(outcome(seed, change)[1] < seed[change if change != why.WAS else why.ROUNDS]["by_hand"]
               for seed in seeds)  # fmt: skip


def verdict(seeds: Seeds, change: str) -> str:
    """As the plan says: a cause if it decides all seeds, none if it decides none."""
    count = better(seeds, change)
    return "a cause" if count == len(seeds) else "no cause" if not count else "undecided"


def kept_by(search: Mapping[str, Any], change: str) -> list[str]:
    rounds = search["search"]["rounds"][: rhode.LINES if change == why.WAS else None]
    return [name for each in rounds for name in each["kept"]]


def change_sheet(seeds: Seeds) -> Sheet:
    rows = []
    for change in (why.WAS, *why.CHANGES):
        every = [outcome(seed, change) for seed in seeds]
        first = Spread(tuple(float(len(search["in_plans"][0])) for search, _ in every))
        kept = Spread(tuple(float(len(kept_by(search, change))) for search, _ in every))
        hand = Spread(tuple(float(search["by_hand"]) for search, _ in every))
        rows.append((
            change, why.ABOUT[change], Spread(tuple(loss for _, loss in every)).text(3), hand.text(3),
            f"{better(seeds, change)} of {len(seeds)}", first.text(1), kept.text(1),
            "" if change == why.WAS else verdict(seeds, change),
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
    own = {change: kept_by(outcome(seed, change)[0], change) for change in (why.WAS, why.GROWTH)}
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
    by_hand = Spread(tuple(seed[why.CHOICE]["search"]["rounds"][0]["predicted"] for seed in seeds))
    after = Spread(tuple(seed[why.CHOICE]["search"]["rounds"][0]["achieved"] for seed in seeds))
    own = Spread(tuple(seed[why.ROUNDS]["search"]["rounds"][0]["predicted"] for seed in seeds))
    grown = Spread(tuple(seed[why.GROWTH]["search"]["rounds"][0]["predicted"] for seed in seeds))
    knows = sum(a > b for a, b in zip(by_hand.values, own.values, strict=True))
    parts = Spread(tuple(
        float(len({part_of(name) for name, _ in seed[why.ROUNDS]["best_pilots"][0][:FEW_PAIRED]})) for seed in seeds
    ))  # fmt: skip
    return (
        f"Measured as a plan of the search, the experts by hand of {why.AGAINST} are predicted to gain "
        f"{by_hand.text(3)} chips and gain {after.text(3)}. The first plan of version 1 predicted {own.text(3)}, the "
        f"one of version 2 {grown.text(3)}. The search would have preferred the plan by hand to its own in {knows} of "
        f"{len(seeds)} seeds. In version 1 the integer programme chose among the {FEW_PAIRED} pilots that gained most "
        f"alone, which were for {parts.text(1)} different parts.",
    )  # fmt: skip


def sheets_of(seeds: Seeds) -> tuple[Sheet, ...]:
    return change_sheet(seeds), expert_sheet(seeds)
