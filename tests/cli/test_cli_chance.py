"""Commands that score a model say so where it is no better than guessing."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nearer


@pytest.fixture
def noise(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.argsort(rng.random((400, 12)), axis=1)[:, :3]
    nearer.Comparisons(rows, names=[f"thing{index}" for index in range(12)]).write(tmp_path / "noise.csv")
    return "noise.csv"


@pytest.mark.parametrize("model", ["embedding", "kernel", "online"])
def test_fit(run, noise, model):
    result = run("fit", noise, "--model", model, "--json", "--report", "report.html", exits=0)
    assert result.stderr.count("\n") == 1
    assert "noise.csv: the held-out accuracy" in result.stderr
    assert "guessing" in result.stderr
    assert json.loads(result.stdout)["at_chance"] is True
    with open("report.html", encoding="utf-8") as report:
        assert "no better than guessing" in report.read()


def test_a_fit_without_a_held_out_part(run, noise):
    result = run("fit", noise, "--test-size", 0, "--json")
    assert "no better than guessing" in result.stderr
    assert json.loads(result.stdout)["at_chance"] is None


def test_evaluate(run, fitted, noise, tmp_path):
    result = run("evaluate", fitted / "model.nearer", noise, "--json")
    assert "noise.csv: the accuracy" in result.stderr
    assert json.loads(result.stdout)["at_chance"] is True
    good = run("evaluate", fitted / "model.nearer", fitted / "answers.csv", "--json")
    assert (good.stderr, json.loads(good.stdout)["at_chance"]) == ("", False)
    turned = (fitted / "answers.csv").read_text().replace("near,far", "far,near")
    (tmp_path / "turned.csv").write_text(turned)
    assert "worse than guessing" in run("evaluate", fitted / "model.nearer", "turned.csv").stderr
