"""Numbers that guides quote from benchmarks are those of the results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import _conflicts, _peers_report, _report
from benchmarks import active as active_experiment
from benchmarks._erkle import AUTOMATIC, online_name
from benchmarks._erkle_report import last_errors, trials
from benchmarks._tables import digits
from benchmarks.conclusions import (
    active,
    adadsg_vs_dsgd,
    auc_peers,
    cost_growth,
    erkle_human,
    erkle_large,
    peers_ordinal,
)
from benchmarks.conclusions._words import listed, middle, span

GUIDES = _report.DOCS.parent / "guide"


def guide(name: str) -> str:
    """The text of a guide, with single spaces."""
    return " ".join((GUIDES / f"{name}.md").read_text(encoding="utf-8").split())


def results(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    content = _report.load_finished(name, quick=False)
    return content["rows"], content["settings"]


def test_shares_of_answers_that_strategies_need():
    text, (rows, _) = guide("active"), results("active")
    clean, noisy = ("planted-2", "planted-5"), ("noisier-2", "flipped-2")
    assert (
        f'`"adaptive"` needs {span([active.needed(rows, one, "adaptive") for one in clean], ".0%")}' in text
    )
    others = [active.needed(rows, one, name) for one in clean for name in ("arr", "information-gain")]
    assert f'`"information-gain"` {span(others, ".0%")}' in text
    all_three = [active.needed(rows, one, name) for one in noisy for name in active.CHOSEN]
    assert f"the three need {span(all_three, '.0%')}" in text


def test_strategies_on_answers_of_people():
    text, (rows, settings) = guide("active"), results("active")
    early = {name: active.early(rows, name, settings) for name in settings["human"]}
    ahead = [one for one, error in early.items() if all(error[s] < error["random"] for s in active.CHOSEN)]
    behind = [one for one, error in early.items() if all(error[s] > error["random"] for s in active.CHOSEN)]
    assert f"ahead of random questions on two data sets ({', '.join(ahead)})" in text
    assert f"behind on two ({', '.join(behind)})" in text
    late = [active.late(rows, name, settings) for name in settings["human"]]
    gaps = [one["adaptive"] - one["random"] for one in late]
    assert f"was {span(np.abs(gaps), '.3f')} from random questions" in text
    assert sum(gap < 0 for gap in gaps) == sum(gap > 0 for gap in gaps) == 2
    ends = [active.late(rows, name, settings) for name in settings["planted"]]
    assert (
        sum(one["uncertainty"] > one["random"] for one in ends) == 2
    )  # "on two of the four planted problems"


def test_milliseconds_of_a_question():
    text, (rows, _) = guide("active"), results("active")
    assert (
        f"takes {span(active.costs(rows, ('arr', 'adaptive', 'uncertainty')), '.0f')} ms on one core" in text
    )
    assert f"with {digits(max(active.costs(rows, ('information-gain',))), 2)} ms at ten thousand" in text
    found = active_experiment.results_of(rows, "cost")
    batches = {
        name: [one[name]["batch"] for one in found]
        for name in ("adaptive", "uncertainty", "arr", "information-gain")
    }
    low, high = min(batches["uncertainty"]), max(batches["adaptive"])
    assert f"takes {low:.0f} to {high:.1f} ms per question" in text
    assert f"({span(batches['arr'], '.0f')} ms)" in text
    assert f"({span(batches['information-gain'], '.0f')} ms)" in text
    assert all(one["arr"]["batch"] > one["arr"]["single"] for one in found)  # "saves nothing"


def test_seconds_of_online_and_batch_kernels():
    text, (rows, settings) = guide("online"), results("erkle_large")
    pa, ahead, full, quick = (
        f"{erkle_large.seconds(rows, settings, method):.0f}"
        for method in ("PA", "PA from 3 I", "full, 1", "negative, 1")
    )
    assert f"took {ahead} seconds of processor time, and {pa} from the identity" in text
    assert f"took {full} seconds with all eigenpairs, and {quick} by the quickest batch step" in text


def test_online_kernels_on_answers_of_people():
    text, (rows, settings) = guide("online"), results("erkle_human")
    assert f"by {span(erkle_human.gains(rows, settings, 'PA-I'), '.1f')} points in the median" in text
    assert f"PA-II by {span(erkle_human.gains(rows, settings, 'PA-II'), '.1f')}." in text
    assert f"its error by {span(erkle_human.gains(rows, settings, 'PA', 'majority'), '.1f')} points" in text
    assert min(-gain for gain in erkle_human.gains(rows, settings, "PA", "counts")) > 0  # "does not help"
    batch, online = (erkle_human.music(rows, name, "seconds") for name in ("STE-Batch", "PA-ERKLE, 1"))
    assert f"({batch:.1f} seconds with the choice of its penalty, {online:.0f} for one online pass)" in text
    errors = [erkle_human.music(rows, f"PA-ERKLE, {passes}", "error") for passes in (1, 10)]
    assert f"from {errors[0]:.3f} to {errors[1]:.3f} on music artists" in text


def test_batch_kernels_are_better_and_mostly_quicker():
    rows, settings = results("erkle_human")
    assert all(batch < online for batch, online in erkle_human.batch_errors(rows, settings).values())
    assert erkle_human.music(rows, "STE-Batch", "error") < erkle_human.music(rows, "PA-ERKLE, 10", "error")
    slower = []
    for data in settings["conflicts"]:
        found = _conflicts.of(rows, data)
        batch, online = (
            middle(one[name]["seconds"] for one in found) for name in (_conflicts.BATCH, "PA / each / 1")
        )
        slower += [data] if batch > online else []
    assert f"quicker on all but one of them ({slower[0]})" in guide("online")
    assert len(slower) == 1


def test_what_ten_passes_gain_on_planted_points():
    text, (rows, _) = guide("online"), results("erkle")
    found = trials(rows)
    errors = [middle(last_errors(found, online_name("PA", passes))) for passes in (1, 10)]
    assert f"from {errors[0]:.2f} to {errors[1]:.2f} on planted points" in text
    ratios = [
        middle(one[online_name(name, 10)]["seconds"] / one[online_name(name, 1)]["seconds"] for one in found)
        for name in ("PA", "STE")
    ]
    assert f"cost {span(ratios, '.0f')} times as much time" in text
    assert middle(last_errors(found, AUTOMATIC)) < errors[1]


def test_the_default_compared_with_cblearn():
    text, (rows, settings) = guide("cblearn"), results("peers_ordinal")
    data = _peers_report.by_data(rows, settings)
    large, default = data["planted-3000"], _peers_report.DEFAULT
    ten, one, gnmds = (_peers_report.times(large, peer, default) for peer in ("SOE", "SOE, 1 start", "GNMDS"))
    assert f"takes {ten:.0f} times the time of our default; with one start {one:.0f} times" in text
    assert f"GNMDS, the quickest that comes close, takes {gnmds:.0f} times" in text
    errors = [_peers_report.mean_error(large, name) for name in ("SOE", "SOE, 1 start", "GNMDS", default)]
    assert "({:.3f}, {:.3f}, {:.3f}; ours {:.3f})".format(*errors) in text
    small = [found for name, found in data.items() if name not in _peers_report.LARGE]
    close = span([peers_ordinal.quickest_close(found, settings) for found in small], ".1f")
    assert f"takes {close} times the time of our default" in text
    behind = peers_ordinal.lost(data, settings)
    assert f"less error on {listed(list(behind))}" in text
    assert round(_peers_report.times(data["music"], "TSTE", default)) == 17  # "at 17 times our time"
    for name, peer in (("music", "TSTE"), ("fruit", "LORE")):
        assert _peers_report.best_peer(data[name], settings) == peer
        assert f"its {peer} by {float(behind[name]):.3f} on" in text
    quicker = [found for found in small if peers_ordinal.quickest_close(found, settings) < 1]
    assert quicker == [data["planted-100"]]
    for found in quicker:
        peer = min(
            _peers_report.close_peers(found, settings),
            key=lambda name, found=found: _peers_report.times(found, name, default),
        )
        assert _peers_report.times(found, _peers_report.QUICK, peer) < 0.3  # "about a quarter of its time"
        assert _peers_report.difference(found, _peers_report.QUICK, peer).mean < 0  # "with less error"


def test_t_ste_is_better_on_music():
    data = _peers_report.by_data(*results("peers_ordinal"))
    assert "better on opinions such as those about music artists" in guide("choosing")
    apart = _peers_report.difference(data["music"], _peers_report.DEFAULT, "nearer SOE")
    assert apart.mean + 2 * apart.error < 0
    assert all("tste" in results[_peers_report.DEFAULT]["chose"] for results in data["music"])


def test_pairs_beside_logistic_regression():
    text, (rows, settings) = guide("pairwise"), results("adadsg_vs_dsgd")
    sets = adadsg_vs_dsgd.sets_of(rows, settings)
    lowest = min(adadsg_vs_dsgd.ended(sets).values())
    assert f"the lowest mean is {-lowest:.4f} behind" in text
    shares = adadsg_vs_dsgd.shares_of_time(sets)
    assert f"in {100 * min(shares):.1f} to {100 * max(shares):.0f}% of its CPU time" in text
    gains = adadsg_vs_dsgd.ended(sets)
    assert f"gains {gains['ijcnn1']:.3f} AUC" in text
    assert f"sector, which gains most ({max(gains.values()):.3f})" in text


def test_the_whole_classifier_beside_logistic_regression():
    text, (rows, settings) = guide("pairwise"), results("auc_peers")
    ratios = auc_peers.whole_times(auc_peers.report.sets_of(rows, settings))
    assert sum(ratio > 1 for ratio in ratios) == 7
    assert f"on seven sets ({span(ratios, '.1f')} times its CPU time)" in text


def test_powers_of_growth():
    text, (rows, settings) = guide("pairwise"), results("cost_growth")
    ada, other = (
        [cost_growth.power(rows, settings, data, name, "objective") for data in settings["data"]]
        for name in ("AdaDSG", "DSGD")
    )
    assert f"(n to the power {span(ada, '.2f')})" in text
    assert f"({span(other, '.2f')})" in text
    assert f"n to the power {cost_growth.power(rows, settings, 'zipf', 'AdaDSG', 'auc'):.2f}" in text


def test_no_page_calls_a_claim_refuted_that_was_tested_in_part():
    pages = [*_report.DOCS.parent.rglob("*.md"), _report.DOCS.parents[1] / "README.md"]
    assert [page.name for page in pages if "refuted" in page.read_text(encoding="utf-8").lower()] == []
