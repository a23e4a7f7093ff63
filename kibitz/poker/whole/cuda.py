"""The betting of a round as CUDA source: straight-line code for each shape of betting, so that reaches stay in
registers.

A thread has two lanes of betting on one board and goes through all hands, as a core does in `kernels/boards.py`;
the threads of a warp have lanes side by side, so that they read strategies and reaches side by side and never wait for
one another. What it keeps of a board are sums by card, in shared memory, one for each *term*:

Stakes are in the sums. Before any hand is seen a sum holds folds less showdowns; a hand is added where hands that tie
with it are looked at, and once more behind them. At any hand the sum is then folds plus (weaker hands less stronger
ones), and the hand's own reach falls out of showdowns. Shared memory is short, so betting is cut into parts of few
terms (`plan.py`).

A warp waits for memory most of its time, as room for sums leaves few warps to a multiprocessor. So what several hands
need is asked for at once, and what the next hands are (`h`) a step earlier. On the last boards hands come in strips
(`poker/exact/kernels/packed.py`): sums of four cards stay in registers for all steps of a strip, and a step reads and
writes one more; two steps are worked on at a time. To ask for all that the next hands need a step earlier does not pay:
it takes more instructions than it saves waiting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kibitz.poker.whole.plan import EXIT, FOLD, ActionRows, Part, Shape, plan_of
from kibitz.poker.whole.templates import OPEN, PART, PRELUDE, RUNNING, STANDING, STEPS

WARP, WIDE = 32, 64  # threads, and lanes of a block
PAIRS = WIDE // 2  # threads of a block: each has two lanes
STEP = 4  # hands that are read at a time: those of a strength are filled up to a multiple of it
BLOCKS = 8  # on a multiprocessor at least: so few that the compiler may keep what many loads bring


@dataclass(frozen=True)
class CudaRound:
    """What the code of a round knows beforehand."""

    hands: int  # on a board
    above: int  # hands on the board before
    groups: int
    nodes: int  # of a group at most
    after: int  # groups of the next round
    cards: int  # that are not on a board
    two: bool  # cards of a hand
    strips: bool  # whether hands come in strips
    row: tuple[str, ...]  # by source of row numbers: the row of a hand, where PLACE stands for its place
    extra: int  # sources whose rows lie beside the hands
    real: str  # float or double

    @property
    def itemsize(self) -> int:
        return 4 if self.real == "float" else 8

    @property
    def card_bytes(self) -> int:
        return card_bytes(self.itemsize)

    def shared_bytes(self, part: Part) -> int:
        """Shared memory of a block. Behind the cards is room for hands that only fill up."""
        return max(1, len(part.terms)) * (self.cards + 1) * self.card_bytes


def card_bytes(itemsize: int) -> int:
    """Of shared memory, from the sums of a card to those of the next."""
    return 2 * WARP * itemsize


def filled(hands: int) -> int:
    """Hands with those that fill up."""
    return -(-hands // STEP) * STEP


class Writer:
    """Writes the code of one shape for one seat. `played`: the seat plays its strategy, else it answers at its best."""

    def __init__(self, shape: Shape, seat: int, played: bool, of: CudaRound, name: str) -> None:
        self.shape, self.seat, self.other, self.played, self.of, self.name = shape, seat, 1 - seat, played, of, name
        self.parts = plan_of(shape, seat)

    def source(self) -> str:
        """All kernels: `name`_open if betting goes on, and `name`_0, _1 and so on for the parts, in order."""
        return "".join(self._part(k, part) for k, part in enumerate(self.parts)) + self.opening()

    # Reaches

    def _reach(self, node: int) -> str:
        """The name of the other's reach at a node."""
        way = self.shape.way(node, self.other)
        return f"v{way[-1]}" if way else "r"

    def _rows(self, seat: int, led: list[int], at: str) -> Iterator[str]:
        """Where the rows of a hand begin, for all sources that nodes go by: actions side by side. at: its place."""
        rows, name = ("his_rows", "row") if seat == self.other else ("my_rows", "mine_row")
        for source, offset, width in sorted({(p.source, p.offset, p.width) for p in map(self._place, led)}):
            row = self.of.row[source].replace("PLACE", at)
            yield (f"const real* const {name}{source} = {rows} + {offset * WIDE}u + (unsigned long long){row} * "
                   f"{width * WIDE}u;")  # fmt: skip

    def _place(self, node: int) -> ActionRows:
        place = self.shape.place[node]
        assert place is not None
        return place

    def _reaches(self, nodes: list[int], at: str = "at + u") -> Iterator[str]:
        """Lines that work reaches out. Products go from the root on, as on a core. at: the place of the hand."""
        if not nodes:
            return
        yield "const vec r = fetch(root + (unsigned long long)h[u].y * WIDE);"
        led = sorted({each for end in nodes for each in self.shape.way(end, self.other)})
        yield from self._rows(self.other, led, at)
        for node in led:
            above, place = self._reach(self.shape.parent[node]), self._place(node)
            yield f"const vec v{node} = {above} * fetch(row{place.source} + {place.column} * WIDE);"

    def _ends(self, part: Part, folds: bool, shows: bool) -> list[int]:
        ends: list[int] = []
        for term in part.terms.values():
            ends += (*(term.folds if folds else ()), *(term.shows if shows else ()))
        return ends

    @property
    def _span(self) -> int:
        """Hands that are worked on at a time: two steps where they come in strips."""
        return 2 * STEP if self.of.strips else STEP

    @property
    def _at(self) -> str:
        """The place of a hand."""
        return f"((u < {STEP} ? at : second) + u % {STEP})" if self.of.strips else "(at + u)"

    def _read(self, lines: list[str], names: list[str]) -> str:
        """What is made of some hands, and read the next ones, which are there when they are asked for."""
        pieces = [f"unsigned int one[{self._span}];", *(f"vec {name}[{self._span}];" for name in names)]
        if self.of.strips:
            cards = ["one[u] = h[u].x & 65534u;"]
            pieces += [f"const bool fresh[2] = {{(h[0].x & 1u) != 0, (h[{STEP}].x & 1u) != 0}};",
                       f"const unsigned int column[2] = {{h[0].x >> 16, h[{STEP}].x >> 16}};"]  # fmt: skip
        else:
            cards = ["one[u] = h[u].x & 65535u;", "other[u] = h[u].x >> 16;"]
            pieces.append(f"unsigned int other[{STEP}];")
        return "\n".join([*pieces, self._each([*cards, *lines]), self._next()])

    def _next(self) -> str:
        """Reads the next hands."""
        place = self._at.replace("at", "next_at").replace("second", "next_second")
        return self._each([f"h[u] = hand[{place}];"])

    def _each(self, lines: list[str], name: str = "u", count: int | None = None) -> str:
        body = "".join(f"  {line}\n" for line in lines)
        return f'_Pragma("unroll")\nfor (int {name} = 0; {name} < {count or self._span}; {name}++) {{\n{body}}}'

    def _add(self, terms: list[int]) -> tuple[str, str, str]:
        """(before the first step, for each step: hands' weights to the sums of their cards, behind the last step)."""
        if not self.of.strips:
            return "", self._each(self._add_hand(terms)), ""
        store = [f"*(vec*)(sums + {k} * TERM + row_at[u]) = row_sum{k}[u];" for k in terms]
        load = [f"row_sum{k}[u] = *(const vec*)(sums + {k} * TERM + row_at[u]);" for k in terms]
        begin = [f"unsigned int row_at[{STEP}];", *(f"vec row_sum{k}[{STEP}];" for k in terms)]
        nobody = [f"row_at[u] = {self.of.cards * self.of.card_bytes}u;"]
        nobody += [f"row_sum{k}[u] = two(0, 0);" for k in terms]
        at = f"{STEP} * half"
        others = self._each([f"row_at[u] = one[{at} + u];"], count=STEP)
        step = ["if (fresh[half]) {", self._each(store, count=STEP), others, self._each(load, count=STEP), "}"]
        step += [f"vec* const at_column{k} = (vec*)(sums + {k} * TERM + column[half]);" for k in terms]
        step += [f"const vec column_sum{k} = *at_column{k};" for k in terms]
        step += [
            f"const vec added{k} = (w{k}[{at}] + w{k}[{at} + 1]) + (w{k}[{at} + 2] + w{k}[{at} + 3]);" for k in terms
        ]
        step += [f"*at_column{k} = column_sum{k} + added{k};" for k in terms]
        step += [f"all{k} = all{k} + added{k};" for k in terms]
        step.append(self._each([f"row_sum{k}[u] = row_sum{k}[u] + w{k}[{at} + u];" for k in terms], count=STEP))
        return ("\n".join([*begin, self._each(nobody, count=STEP)]), self._each(step, "half", 2),
                self._each(store, count=STEP))  # fmt: skip

    def _add_hand(self, terms: list[int]) -> list[str]:
        """A hand's weights to the sums of its cards. All are read before any is written: they never are the same, which
        the compiler cannot know."""
        places = [(k, side) for k in terms for side in (("one", "other") if self.of.two else ("one",))]
        return [
            *(f"vec* const {side}{k} = (vec*)(sums + {k} * TERM + {side}[u]);" for k, side in places),
            *(f"const vec {side}{k}_new = *{side}{k} + w{k}[u];" for k, side in places),
            *(f"*{side}{k} = {side}{k}_new;" for k, side in places),
            *(f"all{k} = all{k} + w{k}[u];" for k in terms),
        ]

    # A part

    def _part(self, number: int, part: Part) -> str:
        terms = list(part.terms.values())
        every, twins = [*range(len(terms))], self._twins(part)
        seen = [k for k in every if terms[k].shows]
        own = [k for k in every if k not in twins]  # whose sums are worked out by themselves
        load_first = [*self._reaches([end for k in own for end in (*terms[k].folds, *terms[k].shows)], self._at)]
        load_step = [*self._reaches(self._ends(part, False, True), self._at)]
        for k in own:
            folds, shows = (
                " + ".join(f"c{end} * {self._reach(end)}" for end in ends) for ends in (terms[k].folds, terms[k].shows)
            )
            load_first.append(f"w{k}[u] = {folds or 'two(0, 0)'} - ({shows or 'two(0, 0)'});")
            if terms[k].shows:
                load_step.append(f"w{k}[u] = {shows};")
        load_value, kept, value = self._value(part)
        begin_step, add_step, end_step = self._add(seen)
        begin_first, add_first, end_first = self._add(own)
        begin_value, values = "", self._each(value)
        if self.of.strips:
            begin_value = "\n".join(f"vec row_sum{k}[{STEP}];" for k in every)
            rows = [f"row_sum{k}[u] = *(const vec*)(sums + {k} * TERM + one[{STEP} * half + u]);" for k in every]
            columns = [f"const vec column_sum{k} = *(const vec*)(sums + {k} * TERM + column[half]);" for k in every]
            values = self._each(
                ["if (fresh[half]) {", self._each(rows, count=STEP), "}", *columns,
                 self._each([f"const int u = {STEP} * half + i;", *value], "i", STEP)], "half", 2,
            )  # fmt: skip
        fields = {
            "span": self._span,
            "begin_step": begin_step,
            "load_step": self._read(load_step, [f"w{k}" for k in seen]),
            "add_step": add_step,
            "end_step": end_step,
            "begin_value": begin_value,
            "load_value": self._read(load_value, kept),
            "value": values,
        }
        return PART.format(
            name=f"{self.name}_{number}", terms=len(terms), step=STEP, span=self._span, read=self._next(),
            prologue=self._prologue(part), card_bytes=self.of.card_bytes, blocks=BLOCKS, begin_first=begin_first,
            end_first="\n".join([end_first, *self._twin_sums(twins)]),
            load_first=self._read(load_first, [f"w{k}" for k in own]), add_first=add_first,
            body=(RUNNING if part.runs else STANDING).format(**fields),
        )  # fmt: skip

    def _twins(self, part: Part) -> dict[int, tuple[int, str]]:
        """Terms of a fold of the seat where it could also go to a showdown with the same reach of the other: (the term
        of the showdown, what its sums are multiplied by before any hand is seen)."""
        terms, twins = list(part.terms.values()), {}
        alone = {k: term.shows[0] for k, term in enumerate(terms) if len(term.shows) == 1 and not term.folds}
        shows = {self._reach(end): k for k, end in alone.items()}
        for k, term in enumerate(terms):
            if len(term.folds) == 1 and not term.shows and self._reach(term.folds[0]) in shows:
                other = shows[self._reach(term.folds[0])]
                fold, show = f"c{term.folds[0]}", f"c{terms[other].shows[0]}"
                twins[k] = other, f"two(-ratio({fold}.x, {show}.x), -ratio({fold}.y, {show}.y))"
        return twins

    def _twin_sums(self, twins: dict[int, tuple[int, str]]) -> Iterator[str]:
        for k, (other, factor) in twins.items():
            yield f"const vec factor{k} = {factor};"
            yield f"all{k} = factor{k} * all{other};"
            yield f"for (int i = 0; i < TERM; i += {self.of.card_bytes})"
            yield f"  *(vec*)(sums + {k} * TERM + i) = factor{k} * *(const vec*)(sums + {other} * TERM + i);"

    def _prologue(self, part: Part) -> str:
        ends = self._ends(part, True, True)
        lines = [f"const vec c{end} = load(stake + (g * NODES + {end}) * WIDE + lane);" for end in ends]
        lines += [f"vec all{k} = two(0, 0);" for k in range(len(part.terms))]
        for node in self._exits(part):
            for side in (0, 1):
                to, name = f"to{node}_{side}", f"from{node}_{side}"
                lines.append(f"const int {to} = exits[(g * NODES + {node}) * WIDE + lane + {side}];")
                place = f"((long long)board * AFTER + {to} / WIDE) * FILLED * WIDE + {to} % WIDE"
                lines.append(f"const real* const {name} = after + ({to} < 0 ? 0 : {place});")
        return "\n".join(f"  {line}" for line in lines)

    def _inside(self, part: Part, node: int) -> Iterator[int]:
        """The nodes of a part, from one down; roots of parts below are the last."""
        yield node
        if node not in part.reads:
            for child in self.shape.children[node]:
                yield from self._inside(part, child)

    def _exits(self, part: Part) -> list[int]:
        return [node for node in self._inside(part, part.root) if self.shape.turn[node] == EXIT]

    def _own(self, part: Part) -> list[int]:
        """Nodes of a part that actions of the seat lead to."""
        inside = [node for node in self._inside(part, part.root) if node != part.root]
        return [node for node in inside if self.shape.turn[self.shape.parent[node]] == self.seat]

    def _value(self, part: Part) -> tuple[list[str], list[str], list[str]]:
        """(what is read for the value of a hand, names of it that are kept, how the value is worked out)."""
        load: list[str] = []
        kept: list[str] = []
        if self.of.two:  # a hand's own reach was taken off with each of its cards
            load += self._reaches(self._ends(part, True, False), self._at)
            for k, term in enumerate(part.terms.values()):
                if term.folds:
                    kept.append(f"f{k}")
                    load.append(f"f{k}[u] = " + " + ".join(f"c{end} * {self._reach(end)}" for end in term.folds) + ";")
        for root, slot in part.reads.items():
            kept.append(f"s{root}")
            load.append(f"s{root}[u] = load(out + {slot} * slot + {self._at} * WIDE);")
        if self.played and self._own(part):
            load += self._rows(self.seat, self._own(part), self._at)
            for node in self._own(part):
                kept.append(f"m{node}")
                place = self._place(node)
                load.append(f"m{node}[u] = fetch(mine_row{place.source} + {place.column} * WIDE);")
        for node in self._exits(part):
            kept.append(f"x{node}")
            sides = (f"to{node}_{k} < 0 ? 0 : from{node}_{k}[{self._at} * WIDE]" for k in (0, 1))
            load.append(f"x{node}[u] = two({', '.join(sides)});")
        value = []
        for k, term in enumerate(part.terms.values()):
            worth = f"all{k} - *(vec*)(sums + {k} * TERM + one[u])"
            if self.of.strips:
                worth = f"all{k} - row_sum{k}[i] - column_sum{k}"
            elif self.of.two:
                worth += f" - *(vec*)(sums + {k} * TERM + other[u])"
            if self.of.two and term.folds:
                worth += f" + f{k}[u]"
            value.append(f"const vec t{k} = {worth};")
        value += self._tree(part, part.root)
        value.append(f"*(vec*)(out + {part.slot} * slot + {self._at} * WIDE) = n{part.root};")
        return load, kept, value

    def _tree(self, part: Part, node: int) -> Iterator[str]:
        """Lines that work out n<node>: what a node is worth."""
        terms, turn = list(part.terms), self.shape.turn
        if node in part.reads:
            yield f"const vec n{node} = s{node}[u];"
        elif turn[node] == EXIT:
            yield f"const vec n{node} = x{node}[u];"
        elif turn[node] >= FOLD:
            yield f"const vec n{node} = t{terms.index(node)};"
        else:
            below = self.shape.children[node]
            if turn[node] == self.other:
                below = [child for child in below if not FOLD <= turn[child] < EXIT]
            for child in below:
                yield from self._tree(part, child)
            if turn[node] == self.other:
                summed = [*([f"t{terms.index(node)}"] if node in part.terms else []), *(f"n{each}" for each in below)]
                yield f"const vec n{node} = {' + '.join(summed)};"
            elif self.played:
                yield f"const vec n{node} = {' + '.join(f'm{each}[u] * n{each}' for each in below)};"
            else:
                best = f"n{below[0]}"
                for each in below[1:]:
                    best = f"larger({best}, n{each})"
                yield f"const vec n{node} = {best};"

    # The way down

    def opening(self) -> str:
        """The kernel that writes reaches at exits to the roots of the next round; nothing if there is no exit."""
        exits = [node for node, turn in enumerate(self.shape.turn) if turn == EXIT]
        if not exits:
            return ""
        body = [*self._reaches(exits, "i")]
        for node in exits:
            for side, name in enumerate("xy"):
                body.append(f"{{ const int to = exits[(g * NODES + {node}) * WIDE + lane + {side}];")
                body.append("  if (to >= 0) there[(to / WIDE * (HANDS + 1) + i) * WIDE + to % WIDE] = "
                            f"{self._reach(node)}.{name}; }}")  # fmt: skip
        return OPEN.format(name=f"{self.name}_open", step=STEP, body="\n".join(f"  {line}" for line in body))


def prelude(of: CudaRound) -> str:
    span = 2 * STEP if of.strips else STEP
    return STEPS.format(step=STEP, span=span) + PRELUDE.format(
        real=of.real, hands=of.hands, filled=filled(of.hands), above=of.above, groups=of.groups, nodes=of.nodes,
        after=of.after, term=(of.cards + 1) * of.card_bytes, wide=WIDE, pairs=PAIRS, warp=WARP,
        extra=of.extra,
    )  # fmt: skip
