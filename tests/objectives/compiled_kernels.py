"""Compile the kernels of pairs for a Hopper GPU, without one, and print their names."""

from __future__ import annotations

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from nearer.objectives import pair_kernels, pair_loss_kernels

_NUMBERS = {"P", "Q", "W", "H", "out", "values", "factors", "moved", "waiting"}
_NUMBERS |= {"scores", "offsets", "weights", "imputed", "counts", "numbers"}
_WHOLE = {"columns": "*i32", "order": "*i32", "stride": "i32", "count": "i32"}
_KNOWN = ("factors", "offsets", "weights", "imputed", "counts")
_SETTINGS = {"k": 128, "width": 128, "tile": 8, "ordered": True, "part": 0, "square": False, "block": 2048}
_SETTINGS |= {f"has_{name}": True for name in _KNOWN}


def machine_code(name: str) -> str:
    """Return what a kernel is compiled to."""
    kernel = getattr(pair_loss_kernels if name == "_excess" else pair_kernels, name)
    settings = {given: value for given, value in _SETTINGS.items() if given in kernel.arg_names}
    types = {given: "*fp32" if given in _NUMBERS else _WHOLE.get(given, "*i64") for given in kernel.arg_names}
    types |= dict.fromkeys(settings, "constexpr")
    # torch's memory begins at multiples of 16 bytes, which Triton sees when it starts a kernel
    aligned = {
        (at,): [["tt.divisibility", 16]]
        for at, given in enumerate(kernel.arg_names)
        if types[given].startswith("*")
    }
    source = ASTSource(kernel, types, constexprs=settings, attrs=aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]


if __name__ == "__main__":
    for name in ("_scores", "_sums", "_moves", "_join"):
        if "ld.global.v4.b32" in machine_code(name):
            print(name)
    if "ld.global.b32" in machine_code("_excess"):
        print("_excess")
