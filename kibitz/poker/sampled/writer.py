"""Writes the CUDA source of public chance sampling: straight-line code for each shape of betting, so that reaches stay
in registers.

A row that is frozen acts as chance, as in `kernels.py`: nothing is added there, and what is learnt below it is weighed
by the seat's reach through frozen rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kibitz.poker.sampled import cuda
from kibitz.poker.sampled.cuda import DOWN, PARAMETERS, PART, RUNNING, STANDING, STEP, WAVE, WIDE, LearningRound
from kibitz.poker.whole.plan import EXIT, FOLD, ActionRows, Part, Shape, plan_of


@dataclass(frozen=True)
class LearningShape(Shape):
    """A shape with what is learnt at its nodes."""

    moves: tuple[bool, ...]  # whether rows may learn there
    gain: tuple[int, ...]  # where the gains of a deciding node begin, from the group's first, in WIDE


def learning_shapes(betting: Any, deciding: Any, rows: Sequence[int]) -> dict[LearningShape, list[int]]:
    """The shapes of a round (`Betting` and `Deciding` of `kernels.py`) and the groups that have each. rows: by source.

    Rows of a seat lie as `BettingBatch.places` says: node by node, in a row actions side by side.
    """
    shapes: dict[LearningShape, list[int]] = {}
    for group in range(len(betting.group_node) - 1):
        first, last = betting.group_node[group : group + 2].tolist()
        turn, parent = betting.turn[first:last].tolist(), betting.parent[first:last].tolist()
        place: list[ActionRows | None] = [None] * len(turn)
        gain, offset, kept = [0] * len(turn), [0, 0], [0, 0]
        for node, seat in enumerate(turn):
            if seat > 1:
                continue
            count = int(deciding.count[first + node])
            below = deciding.child[first + node, :count].tolist()
            source = int(betting.source[seat, first + below[0]])
            for action, child in enumerate(below):
                place[child] = ActionRows(source, offset[seat], count, action)
            gain[node] = offset[seat] + kept[seat]
            offset[seat] += rows[source] * count
            kept[seat] += rows[source]
        moves = tuple(bool(each) and seat < 2 for each, seat in zip(deciding.moves[first:last], turn, strict=True))
        shape = LearningShape(tuple(turn), (-1, *parent[1:]), tuple(place), moves, tuple(gain))
        shapes.setdefault(shape, []).append(group)
    return shapes


def waves_of(parts: list[Part]) -> list[list[int]]:
    """The parts that run at the same time, those first that read nothing. Each is given a slot of its own, so that none
    writes where another reads; that of the root is slot 0."""
    wave: dict[int, int] = {}
    slot = {part.root: 0 if k + 1 == len(parts) else k + 1 for k, part in enumerate(parts)}
    for part in parts:
        wave[part.root] = 1 + max((wave[root] for root in part.reads), default=-1)
        part.slot, part.reads = slot[part.root], {root: slot[root] for root in part.reads}
    waves: list[list[int]] = [[] for _ in range(1 + max(wave.values()))]
    for k, part in enumerate(parts):
        waves[wave[part.root]].append(k)
    return waves


class LearningWriter:
    """Writes the code of one shape for the seat that learns. frozen: whether rows of the game are."""

    def __init__(self, shape: LearningShape, seat: int, of: LearningRound, name: str, frozen: bool) -> None:
        self.shape, self.seat, self.other, self.of, self.name, self.frozen = shape, seat, 1 - seat, of, name, frozen
        self.parts = plan_of(shape, seat)
        self.waves = waves_of(self.parts)

    @property
    def slots(self) -> int:
        """Where parts write, each to its own."""
        return len(self.parts)

    def shared_bytes(self, wave: int) -> int:
        return max(self.of.shared_bytes(self.parts[k]) for k in self.waves[wave])

    def source(self) -> str:
        """The kernels `name`_open, if betting goes on, and `name`_wave0, _wave1 and so on, in order."""
        names = ", ".join(re.findall(r"(\w+)[,)]", PARAMETERS))
        pieces = [self._part(k, part) for k, part in enumerate(self.parts)]
        for number, wave in enumerate(self.waves):
            calls = (f"  if (blockIdx.z == {z}) {self.name}_{k}({names});" for z, k in enumerate(wave))
            pieces.append(WAVE.format(name=f"{self.name}_wave{number}", blocks=cuda.BLOCKS, parameters=PARAMETERS,
                                      calls="\n".join(calls)))  # fmt: skip
        return "".join(pieces) + self.opening()

    # Reaches: of the other; of the seat, through rows that learn and through those that are frozen

    def _place(self, node: int) -> ActionRows:
        place = self.shape.place[node]
        assert place is not None
        return place

    def _rows(self, led: list[int], at: str) -> Iterator[str]:
        """Where the rows of a hand begin, at all nodes from which actions lead to some. at: the hand's place."""
        for node in led:
            above, place = self.shape.parent[node], self._place(node)
            seat, row = "my" if self.shape.turn[above] == self.seat else "his", self.of.row(place.source, at)
            yield (f"const real* const row{above} = {seat}_rows + {place.offset * WIDE}u + (unsigned long long){row} * "
                   f"{place.width * WIDE}u;")  # fmt: skip

    def _probability(self, node: int) -> str:
        """Of the action that leads to a node."""
        return f"load(row{self.shape.parent[node]} + {self._place(node).column} * WIDE)"

    def _led(self, node: int, kind: str) -> list[int]:
        """The nodes on the way to a node that actions led to: of the other (v); of the seat, in rows that learn (o) or
        that are frozen (q)."""
        if kind == "v":
            return self.shape.way(node, self.other)
        way, moves = self.shape.way(node, self.seat), self.shape.moves
        return [each for each in way if moves[self.shape.parent[each]] == (kind == "o")]

    def _reach(self, node: int, kind: str = "v") -> str:
        """The name of a reach at a node."""
        led = self._led(node, kind)
        return f"{kind}{led[-1] if led else 0}"

    def _reaches(self, nodes: list[int], kinds: str = "v", at: str = "at + u") -> Iterator[str]:
        """Lines that work reaches out. Products go from the root on, as on a core. at: the place of the hand."""
        if not nodes:
            return
        for kind in kinds:
            root = {"v": "root", "o": "own_root", "q": "fixed_root"}[kind]
            yield f"const vec {kind}0 = load({root} + (unsigned long long)h[u].y * WIDE);"
            led = sorted({each for node in nodes for each in self._led(node, kind)})
            yield from self._rows(led, at)
            for node in led:
                yield (f"const vec {kind}{node} = {self._reach(self.shape.parent[node], kind)} * "
                       f"{self._probability(node)};")  # fmt: skip

    @property
    def _own(self) -> str:
        return "oq" if self.frozen else "o"

    # Pieces of code

    def _read(self, lines: list[str], names: list[str], indent: str = "    ") -> str:
        """What is made of some hands, and read the next ones, which are there when they are asked for. names: of what
        is made, vectors unless a type goes before."""
        cards = ["one[u] = h[u].x & 65535u;", "other[u] = h[u].x >> 16;"]
        pieces = [f"{indent}unsigned int one[{STEP}], other[{STEP}];"]
        pieces += [f"{indent}{name if ' ' in name else f'vec {name}'}[{STEP}];" for name in names]
        pieces += [self._each([*cards, *lines], indent), self._each(["h[u] = hand[next_at + u];"], indent)]
        return "\n".join(pieces)

    def _each(self, lines: list[str], indent: str = "    ") -> str:
        """For all hands of a step. Constants that are asked for twice are defined once."""
        once = [line for k, line in enumerate(lines) if not (line.startswith("const ") and line in lines[:k])]
        body = "".join(f"{indent}  {line}\n" for line in once)
        return f'{indent}_Pragma("unroll")\n{indent}for (int u = 0; u < {STEP}; u++) {{\n{body}{indent}}}'

    def _add(self, terms: list[int]) -> list[str]:
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

    def _ends(self, part: Part, folds: bool, shows: bool) -> list[int]:
        ends: list[int] = []
        for term in part.terms.values():
            ends += (*(term.folds if folds else ()), *(term.shows if shows else ()))
        return ends

    def _weighed(self, ends: Sequence[int]) -> str:
        return " + ".join(f"c{end} * {self._reach(end)}" for end in ends)

    def _part(self, number: int, part: Part) -> str:
        terms = list(part.terms.values())
        seen = [k for k, term in enumerate(terms) if term.shows]
        load_first = [*self._reaches(self._ends(part, True, True))]
        load_step = [*self._reaches(self._ends(part, False, True))]
        for k, term in enumerate(terms):
            folds, shows = self._weighed(term.folds), self._weighed(term.shows)
            load_first.append(f"w{k}[u] = {folds or 'two(0, 0)'} - ({shows or 'two(0, 0)'});")
            if term.shows:
                load_step.append(f"w{k}[u] = {shows};")
        load_value, kept, value = self._value(part)
        deep = " " * 6
        fields = {
            "step": STEP,
            "load_step": self._read(load_step, [f"w{k}" for k in seen], deep),
            "add_step": self._each(self._add(seen), deep),
            "load_value": self._read(load_value, kept, deep),
            "value": self._each(value, deep),
        }
        return PART.format(
            name=f"{self.name}_{number}", parameters=PARAMETERS, terms=len(terms), step=STEP,
            prologue=self._prologue(part), card_bytes=self.of.card_bytes,
            load_first=self._read(load_first, [f"w{k}" for k in range(len(terms))]),
            add_first=self._each(self._add([*range(len(terms))])),
            body=(RUNNING if part.runs else STANDING).format(**fields),
        )  # fmt: skip

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

    def _deciding(self, part: Part) -> list[int]:
        """The nodes of a part where the seat decides."""
        inside = (node for node in self._inside(part, part.root) if node not in part.reads)
        return [node for node in inside if self.shape.turn[node] == self.seat]

    def _value(self, part: Part) -> tuple[list[str], list[str], list[str]]:
        """(what is read for the value of a hand, names of it that are kept, how the value is worked out)."""
        load: list[str] = []
        kept: list[str] = []
        if self.of.two:  # a hand's own reach was taken off with each of its cards
            load += self._reaches(self._ends(part, True, False))
            for k, term in enumerate(part.terms.values()):
                if term.folds:
                    kept.append(f"f{k}")
                    load.append(f"f{k}[u] = {self._weighed(term.folds)};")
        for root, slot in part.reads.items():
            kept.append(f"s{root}")
            load.append(f"s{root}[u] = load(out + {slot} * slot + (at + u) * WIDE);")
        led = [child for node in self._deciding(part) for child in self.shape.children[node]]
        load += self._rows(led, "at + u")
        for node in led:
            kept.append(f"m{node}")
            load.append(f"m{node}[u] = {self._probability(node)};")
        for node in self._exits(part):
            kept.append(f"x{node}")
            sides = (f"to{node}_{k} < 0 ? 0 : from{node}_{k}[(at + u) * WIDE]" for k in (0, 1))
            load.append(f"x{node}[u] = two({', '.join(sides)});")
        value = []
        for k, term in enumerate(part.terms.values()):
            worth = f"all{k} - *(vec*)(sums + {k} * TERM + one[u])"
            if self.of.two:
                worth += f" - *(vec*)(sums + {k} * TERM + other[u])" + (f" + f{k}[u]" if term.folds else "")
            value.append(f"const vec t{k} = {worth};")
        value += self._tree(part, part.root)
        value.append(f"if (live) *(vec*)(out + {part.slot} * slot + (at + u) * WIDE) = n{part.root};")
        self._learn(part, load, kept, value)
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
            else:
                yield f"const vec n{node} = {' + '.join(f'm{each}[u] * n{each}' for each in below)};"

    # What is learnt

    def _source(self, node: int) -> int:
        return self._place(self.shape.children[node][0]).source

    def _learn(self, part: Part, load: list[str], kept: list[str], value: list[str]) -> None:
        """Add what it takes to tell the rows of a part's nodes what they gain."""
        learning = [node for node in self._deciding(part) if self.shape.moves[node]]
        if not learning:
            return
        load += self._reaches(learning, self._own)
        load.append("held[u] = h[u].y != ABOVE;")  # and does not only fill up
        kept.append("bool held")
        for source in sorted({self._source(node) for node in learning}):
            kept.append(f"unsigned int number{source}")
            load.append(f"number{source}[u] = {self.of.row(source, 'at + u')};")
        for node in learning:
            for kind in self._own:
                kept.append(f"{kind}_at{node}")
                load.append(f"{kind}_at{node}[u] = {self._reach(node, kind)};")
        value.append("if (learns && held[u]) {")
        for node in learning:
            value += self._gain(node)
        value.append("}")

    def _gain(self, node: int) -> Iterator[str]:
        below = self.shape.children[node]
        yield (f"real* const gain{node} = gained + {self.shape.gain[node] * WIDE}u + "
               f"(unsigned long long)number{self._source(node)}[u] * {(len(below) + 1) * WIDE}u;")  # fmt: skip
        yield f"const vec times{node} = weight{f' * q_at{node}[u]' if self.frozen else ''};"
        for child in below:
            yield f"add_to(gain{node} + {self._place(child).column} * WIDE, times{node} * (n{child} - n{node}));"
        yield f"add_to(gain{node} + {len(below)} * WIDE, weight * o_at{node}[u]);"

    # The way down

    def opening(self) -> str:
        """The kernel that writes reaches at exits to the roots of the next round; nothing if there is no exit."""
        exits = [node for node, turn in enumerate(self.shape.turn) if turn == EXIT]
        if not exits:
            return ""
        arrays = {"v": "onto", "o": "own_onto", "q": "fixed_onto"}
        body = [*dict.fromkeys(self._reaches(exits, f"v{self._own}", "i"))]
        for node in exits:
            for side, name in enumerate("xy"):
                body.append(f"{{ const int to = exits[(g * NODES + {node}) * WIDE + lane + {side}];")
                body.append("  const long long place = there + (to / WIDE * (HANDS + 1) + i) * WIDE + to % WIDE;")
                for kind in f"v{self._own}":
                    body.append(f"  if (to >= 0) {arrays[kind]}[place] = {self._reach(node, kind)}.{name};")
                body.append("}")
        return DOWN.format(name=f"{self.name}_open", body="\n".join(f"  {line}" for line in body))
