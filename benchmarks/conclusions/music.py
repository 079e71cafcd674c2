"""Conclusions of `music`."""

from __future__ import annotations

from typing import Any

from benchmarks import _race, music
from benchmarks.conclusions._words import Rows, share, span
from benchmarks.table1 import LOSS_NAMES


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where SVRG-SBB is behind, then where it is ahead."""
    losses, sbb = settings["losses"], [f"SBB-{b}" for b in settings["batch_sizes"]]

    def error(loss: str, rivals: list[str], epochs: int) -> float:
        return min(float(music.error_after(rows, loss, name, epochs)[1]) for name in rivals)

    late = [loss for loss in losses if error(loss, sbb, 3) >= error(loss, ["SVRG"], 3)]
    first = {epochs: _best(rows, settings, epochs) for epochs in (1, 3, 10)}
    gap = [error(loss, sbb, 3) - error(loss, ["SGD"], 3) for loss in losses]
    close = [error(loss, sbb, 10) - error(loss, ["SGD"], 10) for loss in losses]
    return [
        "The paper's claim that SVRG-SBB falls faster than SVRG holds after 3 epochs for "
        f"{share(len(losses) - len(late), len(losses))} losses; not for "
        f"{' and '.join(LOSS_NAMES[loss] for loss in late)}.",
        "SGD with a tuned constant step has the lowest error after 1 and after 3 epochs for "
        f"{share(sum(first[1][loss] == first[3][loss] == 'SGD' for loss in losses), len(losses))} losses "
        f"(after 3, the best SVRG-SBB has {span(gap, '.3f')} more).",
        "After 10 epochs a form of SVRG-SBB is lowest for "
        f"{share(sum(first[10][loss].startswith('SBB') for loss in losses), len(losses))} losses, by "
        f"little: {span([-value for value in close], '.3f')} below SGD, less than the quartiles are apart.",
        "SVRG and SGD have their constant steps tuned on other splits; SVRG-SBB needs no such choice.",
    ]


def _best(rows: Rows, settings: dict[str, Any], epochs: int) -> dict[str, str]:
    """Return the solver of lowest median error after some epochs, by loss."""
    names = _race.rivals(settings)
    return {
        loss: min(names, key=lambda name: music.error_after(rows, loss, name, epochs)[1])
        for loss in settings["losses"]
    }
