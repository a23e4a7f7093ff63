"""Vectors of LANES numbers, for sums that run side by side.

The compiler cannot know that two places of an array do not overlap, so a loop over sixteen lanes that adds to several
of them becomes sixteen times one number. These are loads, stores and arithmetic on whole vectors, of float32 or
float64, as processors have them.
"""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

LANES = np.uint64(16)


class Vector(types.Type):
    """LANES numbers of a type."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(manager.lookup(kind.dtype).get_value_type(), int(LANES)))


def _place(context, builder, array_type, array, index):
    """Where LANES numbers of a flat array begin."""
    view = context.make_array(array_type)(context, builder, array)
    place = cgutils.get_item_pointer(context, builder, array_type, view, [index], wraparound=False)
    number = context.get_value_type(array_type.dtype)
    return builder.bitcast(place, ir.VectorType(number, int(LANES)).as_pointer())


@intrinsic
def load(typingctx, array, index):
    """array[index : index + LANES]"""

    def codegen(context, builder, signature, args):
        vector = builder.load(_place(context, builder, signature.args[0], args[0], args[1]))
        vector.align = signature.args[0].dtype.bitwidth // 8
        return vector

    return Vector(array.dtype)(array, types.uint64), codegen


@intrinsic
def store(typingctx, array, index, vector):
    """array[index : index + LANES] = vector"""

    def codegen(context, builder, signature, args):
        put = builder.store(args[2], _place(context, builder, signature.args[0], args[0], args[1]))
        put.align = signature.args[0].dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.uint64, vector), codegen


@intrinsic
def constant(typingctx, array, number):
    """A vector of one number, of an array's type."""

    def codegen(context, builder, signature, args):
        kind = context.get_value_type(signature.return_type)
        value = context.cast(builder, args[1], signature.args[1], signature.args[0].dtype)
        first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), int(LANES)), None)
        return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), same)

    return Vector(array.dtype)(array, types.float64), codegen


def _elementwise(operation):
    """An intrinsic of two vectors, by what the builder does with them."""

    @intrinsic
    def intrinsic_of_two(typingctx, one, other):
        def codegen(context, builder, signature, args):
            return operation(builder, *args)

        return one(one, other), codegen

    return intrinsic_of_two


add = _elementwise(lambda builder, one, other: builder.fadd(one, other))
subtract = _elementwise(lambda builder, one, other: builder.fsub(one, other))
multiply = _elementwise(lambda builder, one, other: builder.fmul(one, other))
divide = _elementwise(lambda builder, one, other: builder.fdiv(one, other))
maximum = _elementwise(
    lambda builder, one, other: builder.select(builder.fcmp_ordered(">", one, other), one, other)
)


@intrinsic
def if_positive(typingctx, sign, one, otherwise):
    """`one` where `sign` is above 0, else `otherwise`."""

    def codegen(context, builder, signature, args):
        some = builder.fcmp_ordered(">", args[0], ir.Constant(args[0].type, [0.0] * int(LANES)))
        return builder.select(some, *args[1:])

    return one(sign, one, otherwise), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Have array[index : index + LANES] come closer; nothing waits for it."""

    def codegen(context, builder, signature, args):
        place = builder.bitcast(
            _place(context, builder, signature.args[0], args[0], args[1]), ir.IntType(8).as_pointer()
        )
        word = ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch.p0", (), ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        )
        builder.call(function, [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


@intrinsic
def multiply_add(typingctx, one, other, third):
    """one * other + third, rounded once where the processor can."""

    def codegen(context, builder, signature, args):
        both = builder.fmul(*args[:2], flags=("contract",))
        return builder.fadd(both, args[2], flags=("contract",))

    return one(one, other, third), codegen


@intrinsic
def add_pairs(typingctx, pairs, pair, third):
    """To each number of `third`: the sum of the products of two int16, those of `pairs` with those of one `pair`. Both
    are int32 that hold two. One instruction on x86, which the compiler does not find by itself."""

    def codegen(context, builder, signature, args):
        lanes, word, half = int(LANES), ir.IntType(32), ir.IntType(16)
        wide = ir.VectorType(word, lanes)
        first = builder.insert_element(ir.Constant(wide, ir.Undefined), args[1], ir.Constant(word, 0))
        same = builder.shuffle_vector(first, ir.Constant(wide, ir.Undefined), ir.Constant(wide, None))
        split = ir.VectorType(half, 2 * lanes)
        one, other = builder.bitcast(args[0], split), builder.bitcast(same, split)
        if _multiplies_pairs():
            return builder.add(args[2], _by_instruction(builder, one, other))
        wider = ir.VectorType(word, 2 * lanes)
        product = builder.mul(builder.sext(one, wider), builder.sext(other, wider))
        low, high = (_chosen(builder, product, range(side, 2 * lanes, 2)) for side in (0, 1))
        return builder.add(args[2], builder.add(low, high))

    return third(pairs, types.int32, third), codegen


def _chosen(builder, vector, lanes):
    """Some lanes of a vector."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _multiplies_pairs():
    """Whether there is an instruction for sums of two products. Compiled code is kept by processor."""
    return "avx2" in binding.get_host_cpu_features() and binding.get_host_cpu_features()["avx2"]


def _by_instruction(builder, one, other):
    """Eight sums at a time."""
    size, half = int(LANES), ir.VectorType(ir.IntType(16), 16)
    function = builder.module.declare_intrinsic(
        "llvm.x86.avx2.pmadd.wd", (), ir.FunctionType(ir.VectorType(ir.IntType(32), 8), [half, half])
    )
    halves = [
        builder.call(function, [_chosen(builder, each, range(at, at + 16)) for each in (one, other)])
        for at in range(0, 2 * size, 16)
    ]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(size)))
    return builder.shuffle_vector(*halves, mask)


@intrinsic
def lowest_bit(typingctx, word):
    """The number of the lowest bit of a uint64 that is set; it must not be 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen
