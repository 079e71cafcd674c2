"""Tables of `peers_recommend`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _recommend_standings as standings
from benchmarks import peers_recommend as experiment
from benchmarks._recommend_standings import TITLES, Rows
from benchmarks._tables import Table, checks, digits, median

HEADINGS = {
    "warm": "Warm: a tenth of the pairs",
    "history": "New users from 80% of their history",
    "side": "New users from gender, age and occupation",
    "items": "New movies from genres and year, ranked among themselves",
    "ncf": "One movie among 99 others (split of He et al.)",
}
#: as published, on the same split: He et al. (2017), with pre-training, and Rendle et al. (2020)
PUBLISHED = {
    "NeuMF (published: He et al. 2017)": (0.730, 0.447),
    "matrix factorisation (published: Rendle et al. 2020)": (0.7294, 0.4523),
}


def tables(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """Checks if ours was measured, then every protocol, differences and the chosen settings."""
    found = []
    judged = standings.checks(rows)
    if any(holds is not None for *_, holds in judged):
        found.append(checks(judged))
    measured = [name for name in settings["protocols"] if standings.rivals(rows, name)]
    found += [_protocol(rows, name) for name in measured]
    if measured:
        found.append(_differences(rows, measured))
    chosen = _settings(rows, settings)
    return [*found, chosen] if chosen.rows else found


def _protocol(rows: Rows, protocol: str) -> Table:
    names = standings.measures(protocol)
    table = Table(HEADINGS[protocol], ["", *(TITLES[name] for name in names), "CPU s", "s"])
    for rival in standings.rivals(rows, protocol):
        means = [standings.mean(standings.values(rows, protocol, rival, name)) for name in names]
        table.add(rival, *means, *_clocks(rows, protocol, rival))
    if protocol == "ncf":
        for name, (hr10, ndcg10) in PUBLISHED.items():
            table.add(name, hr10, ndcg10, "-", "-")
    for name, reason in _failures(rows, protocol).items():
        table.add(name, reason, *["-"] * (len(names) + 1))
    table.note = _note(rows, protocol)
    return table


def _clocks(rows: Rows, protocol: str, rival: str) -> list[str]:
    found = standings.results(rows, protocol, rival)
    return [digits(median(one[clock] for one in found), 2) for clock in ("cpu", "seconds")]


def _failures(rows: Rows, protocol: str) -> dict[str, str]:
    return {
        rival: result["failure"]
        for row in rows
        if row["cell"]["protocol"] == protocol
        for rival, result in row["results"].items()
        if "failure" in result
    }


def _note(rows: Rows, protocol: str) -> str:
    measure = standings.DECISIVE[protocol][0]
    within = [
        one[measure][1]
        for rival in standings.rivals(rows, protocol)
        for one in standings.results(rows, protocol, rival)
    ]
    over = "groups of users" if protocol == "ncf" else "splits"
    return (
        f"Means ± standard errors over {over}; times are medians. Over the users of one split the standard error of "
        f"{TITLES[measure]} is {digits(min(within), 2)} to {digits(max(within), 2)}."
    )


def _differences(rows: Rows, measured: list[str]) -> Table:
    columns = ["protocol", "measure", "best of EASE and iALS", "rival", "rival minus the best"]
    table = Table("Differences on the same splits", columns)
    for protocol in measured:
        for measure in standings.DECISIVE[protocol]:
            best = standings.strongest(rows, protocol, measure)
            for rival in standings.rivals(rows, protocol):
                ahead = standings.lead(rows, protocol, rival, best, measure) if best else None
                if ahead and rival != best:
                    text = f"{ahead.mean:+.4f} ± {ahead.error:.4f}"
                    table.add(protocol, TITLES[measure], best, rival, text)
    return table


def _settings(rows: Rows, settings: dict[str, Any]) -> Table:
    table = Table(
        "Chosen settings", ["protocol", "rival", "setting", "score", "worst score", "trials", "CPU s"]
    )
    for row in rows:
        if row["cell"]["split"] != experiment.CHOICE:
            continue
        for rival, found in row["results"].items():
            scores = [one["score"] for one in found["trials"]]
            setting = ", ".join(f"{name} {_shown(value)}" for name, value in found["setting"].items())
            seconds = np.sum([one["seconds"] for one in found["trials"]])
            ends = f"{max(scores):.4f}", f"{min(scores):.4f}"
            table.add(row["cell"]["protocol"], rival, setting, *ends, len(scores), digits(seconds, 2))
    table.note = (
        "Scores on the validation part of the first split, on which test pairs of that split count as misses; CPU "
        "seconds are of all trials together. Our search held out pairs, users or movies of its own; its seconds are "
        "those that passed."
    )
    return table


def _shown(value: Any) -> str:
    """Return a setting as text: a number, a word, or several of either.

    >>> _shown(0.25), _shown(["ids", "features"]), _shown([])
    ('0.25', 'ids/features', 'none')
    """
    if isinstance(value, list):
        return "/".join(_shown(each) for each in value) or "none"
    return value if isinstance(value, str) else digits(value)
