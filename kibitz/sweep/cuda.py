"""The betting of a round as CUDA source: straight-line code for each shape of betting, so that reaches stay in
registers.

A thread has one lane of betting on one board and goes through all hands, as a core does in `kernels/poker/sweep.py`;
the threads of a warp are lanes side by side, so that they read strategies and reaches side by side and never wait for
one another. What it keeps of a board are sums by card, in shared memory, one for each *term*:

A term is what the ends below one node are worth together: all those below a node of the other, as their values are
added, or one below a node of the seat. Stakes are in the sums. Before any hand is seen a sum holds folds less
showdowns; a hand is added where hands that tie with it are looked at, and once more behind them. At any hand the sum is
then folds plus (weaker hands less stronger ones), and the hand's own reach falls out of showdowns.

Shared memory is short, so betting is cut into *parts* of few terms. A part writes what its root is worth to device
memory, where the part above it reads it (`slot`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

WARP, WIDE = 32, 16  # threads, and lanes of a group: two groups to a warp
MOST_TERMS = 4  # of a part: 6 KB of shared memory each, on a river of hold'em
STEP = 4  # hands that are read at a time
FOLD, SHOWDOWN, EXIT = 2, 3, 4  # as in kernels/poker/passes.py

# What a hand is, in words of 32 bits: two live cards and the hand on the board before; then its rows.
CARD_BITS, UP_AT = 6, 12


@dataclass(frozen=True)
class Shape:
    """What groups of a round have in common: by node, in preorder, who acts or how betting ends, and the node above."""

    turn: tuple[int, ...]
    parent: tuple[int, ...]

    @cached_property
    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.turn]
        for node, above in enumerate(self.parent):
            if node:
                found[above].append(node)
        return found

    def way(self, node: int, seat: int) -> list[int]:
        """The nodes that actions of a seat led to, on the way to a node."""
        found: list[int] = []
        while node:
            if self.turn[self.parent[node]] == seat:
                found.append(node)
            node = self.parent[node]
        return found[::-1]


def shapes_of(betting: Any) -> dict[Shape, list[int]]:
    """The shapes of a round (`Betting` of kernels/poker/sweep.py) and the groups that have each."""
    found: dict[Shape, list[int]] = {}
    for group in range(len(betting.group_node) - 1):
        nodes = slice(*betting.group_node[group : group + 2].tolist())
        shape = Shape(tuple(betting.turn[nodes].tolist()), (-1, *betting.parent[nodes][1:].tolist()))
        found.setdefault(shape, []).append(group)
    return found


@dataclass(frozen=True)
class Term:
    """Ends that are worth something together."""

    folds: tuple[int, ...]
    shows: tuple[int, ...]


@dataclass
class Part:
    """A piece of betting, from its root down to ends, exits and the roots of other parts."""

    root: int
    terms: dict[int, Term]  # by node: that of the ends below a node of the other, or of an end below one of the seat
    reads: dict[int, int]  # roots of the parts below, and where they are
    slot: int = 0  # where it writes

    @property
    def runs(self) -> bool:
        """Whether hands are seen one after another."""
        return any(term.shows for term in self.terms.values())


def plan_of(shape: Shape, seat: int, most: int | None = None) -> list[Part]:
    """Betting cut into parts, those below before those above."""
    most = most or MOST_TERMS
    parts: list[Part] = []

    def visit(node: int) -> Part:
        here = Part(node, {}, {})
        if shape.turn[node] >= FOLD:
            if shape.turn[node] < EXIT:
                here.terms[node] = _term(shape, [node])
            return here
        below = shape.children[node]
        if shape.turn[node] != seat:
            ends = [child for child in below if FOLD <= shape.turn[child] < EXIT]
            if ends:
                here.terms[node] = _term(shape, ends)
            below = [child for child in below if child not in ends]
        under = [visit(child) for child in below]
        for each in sorted(under, key=lambda part: len(part.terms)):
            if each.terms and len(here.terms) + len(each.terms) > most:
                parts.append(each)
                here.reads[each.root] = -1
            else:
                here.terms |= each.terms
                here.reads |= each.reads
        return here

    parts.append(visit(0))
    return _placed(_sorted(parts))


def _term(shape: Shape, ends: list[int]) -> Term:
    return Term(
        tuple(end for end in ends if shape.turn[end] == FOLD), tuple(end for end in ends if shape.turn[end] == SHOWDOWN)
    )


def _sorted(parts: list[Part]) -> list[Part]:
    """In depth, so that few slots are in use at a time."""
    by_root, found = {part.root: part for part in parts}, []

    def visit(part: Part) -> None:
        for root in part.reads:
            visit(by_root[root])
        found.append(part)

    visit(by_root[0])
    return found


def _placed(parts: list[Part]) -> list[Part]:
    """Slots: a part writes where it has read, as each thread reads a place before it writes there."""
    free: list[int] = []
    slot: dict[int, int] = {}
    used = 0
    for part in parts:
        part.reads = {root: slot[root] for root in part.reads}
        free = sorted({*free, *part.reads.values()})
        if not free:
            free, used = [used], used + 1
        part.slot = slot[part.root] = free.pop(0)
    last = parts[-1].slot  # the root of all is looked for in slot 0
    names = {last: 0, 0: last}
    for part in parts:
        part.slot = names.get(part.slot, part.slot)
        part.reads = {root: names.get(at, at) for root, at in part.reads.items()}
    return parts


@dataclass(frozen=True)
class Round:
    """What the code of a round knows beforehand."""

    hands: int  # on a board
    above: int  # hands on the board before
    groups: int
    nodes: int  # of a group at most
    after: int  # groups of the next round
    cards: int  # that are not on a board
    two: bool  # cards of a hand
    words: int  # of a hand: 2, or 4
    row: tuple[str, str]  # by seat: the row of a hand
    real: str  # float or double


PRELUDE = """
typedef {real} real;
typedef {word} word;
#define HANDS {hands}
#define ABOVE {above}
#define GROUPS {groups}
#define NODES {nodes}
#define AFTER {after}
#define CARDS {cards}
#define WIDE {wide}
#define WARP {warp}
"""

PART = """
extern "C" __global__ void __launch_bounds__(WARP) {name}(
    const word* __restrict__ hands, const unsigned short* __restrict__ ends, const int* __restrict__ board_above,
    const real* __restrict__ roots, const real* __restrict__ his, const real* __restrict__ mine,
    const long long* __restrict__ his_begin, const long long* __restrict__ my_begin, const real* __restrict__ stake,
    const int* __restrict__ groups, const int count, const int first, real* slots, const long long slot,
    const double* __restrict__ after, const int* __restrict__ exits, const unsigned short* __restrict__ names,
    const int* __restrict__ name_at) {{
  extern __shared__ real room[];
  const int x = threadIdx.x, lane = x % WIDE, number = blockIdx.y * (WARP / WIDE) + x / WIDE;
  const bool live = number < count;
  const int g = groups[live ? number : count - 1], board = first + blockIdx.x;
  const word* hand = hands + (long long)board * HANDS;
  const real* root = roots + ((long long)board_above[board] * GROUPS + g) * ABOVE * WIDE + lane;
  real* const out = slots + (((long long)blockIdx.x * GROUPS + g) * HANDS) * WIDE + lane;
{prologue}
  real* const sums = room + x;
  for (int i = 0; i < {terms} * CARDS; i++) sums[i * WARP] = 0;
  for (int at = 0; at < HANDS; at += {step}) {{
{load_first}
{add_first}
  }}
{body}
}}
"""

RUNNING = """
  int low = 0, next = ends[(long long)board * HANDS];
  for (int tie = 1; low < HANDS; tie++) {{
    const int high = next;
    next = ends[(long long)board * HANDS + (tie < HANDS ? tie : HANDS - 1)];
    for (int at = low; at < high; at += {step}) {{
{load_step}
{add_step}
    }}
    for (int at = low; at < high; at += {step}) {{
{load_value}
{value}
    }}
    for (int at = low; at < high; at += {step}) {{
{load_step}
{add_step}
    }}
    low = high;
  }}
"""

STANDING = """
  const int high = HANDS;
  for (int at = 0; at < high; at += {step}) {{
{load_value}
{value}
  }}
"""

OPEN = """
extern "C" __global__ void {name}(
    const word* __restrict__ hands, const int* __restrict__ board_above, const real* __restrict__ roots,
    const real* __restrict__ his, const long long* __restrict__ his_begin, const int* __restrict__ groups,
    const int* __restrict__ exits, real* onto) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE;
  const int g = groups[blockIdx.y], board = blockIdx.z;
  if (i >= HANDS) return;
  const real* root = roots + ((long long)board_above[board] * GROUPS + g) * ABOVE * WIDE + lane;
{prologue}
  const word h = hands[(long long)board * HANDS + i];
{body}
}}
"""

GATHER = """
extern "C" __global__ void gather(
    const unsigned short* __restrict__ where, const int* __restrict__ below, const double* __restrict__ copies,
    const real* __restrict__ values, const int first, const int first_above, double* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE;
  const int g = blockIdx.y, board = first_above + blockIdx.z;
  if (i >= ABOVE) return;
  double total = 0;
  for (int b = below[board]; b < below[board + 1]; b++) {
    const unsigned int place = where[(long long)b * ABOVE + i];
    if (place == 65535u) continue;
    total += copies[b] * (double)values[(((long long)(b - first) * GROUPS + g) * HANDS + place) * WIDE + lane];
  }
  out[(((long long)board * GROUPS + g) * ABOVE + i) * WIDE + lane] = total;
}
"""


class Writer:
    """Writes the code of one shape for one seat. `played`: the seat plays its strategy, else it answers at its best."""

    def __init__(self, shape: Shape, seat: int, played: bool, of: Round, name: str) -> None:
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

    def _reaches(self, nodes: list[int]) -> Iterator[str]:
        """Lines that work reaches out. Products go from the root on, as on a core."""
        if not nodes:
            return
        of = self.of
        yield f"const long long row = (long long)({of.row[self.other]}) * WIDE;"
        yield f"const real r = root[(long long)((h.x >> {UP_AT}) & 65535u) * WIDE];"
        for node in sorted({each for end in nodes for each in self.shape.way(end, self.other)}):
            yield f"const real v{node} = {self._reach(self.shape.parent[node])} * p{node}[row];"

    def _ends(self, part: Part, folds: bool, shows: bool) -> list[int]:
        return [end for term in part.terms.values() for end in (term.folds if folds else ()) + (term.shows if shows else ())]

    def _read(self, lines: list[str], made: list[str], indent: str = "    ") -> str:
        """Read some hands, the last one again where there are no more, and keep what is made of each."""
        declared = "".join(f"{indent}real {name}[{STEP}];\n" for name in made)
        body = "".join(f"{indent}  {line}\n" for line in lines)
        cards = f"{indent}  one[u] = (h.x & 63u) * WARP;\n{indent}  other[u] = ((h.x >> {CARD_BITS}) & 63u) * WARP;\n"
        return (
            f"{indent}int one[{STEP}], other[{STEP}];\n{declared}"
            f"{indent}_Pragma(\"unroll\")\n{indent}for (int u = 0; u < {STEP}; u++) {{\n"
            f"{indent}  const bool is = at + u < high;\n{indent}  const int i = is ? at + u : high - 1;\n"
            f"{indent}  const word h = hand[i];\n{cards}{body}{indent}}}"
        )

    def _each(self, lines: list[str], indent: str = "    ") -> str:
        body = "".join(f"{indent}  {line}\n" for line in lines)
        return f"{indent}_Pragma(\"unroll\")\n{indent}for (int u = 0; u < {STEP}; u++) {{\n{body}{indent}}}"

    def _add(self, k: int, weight: str) -> list[str]:
        base = f"sums + {k} * CARDS * WARP"
        lines = [f"({base})[one[u]] += {weight}[u];", f"all{k} += {weight}[u];"]
        if self.of.two:
            lines.insert(1, f"({base})[other[u]] += {weight}[u];")
        return lines

    # A part

    def _part(self, number: int, part: Part) -> str:
        terms = list(part.terms.values())
        first = [f"w{k}" for k in range(len(terms))]
        seen = [f"w{k}" for k, term in enumerate(terms) if term.shows]
        load_first = [*self._reaches(self._ends(part, True, True))]
        load_step = [*self._reaches(self._ends(part, False, True))]
        for k, term in enumerate(terms):
            worth = " ".join([*(f"+ c{end} * {self._reach(end)}" for end in term.folds),
                              *(f"- c{end} * {self._reach(end)}" for end in term.shows)])  # fmt: skip
            load_first.append(f"w{k}[u] = is ? {worth} : (real)0;")
            if term.shows:
                worth = " + ".join(f"c{end} * {self._reach(end)}" for end in term.shows)
                load_step.append(f"w{k}[u] = is ? {worth} : (real)0;")
        load_value, kept, value = self._value(part)
        fields = {
            "step": STEP,
            "load_step": self._read(load_step, seen, "      "),
            "add_step": self._each([line for name in seen for line in self._add(int(name[1:]), name)], "      "),
            "load_value": self._read(load_value, kept, "      "),
            "value": self._each(value, "      "),
        }
        return PART.format(
            name=f"{self.name}_{number}", terms=len(terms), step=STEP, prologue=self._prologue(part),
            load_first="    const int high = HANDS;\n" + self._read(load_first, first),
            add_first=self._each([line for k in range(len(terms)) for line in self._add(k, f"w{k}")]),
            body=(RUNNING if part.runs else STANDING).format(**fields),
        )  # fmt: skip

    def _prologue(self, part: Part) -> str:
        ends = self._ends(part, True, True)
        lines = [f"const real c{end} = stake[(g * NODES + {end}) * WIDE + lane];" for end in ends]
        for node in sorted({each for end in ends for each in self.shape.way(end, self.other)}):
            lines.append(f"const real* const p{node} = his + his_begin[g * NODES + {node}] * WIDE + lane;")
        if self.played:
            for node in self._own(part):
                lines.append(f"const real* const o{node} = mine + my_begin[g * NODES + {node}] * WIDE + lane;")
        lines += [f"real all{k} = 0;" for k in range(len(part.terms))]
        return "\n".join(f"  {line}" for line in lines)

    def _inside(self, part: Part, node: int) -> Iterator[int]:
        """The nodes of a part, from one down; roots of parts below are the last."""
        yield node
        if node == part.root or node not in part.reads:
            for child in self.shape.children[node]:
                yield from self._inside(part, child)

    def _own(self, part: Part) -> list[int]:
        """Nodes of a part that actions of the seat lead to."""
        return [
            node for node in self._inside(part, part.root)
            if node != part.root and self.shape.turn[self.shape.parent[node]] == self.seat
        ]  # fmt: skip

    def _value(self, part: Part) -> tuple[list[str], list[str], list[str]]:
        """(what is read for the value of a hand, names of it that are kept, how the value is worked out)."""
        load: list[str] = []
        kept: list[str] = []
        if self.of.two:  # a hand's own reach was taken off with each of its cards
            load += self._reaches(self._ends(part, True, False))
            for k, term in enumerate(part.terms.values()):
                if term.folds:
                    kept.append(f"f{k}")
                    load.append(f"f{k}[u] = " + " + ".join(f"c{end} * {self._reach(end)}" for end in term.folds) + ";")
        for root, slot in part.reads.items():
            kept.append(f"s{root}")
            load.append(f"s{root}[u] = out[{slot} * slot + i * WIDE];")
        if self.played and self._own(part):
            load.append(f"const long long mine_at = (long long)({self.of.row[self.seat]}) * WIDE;")
            for node in self._own(part):
                kept.append(f"m{node}")
                load.append(f"m{node}[u] = o{node}[mine_at];")
        for node in self._inside(part, part.root):
            if self.shape.turn[node] == EXIT:
                kept.append(f"x{node}")
                load += self._exit(node)
        value = ["if (at + u >= high) break;"]
        for k, term in enumerate(part.terms.values()):
            base = f"(sums + {k} * CARDS * WARP)"
            worth = f"all{k} - {base}[one[u]]"
            if self.of.two:
                worth += f" - {base}[other[u]]" + (f" + f{k}[u]" if term.folds else "")
            value.append(f"const real t{k} = {worth};")
        value += self._tree(part, part.root)
        value.append(f"if (live) out[{part.slot} * slot + (at + u) * WIDE] = n{part.root};")
        return load, kept, value

    def _exit(self, node: int) -> list[str]:
        """What comes after an exit: the mean over renamings that leave the board alone."""
        place = f"(((long long)board * AFTER + to / WIDE) * HANDS + {{}}) * WIDE + to % WIDE"
        return [
            f"{{ const int to = exits[(g * NODES + {node}) * WIDE + lane];",
            "  double mean = 0;",
            "  const int from = name_at[board], until = name_at[board + 1];",
            f"  if (to >= 0 && from == until) mean = after[{place.format('i')}];",
            "  if (to >= 0) for (int p = from; p < until; p++)",
            f"    mean += after[{place.format('names[(long long)p * HANDS + i]')}] / (until - from);",
            f"  x{node}[u] = (real)mean; }}",
        ]

    def _tree(self, part: Part, node: int) -> Iterator[str]:
        """Lines that work out n<node>: what a node is worth."""
        terms, turn = list(part.terms), self.shape.turn
        if node in part.reads:
            yield f"const real n{node} = s{node}[u];"
        elif turn[node] == EXIT:
            yield f"const real n{node} = x{node}[u];"
        elif turn[node] >= FOLD:
            yield f"const real n{node} = t{terms.index(node)};"
        else:
            below = self.shape.children[node]
            if turn[node] == self.other:
                below = [child for child in below if not FOLD <= turn[child] < EXIT]
            for child in below:
                yield from self._tree(part, child)
            if turn[node] == self.other:
                summed = [*([f"t{terms.index(node)}"] if node in part.terms else []), *(f"n{each}" for each in below)]
                yield f"const real n{node} = {' + '.join(summed)};"
            elif self.played:
                yield f"const real n{node} = {' + '.join(f'm{each}[u] * n{each}' for each in below)};"
            else:
                yield f"real n{node} = n{below[0]};"
                for each in below[1:]:
                    yield f"n{node} = n{each} > n{node} ? n{each} : n{node};"

    # The way down

    def opening(self) -> str:
        """The kernel that writes reaches at exits to the roots of the next round; nothing if there is no exit."""
        exits = [node for node, turn in enumerate(self.shape.turn) if turn == EXIT]
        if not exits:
            return ""
        begins = sorted({each for end in exits for each in self.shape.way(end, self.other)})
        prologue = [f"const real* const p{n} = his + his_begin[g * NODES + {n}] * WIDE + lane;" for n in begins]
        body = [*self._reaches(exits)]
        for node in exits:
            body.append(f"{{ const int to = exits[(g * NODES + {node}) * WIDE + lane];")
            body.append("  if (to >= 0) onto[(((long long)board * AFTER + to / WIDE) * HANDS + i) * WIDE + to % WIDE] = "
                        f"{self._reach(node)}; }}")  # fmt: skip
        return OPEN.format(
            name=f"{self.name}_open", prologue="\n".join(f"  {line}" for line in prologue),
            body="\n".join(f"  {line}" for line in body),
        )  # fmt: skip


def prelude(of: Round) -> str:
    word = "uint2" if of.words == 2 else "uint4"
    return PRELUDE.format(real=of.real, word=word, hands=of.hands, above=of.above, groups=of.groups, nodes=of.nodes,
                          after=of.after, cards=of.cards, wide=WIDE, warp=WARP)  # fmt: skip


def shared_bytes(part: Part, of: Round) -> int:
    """Shared memory of a block."""
    return max(1, len(part.terms)) * of.cards * WARP * np.dtype("f4" if of.real == "float" else "f8").itemsize
