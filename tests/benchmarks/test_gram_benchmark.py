"""The rows "cvx" and "kernel" of the benchmark `table1`, and what it already measured."""

from benchmarks import _gram, _race, _runner, _store, table1

SMALL = {**table1.SETTINGS, "n_objects": 15, "n_components": 2, "n_train": 400, "n_test": 400, "seeds": 1}
SMALL |= {"losses": ["ste", "tste"], "curve_passes": 5, "max_passes": 60}


def test_both_forms_are_measured_and_shown():
    rows = []
    for cell in _gram.gram_cells(SMALL):
        problem = table1.problem(SMALL, cell["seed"])
        results = dict(_gram.measure(cell, _runner.Job(SMALL, [], frozenset()), problem))
        assert set(results) == {_gram.name(cell["loss"]), "batch"}
        assert _race.reached(results[_gram.name(cell["loss"])], "seconds", 0.2) is not None
        rows.append({"cell": cell, "results": results})
    (table,) = _gram.tables(rows, {"ste": "STE", "tste": "t-STE"}, SMALL["targets"])
    assert [row[1] for row in table.rows] == ["cvx", "batch", "kernel", "batch"]
    assert table.rows[0][-1].endswith("%")
    assert _gram.tables([], {"ste": "STE"}, SMALL["targets"]) == []


def test_what_was_measured_before_stays_valid():
    content = _store.read(_runner.results_path("table1", quick=False))
    assert content["settings"] == table1.SETTINGS
    cells = {_store.cell_key(cell) for cell in table1.cells(table1.SETTINGS)}
    assert {_store.cell_key(row["cell"]) for row in content["rows"]} <= cells
