"""One decision to stop for all processes of a distributed fit."""

from __future__ import annotations

from typing import Any

from nearer.solvers.result import STOP_REASONS
from nearer.solvers.run import Agree


def over_processes(group: Any = None) -> Agree:
    """Return the `agree` of a `Run` with which all processes of a torch.distributed group stop together.

    Every process calls it at every record and look, so all must record equally often. If processes have different
    reasons at once, all take the one that comes last in `STOP_REASONS`.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup, optional
        All processes by default; `torch.distributed.init_process_group` must have been called.
    """
    import torch
    import torch.distributed as dist

    device = torch.device("cuda" if dist.get_backend(group) == "nccl" else "cpu")

    def agree(reason: str | None) -> str | None:
        code = torch.tensor([0 if reason is None else 1 + STOP_REASONS.index(reason)], device=device)
        dist.all_reduce(code, op=dist.ReduceOp.MAX, group=group)
        return None if int(code) == 0 else STOP_REASONS[int(code) - 1]

    return agree
