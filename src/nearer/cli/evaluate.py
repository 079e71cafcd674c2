"""`nearer evaluate`: how many answers a saved model gets right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearer.cli._models import load_model
from nearer.cli._options import (
    AnswersFile,
    AsJson,
    Columns,
    Header,
    Invalid,
    InvalidRows,
    ModelFile,
    ZeroMeans,
    read_answers,
)
from nearer.cli._output import percent, show
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.ordinal import OrdinalEmbedding


def evaluate(
    model: ModelFile,
    answers: AnswersFile,
    columns: Columns = None,
    header: Header = None,
    zero: ZeroMeans = None,
    invalid: InvalidRows = Invalid.error,
    as_json: AsJson = False,
) -> None:
    """Score a saved model on answers: the share that holds on its map."""
    estimator = load_model(model)
    about = {"names": estimator.names_, "n_objects": len(estimator.embedding_)}
    comparisons = read_answers(answers, columns, header, zero, invalid, **about)
    if not len(comparisons):
        raise InputError(f"{answers}: there are no comparisons to evaluate")
    accuracy = estimator.score(comparisons)
    spread = (accuracy * (1 - accuracy) / len(comparisons)) ** 0.5
    surprise = _log_loss(estimator, comparisons)
    conflicts = comparisons.conflicts()
    lines = [
        ("accuracy", f"{percent(accuracy)} ± {percent(spread)} of {len(comparisons):,} comparisons"),
        ("conflicts", f"{conflicts.n_rows:,} comparisons contradict another"),
    ]
    if surprise is not None:
        lines.insert(1, ("log loss", f"{surprise:.4f} (a coin has 0.6931)"))
    facts = {
        "accuracy": accuracy,
        "error": 1 - accuracy,
        "standard_error": spread,
        "log_loss": surprise,
        "n_comparisons": len(comparisons),
        "n_dropped": comparisons.n_dropped,
        "n_conflicts": conflicts.n_rows,
    }
    show(facts, lines, as_json=as_json)


def _log_loss(estimator: OrdinalEmbedding, comparisons: Comparisons) -> float | None:
    """Mean of -log(probability of the answer), where the loss has probabilities."""
    import numpy as np

    if not estimator.loss_.has_probability:
        return None
    probability = estimator.predict_proba(comparisons)
    return float(np.average(-np.log(np.maximum(probability, 1e-15)), weights=comparisons.weights))
