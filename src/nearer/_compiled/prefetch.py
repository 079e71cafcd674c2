"""Ask the processor for memory before it is needed.

A stochastic step touches a few rows anywhere in arrays that may be larger than the caches. The rows of the next steps
are known, so their cache misses can overlap with the current work.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nearer._compiled.decorators import inline

#: how many comparisons ahead to ask for
AHEAD = 4
#: arrays smaller than this (bytes) fit the second-level cache: prefetching would only cost
WORTHWHILE = 512 * 1024

_LINE = 64


def _prefetcher(to_write):
    """Return a function prefetch(array, row, offset) for one cache line, `offset` bytes into a row."""

    @intrinsic
    def prefetch(typingctx, array, row, offset):
        signature = types.void(array, types.intp, types.intp)

        def codegen(context, builder, signature, arguments):
            array_type = signature.args[0]
            array, row, offset = arguments
            struct = context.make_array(array_type)(context, builder, array)
            strides = cgutils.unpack_tuple(builder, struct.strides, array_type.ndim)
            byte_pointer = ir.IntType(8).as_pointer()
            base = builder.bitcast(struct.data, byte_pointer)
            address = builder.gep(base, [builder.add(builder.mul(row, strides[0]), offset)])
            int32 = ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32]),
                "llvm.prefetch.p0",
            )
            # keep in all caches, data
            builder.call(function, [address, int32(to_write), int32(3), int32(1)])
            return context.get_dummy_value()

        return signature, codegen

    return prefetch


_line_to_write, prefetch_line = _prefetcher(1), _prefetcher(0)


@inline
def prefetch_row(array, row):
    """Prefetch a whole row that will be changed."""
    for offset in range(0, array.shape[1] * array.itemsize, _LINE):
        _line_to_write(array, row, offset)


@inline
def prefetch_to_read(array, row):
    """Prefetch a whole row that will be read."""
    for offset in range(0, array.shape[1] * array.itemsize, _LINE):
        prefetch_line(array, row, offset)
