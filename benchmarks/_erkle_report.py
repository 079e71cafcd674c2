"""Tables of the benchmark `erkle`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._erkle import (
    AUTOMATIC,
    BATCH,
    BOTH_SIDES,
    CONVERGED,
    FEW,
    FIXED,
    NAMES,
    ONE_SIDED,
    RULES,
    TUNED,
    UPDATES,
    Rows,
    batch_name,
    few_name,
    online_name,
    passes_of,
    tuning_of,
)
from benchmarks._tables import Table, best_in_bold, checks, digits, median, quartiles

#: answers between two batch kernels in the paper
_MINI_BATCH = 100

Check = tuple[str, str, str, bool | None]


def trials(rows: Rows) -> list[dict[str, Any]]:
    """The results of the reported trials, by rival, each with its control."""
    control = {row["cell"]["seed"]: row["results"] for row in rows if row["cell"]["part"] == "control"}
    return [
        {**row["results"], **control.get(row["cell"]["seed"], {})}
        for row in rows
        if row["cell"]["part"] == "trial"
    ]


def last_errors(found: list[dict[str, Any]], rival: str) -> list[float]:
    """Errors in the end, a trial each."""
    return [results[rival]["errors"][-1] for results in found if rival in results]


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """What the paper says and what was found; errors, passes, factors and projections."""
    found = trials(rows)
    if not found:
        return []
    return [
        checks(_claims(found, settings)),
        _error_table(found, settings),
        _cost_table(found, settings),
        _passes_table(found, settings),
        _factor_table(rows, settings),
        _projection_table(found, settings),
    ]


# -- the paper's claims ------------------------------------------------------------------------------------------------


def _claims(found: list[dict[str, Any]], settings: dict[str, Any]) -> Iterator[Check]:
    first, most = settings["passes"][0], settings["passes"][-1]
    ste = online_name("STE", first)
    steps = list(RULES)
    yield _lower(found, "1a: STE-ERKLE, constant steps against 1/sqrt(j)", ste, [steps[1]])
    yield _lower(found, "1a: STE-ERKLE, steps 1/sqrt(j) against 1/j", steps[1], [steps[0]])
    root, constant = TUNED
    yield _lower(found, "1a: STE-ERKLE, constant steps against c/sqrt(j) with the best c", ste, [root])
    yield _lower(found, "1a: the same, with the best c in both", constant, [root])
    for way in (FIXED, CONVERGED, ONE_SIDED):
        batch = [batch_name(*one) for one in BATCH if one[0] == way]
        for count in (first, most):
            worse = _worse(found, count)
            yield _lower(
                found, f"1b: {worse} (the worse of two) against the best batch kernel, {way}", worse, batch
            )
    if controlled := _controls(found):
        worse = _worse(found, first)
        what = f"1b: {worse} (the worse of two) against the best batch kernel, {BOTH_SIDES}"
        yield _lower(found, what, worse, controlled)
    for name, loss in zip(UPDATES, FEW, strict=True):
        for count in (first, most):
            yield _fewer_passes(found, settings, name, loss, count)


def _worse(found: list[dict[str, Any]], passes: int) -> str:
    rivals = [online_name(name, passes) for name in UPDATES]
    return max(rivals, key=lambda rival: np.median(last_errors(found, rival)))


def _controls(found: list[dict[str, Any]]) -> list[str]:
    """The controls of one-sided gradients, where all trials have them."""
    names = [batch_name(BOTH_SIDES, loss) for way, loss in BATCH if way == ONE_SIDED]
    return names if all(name in results for results in found for name in names) else []


def _lower(found: list[dict[str, Any]], what: str, rival: str, others: list[str]) -> Check:
    other = min(others, key=lambda name: np.median(last_errors(found, name)))
    return _compared(what, last_errors(found, rival), last_errors(found, other))


def _fewer_passes(
    found: list[dict[str, Any]], settings: dict[str, Any], name: str, loss: str, count: int
) -> Check:
    what = (
        f"1c: {online_name(name, count)}, against {count} gradient step{'s' * (count > 1)} of {NAMES[loss]}"
    )
    return _compared(
        what, last_errors(found, online_name(name, count)), after_steps(found, settings, loss, count)
    )


def _compared(what: str, mine: list[float], others: list[float]) -> Check:
    wins = sum(a < b for a, b in zip(mine, others, strict=True))
    ours, theirs = median(mine), median(others)
    text = f"{digits(ours)} against {digits(theirs)}; lower in {wins} of {len(mine)} trials"
    return what, "lower", text, None if ours is None or theirs is None else ours < theirs


def after_steps(found: list[dict[str, Any]], settings: dict[str, Any], loss: str, count: int) -> list[float]:
    """Errors after a number of gradient steps of the size that is best then."""
    place = settings["gradient_steps"].index(count)
    by_size = [
        [results[few_name(loss)]["errors"][str(size)][place] for results in found]
        for size in settings["step_sizes"]
    ]
    # a fit that ended early has blown up: nothing holds
    known = [[1.0 if error is None else error for error in errors] for errors in by_size]
    return min(known, key=lambda errors: float(np.median(errors)))


# -- tables ------------------------------------------------------------------------------------------------------------


def _spread(values: list[float]) -> str:
    low, middle, high = quartiles(values)
    return f"{middle:.4f} ({low:.4f}-{high:.4f})"


def _online_rivals(settings: dict[str, Any]) -> dict[str, int]:
    """The online rivals and their passes."""
    rivals = dict.fromkeys([*RULES, *TUNED], 1)
    return rivals | {online_name(name, count): count for count in passes_of(settings) for name in UPDATES}


def _batch_rivals(found: list[dict[str, Any]]) -> list[str]:
    return [*(batch_name(*one) for one in BATCH), *_controls(found), AUTOMATIC]


def _error_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    sizes = settings["batch_at"]
    title = f"Held-out error: medians of {len(found)} trials (quartiles)"
    table = Table(title, ["", *(f"after {size:,} answers" for size in sizes)])
    errors = {
        rival: _errors(found, rival, settings) for rival in [*_online_rivals(settings), *_batch_rivals(found)]
    }
    columns = []
    for place in range(len(sizes)):
        those = [some[place] for some in errors.values()]
        texts = ["-" if one is None else _spread(one) for one in those]
        columns.append(best_in_bold(texts, [None if one is None else median(one) for one in those]))
    for rival, *texts in zip(errors, *columns, strict=True):
        count = sum(rival in results for results in found)
        table.add(rival if count == len(found) else f"{rival} ({count} trials)", *texts)
    return table


def _errors(found: list[dict[str, Any]], rival: str, settings: dict[str, Any]) -> list[list[float] | None]:
    """By number of answers, the errors of all trials; None where it was not fitted."""
    curves = [results[rival]["errors"] for results in found if rival in results]
    sizes = settings["batch_at"]
    if rival in _online_rivals(settings):
        return [[curve[size // settings["every"] - 1] for curve in curves] for size in sizes]
    missing = len(sizes) - len(curves[0])
    return [*[None] * missing, *([curve[place] for curve in curves] for place in range(len(curves[0])))]


def _cost_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    note = (
        "Seconds of the processor, on one core that others were using too. *At the end*: one kernel from all answers, "
        f"without choosing the penalty (except by cross-validation). *At every {_MINI_BATCH}*: one from the answers "
        f"so far after every {_MINI_BATCH} of them, for batch estimated from its fits to fewer answers. Passes are "
        "gradients of single answers, divided by their number. The penalty is that of the trace beside the mean loss; "
        "times the number of answers it is the tau of the paper, which sums the losses."
    )
    heads = ["", "seconds, at the end", f"seconds, at every {_MINI_BATCH}", "passes", "rank", "penalty"]
    table = Table("Cost: medians", heads, note=note)
    for rival, count in _online_rivals(settings).items():
        those = [results[rival] for results in found if rival in results]
        seconds, rank = (digits(median(one[part] for one in those)) for part in ("seconds", "rank"))
        table.add(rival, seconds, seconds, count, rank, "-")
    for rival in _batch_rivals(found):
        those = [results[rival] for results in found]
        seconds, passes, rank, penalty = (
            digits(median(one[part][-1] for one in those))
            for part in ("seconds", "gradients", "ranks", "penalties")
        )
        again = digits(median(_retrained(one["seconds"], settings) for one in those))
        table.add(rival, seconds, again, passes, rank, penalty)
    return table


def _retrained(seconds: list[float], settings: dict[str, Any]) -> float | None:
    """Seconds of fits at every so many answers: straight lines between those measured, and below as at the first."""
    if len(seconds) < len(settings["batch_at"]):
        return None
    sizes = np.arange(_MINI_BATCH, settings["n_train"] + 1, _MINI_BATCH)
    return float(np.interp(sizes, settings["batch_at"], seconds).sum())


def _passes_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    counts = sorted({*passes_of(settings), *settings["gradient_steps"]})
    note = (
        "Batch kernels take so many gradient steps from the identity, of the size that is best on the held-out answers "
        "for that number of steps."
    )
    title = "Error after a few passes over all answers: medians (quartiles)"
    table = Table(title, ["", *(str(count) for count in counts)], note=note)
    for name in UPDATES:
        errors = [last_errors(found, online_name(name, count)) for count in counts]
        table.add(f"{name}-ERKLE", *(_spread(some) if some else "-" for some in errors))
    for loss in FEW:
        taken = [count if count in settings["gradient_steps"] else None for count in counts]
        texts = ["-" if n is None else _spread(after_steps(found, settings, loss, n)) for n in taken]
        table.add(f"{NAMES[loss]}, batch", *texts)
    return table


def _factor_table(rows: Rows, settings: dict[str, Any]) -> Table:
    tuning = tuning_of(rows)
    note = "On the trial that also chose the penalties; the best factor of each is the c above."
    table = Table("STE-ERKLE, one pass: steps times a factor", ["steps", "factor: error"], note=note)
    for step, factors in settings["factors"].items():
        errors = [tuning[f"{step} {factor}"]["errors"][-1] for factor in factors]
        table.add(step, ", ".join(f"{f:g}: {error:.4f}" for f, error in zip(factors, errors, strict=True)))
    return table


def _projection_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    heads = ["", "steps", "known to need no projection", "negative eigenvalues", "ms a step"]
    table = Table("Projections: medians", heads)
    for count in passes_of(settings):
        for name in UPDATES:
            rival = online_name(name, count)
            those = [results[rival] for results in found if rival in results]
            parts = [median(one[part] for one in those) for part in ("steps", "skipped", "negative")]
            cost = median(1000 * one["seconds"] / one["steps"] for one in those)
            table.add(rival, *(f"{round(part):,}" for part in parts if part is not None), digits(cost))
    return table
