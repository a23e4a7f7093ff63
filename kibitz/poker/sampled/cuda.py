"""Public chance sampling as CUDA source: the betting of a round as in `poker/whole/cuda.py`, with what rows learn.

A thread has two lanes of betting on one board. Where it works out what the hands of a seat are worth, it adds what each
action is worth more than the strategy, and the seat's own reach, to the *gains* of the hand's row: [rows, actions + 1]
at a node, the reach behind the actions. Many boards are gone through by one strategy; then `learn` adds gains to
regrets and averages, and works the strategy out anew. Gains are kept apart, as regrets grow with the square of the
iterations, and what one hand of one board adds would be lost in single precision.

A row that is frozen acts as chance, as in `kernels.py`: nothing is added there, and what is learnt below it is weighed
by the seat's reach through frozen rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kibitz.poker.whole.cuda import BLOCKS, KERNEL, PARAMETERS, WIDE, CudaRound, Writer
from kibitz.poker.whole.plan import EXIT, ActionRows, Part, Shape

LEARN = """
typedef {real} real;
#define WIDE {wide}
extern "C" __global__ void learn(
    const long long* __restrict__ begin, const long long* __restrict__ gain_begin, const int* __restrict__ rows,
    const int* __restrict__ counts, real* __restrict__ regret, real* __restrict__ average, real* __restrict__ strategy,
    real* __restrict__ gains, const int threads, const int all) {{
  const int node = blockIdx.x, count = counts[node];
  const long long size = (long long)rows[node] * WIDE;
  for (long long at = (long long)blockIdx.y * blockDim.x + threadIdx.x; at < size; at += threads) {{
    const long long row = at / WIDE, lane = at % WIDE;
    const long long first = (begin[node] + row * count) * WIDE + lane;
    real* const gain = gains + (gain_begin[node] + row * (count + 1)) * WIDE + lane;
    const real reach = gain[count * WIDE];
    bool seen = all || reach != 0;
    for (int a = 0; a < count; a++) seen = seen || gain[a * WIDE] != 0;
    if (!seen) continue;  // the row of no hand on a board of the batch
    gain[count * WIDE] = 0;
    real whole = 0;
    for (int a = 0; a < count; a++) {{
      const long long here = first + a * WIDE;
      const real mine = regret[here] + gain[a * WIDE];
      gain[a * WIDE] = 0;
      regret[here] = mine;
      average[here] += reach * strategy[here];
      whole += mine > 0 ? mine : 0;
    }}
    const real times = whole > 0 ? 1 / whole : 0, rest = whole > 0 ? 0 : (real)1 / count;
    for (int a = 0; a < count; a++) {{
      const real mine = regret[first + a * WIDE];
      strategy[first + a * WIDE] = (mine > 0 ? mine : 0) * times + rest;
    }}
  }}
}}
"""

# Two numbers are added at once where the GPU can (compute capability 9.0).
ADD = """
__device__ __forceinline__ void add_to(real* at, vec amount) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && SINGLE
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(at), "f"(amount.x), "f"(amount.y));
#else
  atomicAdd(at, amount.x);
  atomicAdd(at + 1, amount.y);
#endif
}
"""

# What hands are worth on the board before. One of the boards that may come stands for `times` of them; boards that
# continue the same one are weighed.
LIFT = """
extern "C" __global__ void lift(
    const unsigned short* __restrict__ where, const real* __restrict__ values, const int places, const int filled,
    const real times, real* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE;
  const int g = blockIdx.y, board = blockIdx.z;
  if (i >= ABOVE) return;
  const unsigned int place = where[(long long)board * ABOVE + i];
  const long long group = (long long)board * GROUPS + g;
  out[(group * filled + i) * WIDE + lane] =
      place == 65535u ? 0 : times * values[(group * places + place) * WIDE + lane];
}

extern "C" __global__ void lift_weighed(
    const unsigned short* __restrict__ where, const real* __restrict__ values, const int places, const int filled,
    const real times, const real* __restrict__ weights, const real* __restrict__ whole, const int boards, real* out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / WIDE, lane = at % WIDE, g = blockIdx.y;
  if (i >= ABOVE) return;
  real sum = 0;
  _Pragma("unroll 8")
  for (int board = 0; board < boards; board++) {
    const unsigned int place = where[(long long)board * ABOVE + i];
    const long long group = (long long)board * GROUPS + g;
    if (place != 65535u) sum += weights[board] * values[(group * places + place) * WIDE + lane];
  }
  out[((long long)g * filled + i) * WIDE + lane] = times * sum / whole[0];
}
"""

DOWN = """
extern "C" __global__ void {name}(
    const uint4* __restrict__ hands, const unsigned int* __restrict__ extra, const int* __restrict__ board_above,
    const int places, const real* __restrict__ roots, const real* __restrict__ own_roots,
    const real* __restrict__ fixed_roots, const real* __restrict__ his, const real* __restrict__ mine,
    const long long* __restrict__ his_begin, const long long* __restrict__ my_begin, const int* __restrict__ groups,
    const int* __restrict__ exits, real* onto, real* own_onto, real* fixed_onto) {{
  const int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / PAIRS, lane = at % PAIRS * 2;
  const int g = groups[blockIdx.y], board = blockIdx.z;
  if (i >= HANDS) return;
  const long long above = ((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane;
  const real* const root = roots + above;
  const real* const own_root = own_roots + above;
{fixed}
  const real* const his_rows = his + his_begin[g] * WIDE + lane;
  const real* const my_rows = mine + my_begin[g] * WIDE + lane;
  const uint4 h[1] = {{hands[(long long)board * places + i]}};
  const unsigned int* const more = extra + (long long)board * places * EXTRA;
  const int u = 0;
  const long long there = (long long)board * AFTER * (HANDS + 1) * WIDE;
{body}
}}
"""
FIXED = "const real* const fixed_root = fixed_roots + {above};"
ABOVE_HERE = "((long long)board_above[board] * GROUPS + g) * (ABOVE + 1) * WIDE + lane"


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


class LearningWriter(Writer):
    """Writes the code of one shape for the seat that learns. frozen: whether rows of the game are."""

    shape: LearningShape
    parameters = f"""{PARAMETERS},
    const real* __restrict__ own_roots, const real* __restrict__ fixed_roots, const real* __restrict__ weights,
    const long long* __restrict__ gain_begin, const int* __restrict__ lanes, real* gains"""

    def __init__(self, shape: LearningShape, seat: int, of: CudaRound, name: str, frozen: bool) -> None:
        super().__init__(shape, seat, True, of, name)
        self.frozen = frozen
        self.waves = waves_of(self.parts)

    @property
    def slots(self) -> int:
        return len(self.parts)

    def shared_bytes(self, wave: int) -> int:
        return max(self.of.shared_bytes(self.parts[k]) for k in self.waves[wave])

    def source(self) -> str:
        """The kernels `name`_open, if betting goes on, and `name`_wave0, _wave1 and so on, in order."""
        names = ", ".join(re.findall(r"(\w+)(?:,|$)", self.parameters))
        waves = []
        for number, wave in enumerate(self.waves):
            calls = "".join(f"  if (blockIdx.z == {z}) {self.name}_{k}({names});\n" for z, k in enumerate(wave))
            kernel = KERNEL.format(blocks=BLOCKS)
            waves.append(f"\n{kernel} {self.name}_wave{number}{self.parameters}) {{\n{calls}}}\n")
        return "".join(self._part(k, part) for k, part in enumerate(self.parts)) + "".join(waves) + self.opening()

    def _kind(self) -> str:
        """A function: parts that do not wait for one another run side by side, in a kernel of a wave."""
        return "__device__ __forceinline__ void"

    # The seat's own reach: through rows that learn, and through those that are frozen

    def _led(self, node: int, learn: bool) -> list[int]:
        way, moves = self.shape.way(node, self.seat), self.shape.moves
        return [each for each in way if moves[self.shape.parent[each]] == learn]

    def _mine(self, node: int, learn: bool) -> str:
        """The name of the seat's reach at a node."""
        led, kind = self._led(node, learn), "o" if learn else "q"
        return f"{kind}{led[-1] if led else 0}"

    def _own_reaches(self, nodes: list[int], at: str = "at + u") -> Iterator[str]:
        """Lines that work out the seat's reach at nodes."""
        for learn in (True, False) if self.frozen else (True,):
            led = sorted({each for node in nodes for each in self._led(node, learn)})
            root = "own_root" if learn else "fixed_root"
            yield f"const vec {'o' if learn else 'q'}0 = load({root} + (unsigned long long)h[u].y * WIDE);"
            yield from self._rows(self.seat, led, at)
            for node in led:
                above, place = self._mine(self.shape.parent[node], learn), self._place(node)
                yield (f"const vec {'o' if learn else 'q'}{node} = {above} * load(mine_row{place.name} + "
                       f"{place.column} * WIDE);")  # fmt: skip

    # What is learnt

    def _learning(self, part: Part) -> list[int]:
        """The nodes of a part where rows of the seat learn."""
        nodes = [node for node in self._inside(part, part.root) if node not in part.reads]
        return [node for node in nodes if self.shape.turn[node] == self.seat and self.shape.moves[node]]

    def _prologue(self, part: Part) -> str:
        lines = [super()._prologue(part), f"  const real* const own_root = own_roots + {ABOVE_HERE};"]
        if self.frozen:
            lines.append("  " + FIXED.format(above=ABOVE_HERE))
        lines += ["  const vec weight = two(weights[board], weights[board]);",
                  "  real* const gained = gains + gain_begin[g] * WIDE + lane;",
                  "  const bool learns = live && lane < lanes[g];"]  # fmt: skip
        return "\n".join(lines)

    def _value(self, part: Part) -> tuple[list[str], list[str], list[str]]:
        load, kept, value = super()._value(part)
        learning = self._learning(part)
        if not learning:
            return load, kept, value
        load += self._own_reaches(learning)
        load.append("held[u] = h[u].y != ABOVE;")
        kept.append("bool held")
        for source in sorted({self._source(node) for node in learning}):
            kept.append(f"unsigned int number{source}")
            load.append(f"number{source}[u] = {self.of.row[source].replace('PLACE', 'at + u')};")
        for node in learning:
            kept.append(f"own{node}")
            load.append(f"own{node}[u] = {self._mine(node, True)};")
            if self.frozen:
                kept.append(f"fixed{node}")
                load.append(f"fixed{node}[u] = {self._mine(node, False)};")
        value.append("if (learns && held[u]) {")
        for node in learning:
            value += self._gain(node)
        value.append("}")
        return _once(load), kept, value

    def _source(self, node: int) -> int:
        return self._place(self.shape.children[node][0]).source

    def _gain(self, node: int) -> Iterator[str]:
        below = self.shape.children[node]
        wide = (len(below) + 1) * WIDE
        yield (f"real* const gain{node} = gained + {self.shape.gain[node] * WIDE}u + "
               f"(unsigned long long)number{self._source(node)}[u] * {wide}u;")  # fmt: skip
        yield f"const vec times{node} = weight{f' * fixed{node}[u]' if self.frozen else ''};"
        for child in below:
            yield f"add_to(gain{node} + {self._place(child).column} * WIDE, times{node} * (n{child} - n{node}));"
        yield f"add_to(gain{node} + {len(below)} * WIDE, weight * own{node}[u]);"

    # The way down

    def opening(self) -> str:
        exits = [node for node, turn in enumerate(self.shape.turn) if turn == EXIT]
        if not exits:
            return ""
        body = [*self._reaches(exits, "i"), *self._own_reaches(exits, "i")]
        for node in exits:
            named = [("onto", self._reach(node)), ("own_onto", self._mine(node, True))]
            if self.frozen:
                named.append(("fixed_onto", self._mine(node, False)))
            for side, name in enumerate("xy"):
                body.append(f"{{ const int to = exits[(g * NODES + {node}) * WIDE + lane + {side}];")
                body.append("  const long long place = there + (to / WIDE * (HANDS + 1) + i) * WIDE + to % WIDE;")
                body += [f"  if (to >= 0) {array}[place] = {reach}.{name};" for array, reach in named]
                body.append("}")
        fixed = "  " + FIXED.format(above="above") if self.frozen else ""
        return DOWN.format(name=f"{self.name}_open", fixed=fixed, body="\n".join(f"  {line}" for line in _once(body)))


def _once(lines: list[str]) -> list[str]:
    """Constants that are asked for twice are defined once."""
    return [line for k, line in enumerate(lines) if not (line.startswith("const ") and line in lines[:k])]
