"""Numbers in 16 bits, and vectors that change rows for columns.

Regrets and averages are never negative. A code has six bits of exponent and ten of mantissa: a float32 without its
sign, its last 13 bits and most of its exponents, so coding and decoding are a few integer operations that every
processor has. The smallest number, 2^-32, stands for 0: rows whose numbers are all that small are then uniform without
a question, and beside any other number it does not count. The largest is just below 2^32.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kibitz.core.vectors import LANES, Vector, _place

LEAST = 2.0**-32
_SHIFT, _FIRST, _HALF = 13, 95 << 23, 1 << 12  # bits that are left out, those of LEAST, and half of the last one kept
_N = int(LANES)


def _all(kind, number):
    return ir.Constant(kind, [number] * _N)


@intrinsic
def read(typingctx, array, index, like):
    """Numbers array[index : index + LANES], decoded if they are codes, as a vector of the type of the array `like`."""

    def codegen(context, builder, signature, args):
        source = signature.args[0].dtype
        vector = builder.load(_place(context, builder, signature.args[0], args[0], args[1]))
        vector.align = source.bitwidth // 8
        if source == types.uint16:
            word = ir.VectorType(ir.IntType(32), _N)
            bits = builder.shl(builder.zext(vector, word), _all(word, _SHIFT))
            vector = builder.bitcast(builder.add(bits, _all(word, _FIRST)), ir.VectorType(ir.FloatType(), _N))
            source = types.float32
        return _cast(builder, vector, source, signature.args[2].dtype)

    return Vector(like.dtype)(array, types.uint64, like), codegen


@intrinsic
def write(typingctx, array, index, vector):
    """array[index : index + LANES] = vector, no less than LEAST; coded, to the nearest code, if it holds codes."""

    def codegen(context, builder, signature, args):
        target, number = signature.args[0].dtype, args[2]
        least = _all(number.type, LEAST)
        number = builder.select(builder.fcmp_ordered(">", number, least), number, least)
        if target == types.uint16:
            number = _cast(builder, number, signature.args[2].dtype, types.float32)
            word = ir.VectorType(ir.IntType(32), _N)
            bits = builder.add(builder.bitcast(number, word), _all(word, _HALF - _FIRST))
            number = builder.trunc(builder.lshr(bits, _all(word, _SHIFT)), ir.VectorType(ir.IntType(16), _N))
        else:
            number = _cast(builder, number, signature.args[2].dtype, target)
        put = builder.store(number, _place(context, builder, signature.args[0], args[0], args[1]))
        put.align = target.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, vector), codegen


def _cast(builder, vector, source, target):
    """A vector of float32 or float64 as the other."""
    if source == target:
        return vector
    kind = ir.VectorType(ir.FloatType() if target == types.float32 else ir.DoubleType(), _N)
    return builder.fptrunc(vector, kind) if target == types.float32 else builder.fpext(vector, kind)


def _transposed(builder, rows):
    """LANES vectors -> the vectors of their first, second, ... numbers: four times the first half is shuffled with the
    second, as cards are."""
    word = ir.IntType(32)
    for _ in range(_N.bit_length() - 1):
        shuffled = []
        for i in range(_N // 2):
            for first in (0, _N // 2):
                order = [number for k in range(first, first + _N // 2) for number in (k, k + _N)]
                mask = ir.Constant(ir.VectorType(word, _N), order)
                shuffled.append(builder.shuffle_vector(rows[i], rows[i + _N // 2], mask))
        rows = shuffled
    return rows


def _offset(context, builder, array_type, array, index, k):
    """array[index + k], an int64."""
    view = context.make_array(array_type)(context, builder, array)
    at = builder.add(index, ir.Constant(ir.IntType(64), k)) if k else index
    return builder.load(builder.gep(view.data, [at]))


@intrinsic
def rows_to_lanes(typingctx, source, rows, first, column, target, at):
    """target[at + LANES * c + i] = source[rows[first + i] + column + c], for i and c from 0 to LANES - 1."""

    def codegen(context, builder, signature, args):
        array, offsets, begin, k, other, place = args
        vectors = []
        for i in range(_N):
            index = builder.add(_offset(context, builder, signature.args[1], offsets, begin, i), k)
            vector = builder.load(_place(context, builder, signature.args[0], array, index))
            vector.align = signature.args[0].dtype.bitwidth // 8
            vectors.append(vector)
        for c, vector in enumerate(_transposed(builder, vectors)):
            index = builder.add(place, ir.Constant(ir.IntType(64), _N * c))
            put = builder.store(vector, _place(context, builder, signature.args[4], other, index))
            put.align = signature.args[4].dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(source, rows, types.uint64, types.uint64, target, types.uint64), codegen


@intrinsic
def lanes_to_rows(typingctx, source, at, target, rows, first, column):
    """target[rows[first + i] + column + c] = source[at + LANES * c + i], for i and c from 0 to LANES - 1."""

    def codegen(context, builder, signature, args):
        array, place, other, offsets, begin, k = args
        vectors = []
        for c in range(_N):
            index = builder.add(place, ir.Constant(ir.IntType(64), _N * c))
            vector = builder.load(_place(context, builder, signature.args[0], array, index))
            vector.align = signature.args[0].dtype.bitwidth // 8
            vectors.append(vector)
        for i, vector in enumerate(_transposed(builder, vectors)):
            index = builder.add(_offset(context, builder, signature.args[3], offsets, begin, i), k)
            put = builder.store(vector, _place(context, builder, signature.args[2], other, index))
            put.align = signature.args[2].dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(source, types.uint64, target, rows, types.uint64, types.uint64), codegen
