"""One decision to stop for all processes of a distributed fit."""

from __future__ import annotations

from nearer._utils.group import Group, processes
from nearer.solvers.result import STOP_REASONS
from nearer.solvers.run import Agree


def over_processes(group: Group | None = None) -> Agree:
    """Return the `agree` of a `Run` with which all processes of a group stop together.

    Every process calls it at every record and look, so all must record equally often. If processes have different
    reasons at once, all take the one that comes last in `STOP_REASONS`.

    Parameters
    ----------
    group : Group, optional
        By default all processes that `torchrun` has started, or those of torch.distributed if it is initialised.
    """
    group = processes() if group is None else group

    def agree(reason: str | None) -> str | None:
        code = int(group.largest(0 if reason is None else 1 + STOP_REASONS.index(reason)))
        return None if code == 0 else STOP_REASONS[code - 1]

    return agree
