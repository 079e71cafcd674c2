"""What an objective is: the one contract between what is minimised and how."""

from __future__ import annotations

from typing import Any, Protocol

from nearer.objectives.parameters import Parameters


class Objective(Protocol):
    """Something to minimise over parameters of any kind.

    Every objective has the attributes and the method below. Whatever else it can do, such as full gradients
    (`value_and_gradient`), stochastic epochs or products with second derivatives, it names in `provides`, and a
    solver names what it needs in `requires`. A solver uses nothing of an objective beyond these names.
    """

    #: comparisons, pairs or samples that the objective sums over: the cost of one full pass, in evaluations
    n_terms: int

    @property
    def parameters(self) -> Parameters:
        """How its parameters are copied, shown and stored."""

    @property
    def provides(self) -> frozenset[str]:
        """The names of the methods and attributes that solvers may use besides these."""

    def start(self, x: Any) -> Any:
        """Return the parameters to begin with as the objective needs them, a copy; refuse others in one sentence."""

    def value(self, x: Any) -> float:
        """Return the objective at x."""
