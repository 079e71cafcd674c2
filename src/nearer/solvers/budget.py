"""When a fit stops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nearer._utils.validation import not_negative, positive, whole


@dataclass(frozen=True)
class Budget:
    """When to stop: whichever comes first. `tol` is the relative decrease of the objective that an epoch must bring."""

    max_epochs: int | None = None
    max_evaluations: int | None = None
    max_seconds: float | None = None
    tol: float = 1e-3

    def __post_init__(self) -> None:
        not_negative("tol", self.tol)
        if self.max_epochs is not None:
            whole("max_epochs", self.max_epochs)
        if self.max_evaluations is not None:
            whole("max_evaluations", self.max_evaluations)
        if self.max_seconds is not None:
            positive("max_seconds", self.max_seconds)

    def part(self, share: float) -> Budget:
        """Return this share of the seconds and evaluations."""
        most, count = self.max_seconds, self.max_evaluations
        return replace(
            self,
            max_seconds=None if most is None else share * most,
            max_evaluations=None if count is None else max(int(share * count), 1),
        )

    def less(self, seconds: float, evaluations: int) -> Budget:
        """Return what is left after earlier work; always enough for a first record."""
        most, count = self.max_seconds, self.max_evaluations
        if most is None and count is None:
            return self
        return replace(
            self,
            max_seconds=None if most is None else max(most - seconds, 1e-9),
            max_evaluations=None if count is None else max(count - evaluations, 1),
        )
