"""Add a triplet's gradient to three rows, in vector instructions.

The compiler must assume that the rows of the gradient overlap with each other and with the points, so it leaves the
plain loop scalar if rows are short. They never overlap: the objects of a comparison differ, and the gradient has its
own memory. Here the vector instructions are written out, eight, four and two numbers at a time.
"""

from __future__ import annotations

import os

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nearer._compiled.decorators import inline

#: without compilation (NUMBA_DISABLE_JIT) there are no vector instructions
_VECTORS = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _adder(width):
    """Return a function that adds `width` columns of a triplet's gradient, from c on, to rows i, j and k of G."""
    lanes = ir.VectorType(ir.IntType(32), width)

    @intrinsic
    def add(typingctx, X, G, i, j, k, c, a, b):
        signature = types.void(X, G, *[types.intp] * 4, X.dtype, X.dtype)

        def codegen(context, builder, signature, arguments):
            points, gradient, i, j, k, c, a, b = arguments
            vector = ir.VectorType(context.get_value_type(signature.args[0].dtype), width)

            def address(array, array_type, row):
                struct = context.make_array(array_type)(context, builder, array)
                columns = cgutils.unpack_tuple(builder, struct.shape, 2)[1]
                start = builder.gep(struct.data, [builder.add(builder.mul(row, columns), c)])
                return builder.bitcast(start, vector.as_pointer())

            def load(pointer):
                loaded = builder.load(pointer)
                loaded.align = signature.args[0].dtype.bitwidth // 8  # rows begin anywhere
                return loaded

            def everywhere(number):
                undefined = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(undefined, number, ir.IntType(32)(0))
                return builder.shuffle_vector(first, undefined, ir.Constant(lanes, [0] * width))

            x, y, z = (load(address(points, signature.args[0], row)) for row in (i, j, k))
            u = builder.fmul(everywhere(a), builder.fsub(x, y))
            v = builder.fmul(everywhere(b), builder.fsub(x, z))
            for row, change, operation in (
                (i, builder.fadd(u, v), builder.fadd),
                (j, u, builder.fsub),
                (k, v, builder.fsub),
            ):
                pointer = address(gradient, signature.args[1], row)
                stored = builder.store(operation(load(pointer), change), pointer)
                stored.align = signature.args[0].dtype.bitwidth // 8
            return context.get_dummy_value()

        return signature, codegen

    return add


_add_8, _add_4, _add_2 = _adder(8), _adder(4), _adder(2)


@inline
def add_triplet(X, G, i, j, k, a, b):
    """Add a (x_i - x_j) + b (x_i - x_k) to G[i]; subtract the first term from G[j], the second from G[k].

    X and G are C-contiguous.
    """
    p = X.shape[1]
    c = 0
    if _VECTORS:
        while c + 8 <= p:
            _add_8(X, G, i, j, k, c, a, b)
            c += 8
        if c + 4 <= p:
            _add_4(X, G, i, j, k, c, a, b)
            c += 4
        if c + 2 <= p:
            _add_2(X, G, i, j, k, c, a, b)
            c += 2
    while c < p:
        u = a * (X[i, c] - X[j, c])
        v = b * (X[i, c] - X[k, c])
        G[i, c] += u + v
        G[j, c] -= u
        G[k, c] -= v
        c += 1
