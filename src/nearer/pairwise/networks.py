"""Scores and embeddings by a torch module, learned over pairs with AdaDSG's doubling. Only this file imports torch."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearer._compiled.pairwise_reference import MU
from nearer._utils.arrays import row_blocks
from nearer._utils.optional import optional
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.pair_sources import Source
from nearer.objectives.stochastic_pairs import PROBED, DrawnObjective, DrawnWalk
from nearer.pairwise.learning import Setting, descend
from nearer.solvers import Result, State


@dataclass(frozen=True)
class Network:
    """A torch module and how it is trained: Adam on batches of pairs.

    Parameters
    ----------
    module : torch.nn.Module
        Takes rows in single precision and returns one score per row (of shape (rows,) or (rows, 1)), or an embedding
        of each for learning a distance. It is copied: a fit begins at the parameters that it has now.
    batch_size : int
        Pairs that a step of Adam takes.
    learning_rate : float
        Of Adam. Once all rows are counted on it is divided by the root of the number of stages on them.
    device : str
        Where torch works.

    Examples
    --------
    >>> from importlib.util import find_spec
    >>> if find_spec("torch"):
    ...     from torch import nn
    ...     network = Network(nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)), batch_size=32)
    """

    module: Any
    batch_size: int = 64
    learning_rate: float = 5e-3
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not hasattr(self.module, "state_dict"):
            raise InputError(f"must be a torch.nn.Module, not {self.module!r}", parameter="module")
        whole("batch_size", self.batch_size)
        positive("learning_rate", self.learning_rate)


def is_network(model: Any) -> bool:
    """Whether a model is a torch module or a `Network`; torch is not imported to find out."""
    if isinstance(model, type):
        return False
    return isinstance(model, Network) or (hasattr(model, "state_dict") and hasattr(model, "forward"))


class FittedNetwork:
    """A module with its optimiser, and for a distance the threshold.

    Parameters
    ----------
    between : array or CSR matrix
        Rows whose mean score is 0: only differences of scores are learned, and two fits to much the same rows may
        differ in their scores by any constant.
    """

    def __init__(self, model: Any, is_metric: bool, between: Any):
        torch = optional("torch", "a network", "'nearer[torch]'")
        self.network = model if isinstance(model, Network) else Network(model)
        self.is_metric, self.between, self._level = is_metric, between, 0.0
        try:
            self.module = copy.deepcopy(self.network.module).to(self.network.device)
        except RuntimeError as error:
            raise InputError(
                f"torch cannot work on the device {self.network.device!r}: choose 'cpu'"
            ) from error
        self.threshold = torch.ones((), device=self.network.device, requires_grad=is_metric)
        shrunk = [{"params": [p for p in self.module.parameters() if p.requires_grad]}]
        free = [{"params": [self.threshold], "weight_decay": 0.0}] if is_metric else []
        if not shrunk[0]["params"]:
            raise InputError("the module has no parameters to learn: give one that has")
        self.optimiser = torch.optim.Adam(shrunk + free, lr=self.network.learning_rate)

    def outputs(self, X: Any) -> np.ndarray:
        """Scores (rows,), measured from their mean, or embeddings (rows, p) in float64."""
        return self._outputs(X) - self._level

    def _outputs(self, X: Any) -> np.ndarray:
        """What the module makes of rows, some at a time."""
        import torch

        self.module.eval()
        with torch.no_grad():
            parts = [self._of(X[block]).double().cpu().numpy() for block in row_blocks(X.shape[0], 1024)]
        return np.concatenate(parts)

    def learn(
        self, source: Source, X: Any, setting: Setting, rng: np.random.Generator, state: State | None
    ) -> tuple[State, Result]:
        """Train on the pairs of a source; return as `nearer.pairwise.learning.learn`."""
        import torch

        objective = NetworkPairs(self, X, source, setting.loss, setting.regularization, setting.stream)
        before = copy.deepcopy(self.module.state_dict()), self.threshold.detach().clone()
        with torch.random.fork_rng(devices=[]):  # dropout draws from our seed and leaves torch's own alone
            torch.manual_seed(int(rng.integers(2**62)))
            state, result = descend(objective, setting, rng, state)
        if result.stop_reason == "diverged":  # the last parameters that were numbers
            self.module.load_state_dict(before[0])
            with torch.no_grad():
                self.threshold.copy_(before[1])
        if not self.is_metric:
            self._level = _mean(self._outputs(self.between))
        return state, result

    def margins(self, X: Any, rows: np.ndarray, others: np.ndarray) -> Any:
        """Margins of pairs, as a tensor."""
        out = self._of(X[np.concatenate([rows, others])])
        first, second = out[: len(rows)], out[len(rows) :]
        if not self.is_metric:
            return first - second
        margin = self.threshold - ((first - second) ** 2).sum(dim=1)
        signs = margin.new_ones(len(rows))
        signs[1::2] = -1.0  # a source of labels draws pairs of one label and of two in turn
        return signs * margin

    def parameters(self) -> np.ndarray:
        """Return all that is learned, as one vector."""
        return np.concatenate([p.detach().double().cpu().numpy().ravel() for p in self._learned()])

    def load(self, x: np.ndarray) -> None:
        """Set all that is learned to the numbers of one vector."""
        import torch

        ends = np.cumsum([p.numel() for p in self._learned()])
        with torch.no_grad():
            for p, numbers in zip(self._learned(), np.split(x, ends[:-1]), strict=True):
                p.copy_(torch.as_tensor(numbers).reshape(p.shape))

    def _learned(self) -> list[Any]:
        return [p for group in self.optimiser.param_groups for p in group["params"]]

    def _of(self, rows: Any) -> Any:
        import torch

        dense = rows.toarray() if sparse.issparse(rows) else rows
        with np.errstate(over="ignore"):
            single = np.asarray(dense, np.float32)
        if not np.isfinite(single).all():
            raise InputError("features above 3e+38 are infinite in a network's single precision: scale them")
        try:
            out = self.module(torch.as_tensor(single, device=self.network.device))
        except RuntimeError as error:
            raise InputError(
                f"the module fails on rows of {dense.shape[1]} features in single precision: {error}"
            ) from error
        if not self.is_metric and out.ndim == 2 and out.shape[1] == 1:
            out = out[:, 0]
        if out.ndim != 1 + self.is_metric or len(out) != len(dense):
            wanted = "an embedding, one row" if self.is_metric else "one score"
            raise InputError(
                f"the module makes an output of shape {tuple(out.shape)} of {len(dense)} rows: it must give {wanted} "
                "each"
            )
        return out


def _mean(scores: np.ndarray) -> float:
    """Of the scores that are finite, and 0 of none."""
    finite = scores[np.isfinite(scores)]
    return float(finite.mean()) if len(finite) else 0.0


class NetworkPairs(DrawnObjective):
    """A module over drawn pairs; its weights are all its parameters in one vector, and the L2 term is Adam's."""

    def __init__(
        self,
        fitted: FittedNetwork,
        X: Any,
        source: Source,
        loss: MarginLoss,
        regularization: float = 0.01,
        stream: bool = False,
    ):
        super().__init__(X, source, loss, regularization, stream)
        self.fitted = fitted

    @property
    def shape(self) -> tuple[int, ...]:
        return self.fitted.parameters().shape

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        return self.fitted.parameters()

    def margins(self, x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        import torch

        now = self.fitted.parameters()
        self.fitted.load(x)
        self.fitted.module.eval()
        with torch.no_grad():
            margins = self.fitted.margins(self.X, first, second).double().cpu().numpy()
        self.fitted.load(now)
        return margins

    def _walk(self, x: np.ndarray, memory: State, rng: np.random.Generator) -> DrawnWalk:
        return _NetworkWalk(self, memory, rng)


class _LatestParameters:
    """A network's parameters as weights that stages of steps work on; the answer is the latest of them."""

    def __init__(self, fitted: FittedNetwork):
        self.last = self.average = fitted.parameters

    def restart_average(self) -> None:
        self.average = self.last  # as ever

    def stored(self) -> dict[str, np.ndarray]:
        return {}


class _NetworkWalk(DrawnWalk):
    """Steps of Adam over drawn pairs."""

    def __init__(self, objective: NetworkPairs, memory: State, rng: np.random.Generator):
        self._fitted, self._X, self._loss = objective.fitted, objective.X, objective.loss
        self.source, self._memory, self._rng = objective.source, memory, rng
        self.weights = _LatestParameters(objective.fitted)

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        """Make one step of Adam, on a batch of pairs."""
        import torch

        fitted = self._fitted
        count = min(count, fitted.network.batch_size)
        rows, others = self.source.draw(count, self._rng)
        for group in fitted.optimiser.param_groups:
            repeats = max(self._memory.numbers.get("repeats", 0), 1)
            group["lr"] = fitted.network.learning_rate / math.sqrt(repeats)
        fitted.optimiser.param_groups[0]["weight_decay"] = float(rule[MU])
        fitted.module.train()
        margins = fitted.margins(self._X, rows, others)
        at = margins.detach().double()
        if not self._loss.accepts_tensors:  # a user's loss, written for numpy
            at = at.cpu().numpy()
        # with the slopes as constants, this product has the gradient of the mean loss
        slopes = torch.as_tensor(self._loss.slope(at), dtype=margins.dtype, device=margins.device)
        fitted.optimiser.zero_grad()
        (slopes * margins).mean().backward()
        fitted.optimiser.step()
        return count, float(self._loss.value(at).sum())

    def probe(self) -> float:
        """Begin at a threshold between the distances, if there is none yet; Adam finds the length of steps."""
        import torch

        if self._fitted.is_metric and not self._memory.last_row().get("evaluations"):
            rows, others = self.source.draw(PROBED, self._rng)
            first, second = (self._fitted.outputs(self._X[side]) for side in (rows, others))
            with torch.no_grad():
                self._fitted.threshold.fill_(float(((first - second) ** 2).sum(axis=1).mean()))
        return 1.0
