"""Tables of `auc_peers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import _auc_race as race
from benchmarks._auc_report import LR, NEAR, TIE, Results, ahead_on, signed, sure, verdict
from benchmarks._tables import Table, digits, median

#: in the order of the tables
RIVALS = (
    "AdaDSG",
    "DSGD",
    "OLP",
    "OLP whole buffer",
    "OPAUC",
    "OPAUC low rank",
    "SOLAM",
    "SOLAM as it comes",
    "exact",
    "AUCClassifier",
    "SGDClassifier",
    "LibAUC AUCM",
    "LibAUC pairwise",
    "xgboost",
)
#: those whose way was watched
WATCHED = RIVALS[:8]
#: OLP with the whole of a buffer at every step, by its rows
BUFFERS = {20: "OLP buffer 20", 100: "OLP buffer 100", 500: "OLP whole buffer", 2500: "OLP buffer 2500"}
#: a time is shorter where the median is below the other by a tenth
SHORTER = 0.9


def by_trial(rows: list[dict[str, Any]], data: str) -> list[Results]:
    """The results of a data set, one dict a trial: all parts together, where logistic regression is among them."""
    trials: dict[int, Results] = {}
    for row in rows:
        if row["cell"]["data"] == data:
            trials.setdefault(row["cell"]["trial"], {}).update(row["results"])
    return [results for _, results in sorted(trials.items()) if LR in results]


def sets_of(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, list[Results]]:
    """The measured data sets, in their order."""
    found = {name: by_trial(rows, name) for name in settings["data"]}
    return {name: trials for name, trials in found.items() if trials}


def leads(found: list[Results], rival: str, over: str = LR) -> list[float]:
    """AUC of a rival minus that of another on the trials that both have."""
    return [
        float(one[rival]["auc"] - one[over]["auc"])
        for one in found
        if "auc" in one.get(rival, {}) and "auc" in one.get(over, {})
    ]


def seconds_to(found: list[Results], rival: str) -> list[float | None]:
    """CPU seconds of a watched rival until logistic regression's AUC less 0.005; None is never."""
    return [race.reached(one[rival]["curve"], one[LR]["auc"] - NEAR) for one in found if rival in one]


# -- tables -----------------------------------------------------------------------------------------------------------


def peers_tables(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Claims and ties, then AUC, time, and time to a given AUC."""
    sets = sets_of(rows, settings)
    if not sets:
        return []
    tables = [_claims(sets), _ties(sets), _aucs(sets), _times(sets), _times_to(sets)]
    return [*tables, _buffers(sets)] if _present(sets, list(BUFFERS.values())[:1]) else tables


def _columns(sets: dict[str, list[Results]]) -> list[str]:
    return ["", *sets]


def _present(sets: dict[str, list[Results]], rivals: Sequence[str]) -> list[str]:
    return [name for name in rivals if any(name in one for found in sets.values() for one in found)]


def _aucs(sets: dict[str, list[Results]]) -> Table:
    table = Table("Test AUC minus that of logistic regression on the same split", _columns(sets))
    table.add(
        "LogisticRegression, its AUC", *(f"{np.mean([o[LR]['auc'] for o in f]):.4f}" for f in sets.values())
    )
    for name in _present(sets, RIVALS):
        cells = [_lead_text(found, name) for found in sets.values()]
        table.add(f"{name} ({_trials(sets, name)})", *cells)
    table.note = (
        "Means of trials ± standard errors; in brackets how many trials there were. xgboost's trees are not linear: "
        "what they add is what lines cannot do."
    )
    return table


def _lead_text(found: list[Results], name: str) -> str:
    failures = [one[name]["failure"] for one in found if "failure" in one.get(name, {})]
    differences = leads(found, name)
    return signed(differences) if differences else failures[0] if failures else "-"


def _times(sets: dict[str, list[Results]]) -> Table:
    table = Table("CPU milliseconds of a fit, medians", _columns(sets))
    for name in [LR, *_present(sets, RIVALS)]:
        middles = [
            median(one[name].get("seconds") for one in found if name in one) for found in sets.values()
        ]
        table.add(name, *("-" if middle is None else digits(1000 * middle) for middle in middles))
    table.note = (
        "Solvers of pairs with their own number of passes, without the checks of the input; AUCClassifier with them, "
        "with its second fit for the threshold, and with the threshold and calibration themselves."
    )
    return table


def _times_to(sets: dict[str, list[Results]]) -> Table:
    title = f"CPU milliseconds until logistic regression's AUC - {NEAR}, medians"
    table = Table(title, _columns(sets))
    table.add("LogisticRegression, to its end", *(_ms([o[LR]["seconds"] for o in f]) for f in sets.values()))
    for name in _present(sets, WATCHED):
        table.add(name, *(_ms(seconds_to(found, name)) for found in sets.values()))
    table.note = '"-": not measured, or not reached in the median trial.'
    return table


def _ms(seconds: Sequence[float | None]) -> str:
    middle = median(seconds)
    return "-" if middle is None else digits(1000 * middle)


def _buffers(sets: dict[str, list[Results]]) -> Table:
    table = Table("OLP by the rows of its buffer: test AUC minus that with 500", _columns(sets))
    others = [size for size in BUFFERS if size != 500]
    for size in others:
        cells = (leads(found, BUFFERS[size], BUFFERS[500]) for found in sets.values())
        table.add(f"{size:,} rows", *(signed(lead) if lead else "-" for lead in cells))
    for size, name in BUFFERS.items():
        table.add(
            f"{size:,} rows: ms", *(_ms([o[name]["seconds"] for o in f if name in o]) for f in sets.values())
        )
    table.note = "One pass, every step on the whole of the other class's half. Milliseconds are CPU medians."
    return table


def _ties(sets: dict[str, list[Results]]) -> Table:
    table = Table(
        "AdaDSG and logistic regression in the end",
        ["data", "trials", "AUC minus LR's", "verdict", "CPU time"],
    )
    words = {1: "AdaDSG ahead", 0: "**tie**", -1: "LR ahead"}
    for name, found in sets.items():
        differences = leads(found, "AdaDSG")
        share = median(one["AdaDSG"]["seconds"] / one[LR]["seconds"] for one in found if "AdaDSG" in one)
        table.add(
            name,
            len(differences),
            signed(differences),
            words[sure(differences)],
            "-" if share is None else f"{share:.0%} of LR's",
        )
    table.note = f"A tie: the mean difference is within {TIE} or two standard errors."
    return table


def _claims(sets: dict[str, list[Results]]) -> Table:
    table = Table("What the paper says", ["claim", "measured", "trials", "verdict"])
    claims = (
        ("AdaDSG is faster than OLP with its whole buffer of 500, as in the paper", "OLP whole buffer"),
        ("AdaDSG is faster than OLP with 4 rows of the buffer a step", "OLP"),
        ("AdaDSG is faster than OPAUC with whole covariances", "OPAUC"),
        ("AdaDSG is faster than OPAUC of low rank", "OPAUC low rank"),
        ("AdaDSG is faster than SOLAM, rows as they come", "SOLAM as it comes"),
        ("AdaDSG is faster than SOLAM, classes in balance", "SOLAM"),
    )
    for claim, rival in claims:
        ahead = {name: one for name, found in sets.items() if (one := faster(found, rival)) is not None}
        if ahead:
            table.add(claim, ahead_on(ahead), _trials(sets, rival), verdict(ahead))
    small, _, _, large = BUFFERS
    better = {
        name: sure(lead)
        for name, found in sets.items()
        if (lead := leads(found, BUFFERS[large], BUFFERS[small]))
    }
    if better:
        claim = f"OLP generalises better with a larger buffer: {large:,} rows against {small}"
        table.add(claim, ahead_on(better), _trials(sets, BUFFERS[large]), verdict(better))
    _add_crash(table, sets)
    table.note = (
        f"Faster: the median CPU time until logistic regression's AUC - {NEAR} is shorter by a tenth, on the trials "
        f"that both have; never is longest. Better: the mean AUC in the end is higher by more than {TIE} and two "
        "standard errors (of one trial, the former alone)."
    )
    return table


def _trials(sets: dict[str, list[Results]], rival: str) -> str:
    """How many trials a rival has.

    >>> _trials({"a": [{"OLP": {}}, {}], "b": [{"OLP": {}}, {"OLP": {}}]}, "OLP")
    '1-2'
    """
    counts = [count for found in sets.values() if (count := sum(rival in one for one in found))]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low}-{high}"


def faster(found: list[Results], rival: str) -> int | None:
    """Return 1 where AdaDSG's median time to a good AUC is a tenth below a rival's, -1 where above, else 0."""
    both = [one for one in found if rival in one and "AdaDSG" in one]
    if not both:
        return None
    ours, other = (
        np.inf if (middle := median(seconds_to(both, name))) is None else middle for name in ("AdaDSG", rival)
    )
    return 1 if ours < SHORTER * other else -1 if other < SHORTER * ours else 0


def _add_crash(table: Table, sets: dict[str, list[Results]]) -> None:
    texts = {name: found for name, found in sets.items() if name.startswith("like ")}
    ran = [name for name, found in texts.items() if any("auc" in one.get("OLP", {}) for one in found)]
    if ran:
        what = "OLP crashes on data of the size of rcv1 and real-sim"
        table.add(
            what, f"ours runs on {', '.join(ran)}", _trials(texts, "OLP"), "does not hold for our program"
        )
