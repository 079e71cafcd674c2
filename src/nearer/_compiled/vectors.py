"""Vectors of one, two, four or eight numbers as values in compiled loops.

The compiler leaves loops over short rows scalar if they store: it must assume that what they store overlaps with what
they read. Here the vector instructions are chosen by hand. `loader(8)` returns a function that reads eight numbers;
vectors have +, - and *, also with a number on the left, and `store` and `total`.

They read and write at a pointer to the first number of an array, because numba counts references whenever an array is
handed to a function, and one count takes longer than a short row.
"""

from __future__ import annotations

import operator
import os

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = ["Vector", "loader", "pointer_to", "rolled", "store", "total"]


class Vector(types.Type):
    """`width` numbers of type `dtype`."""

    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Vector({dtype} x {width})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        number = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(number, fe_type.width))


@intrinsic
def pointer_to(typingctx, array):
    """Return a pointer to the first number of a C-contiguous array. It does not keep the array alive."""

    if array.layout != "C":
        raise TypingError("only C-contiguous arrays have pointers")

    def codegen(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return signature(types.CPointer(array.dtype), array), codegen


def loader(width):
    """Return a function load(pointer, at) that reads `width` numbers from number `at` on; nothing is checked."""

    @intrinsic
    def load(typingctx, pointer, at):
        vector = Vector(pointer.dtype, width)

        def codegen(context, builder, signature, arguments):
            loaded = builder.load(_address(context, builder, vector, *arguments))
            loaded.align = vector.dtype.bitwidth // 8  # rows begin anywhere
            return loaded

        return signature(vector, pointer, types.intp), codegen

    return load


@intrinsic
def store(typingctx, pointer, at, vector):
    """Write a vector, from number `at` on."""

    def codegen(context, builder, signature, arguments):
        pointer, at, numbers = arguments
        stored = builder.store(numbers, _address(context, builder, vector, pointer, at))
        stored.align = vector.dtype.bitwidth // 8
        return context.get_dummy_value()

    return signature(types.void, pointer, types.intp, vector), codegen


@intrinsic
def total(typingctx, vector):
    """Return the sum of a vector's numbers."""

    def codegen(context, builder, signature, arguments):
        number = context.get_value_type(vector.dtype)
        name = f"llvm.vector.reduce.fadd.v{vector.width}f{vector.dtype.bitwidth}"
        kind = ir.FunctionType(number, [number, arguments[0].type])
        add_all = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(add_all, [number(0.0), arguments[0]], fastmath=("reassoc",))

    return signature(vector.dtype, vector), codegen


@intrinsic
def rolled(typingctx):
    """Keep the compiler from unrolling the loop around this: it takes an empty line of assembly for a call."""

    def codegen(context, builder, signature, arguments):
        builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
        return context.get_dummy_value()

    return signature(types.void), codegen


def _address(context, builder, vector, pointer, at):
    return builder.bitcast(builder.gep(pointer, [at]), context.get_value_type(vector).as_pointer())


def _everywhere(builder, number, vector):
    """Return a vector of one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, lanes)


def _define(symbol, instruction):
    """Let `symbol` combine two vectors, or a number and a vector."""

    @infer_global(symbol)
    class Template(AbstractTemplate):
        def generic(self, arguments, keywords):
            if len(arguments) == 2 and isinstance(arguments[1], Vector):
                left, vector = arguments
                return signature(vector, left if isinstance(left, Vector) else vector.dtype, vector)
            return None

    @lower_builtin(symbol, Vector, Vector)
    def of_vectors(context, builder, signature, arguments):
        return getattr(builder, instruction)(*arguments)

    @lower_builtin(symbol, types.Float, Vector)
    def of_number_and_vector(context, builder, signature, arguments):
        number, vector = arguments
        return getattr(builder, instruction)(_everywhere(builder, number, vector.type), vector)


for _symbol, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _define(_symbol, _instruction)

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    from nearer._compiled.vectors_reference import (  # type: ignore[assignment]
        loader,
        pointer_to,
        rolled,
        store,
        total,
    )
