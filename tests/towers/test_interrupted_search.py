"""Ctrl-C ends the trials of a search; the best settings so far are fitted."""

from __future__ import annotations

import nearer


def test_ctrl_c_in_a_trial_ends_the_search():
    clicks, _, _ = nearer.datasets.planted_interactions(30, 20, 2, 200, random_state=0)
    calls = []

    def interrupt(progress):
        calls.append(progress.epoch)
        if len(calls) == 5:
            raise KeyboardInterrupt

    model = nearer.TwoTower(4, max_epochs=20, tol=0.0, random_state=0, callback=interrupt)
    model.search(clicks, seconds=600)
    trials = model.result_.details["trials"]
    assert len(trials) == 1
    assert trials[0]["epochs"] < 20
    assert model.result_.stop_reason == "epochs"
