"""Verdicts on planted values, and the committed results against the committed code."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from steinsdr.paper.experiment import EXPERIMENTS, Row, find_experiment
from steinsdr.paper.ledger import (
    LAYOUTS,
    TEST_PER_TRAIN,
    Ledger,
    bold_entries,
    compare_means,
    load_paper,
    paired_differences,
    pooled_differences,
)
from steinsdr.paper.provenance import Manifest
from steinsdr.paper.simulations import TABLE1
from steinsdr.paper.store import Store

PAPER = ROOT / "book" / "paper"
RESULTS = ROOT / "book" / "results"


@pytest.mark.parametrize(
    ("ours", "paper", "z", "verdict"),
    [
        ((1.29, 0.5, 25), (1.0, 0.0), 2.9, "agrees"),
        ((1.31, 0.5, 25), (1.0, 0.0), 3.1, "differs"),
        ((1.01, 0.0, 100), (1.3, 1.0), -2.9, "agrees"),
        ((0.99, 0.0, 100), (1.3, 1.0), -3.1, "differs"),
        ((2.03, 0.01, 100), (2.0, 0.01), 30 / np.sqrt(2), "agrees"),  # within 2%
        ((9.0, 0.0, 100), (9.0, 0.0), 0.0, "agrees"),
        ((0.0, 0.0, 100), (0.0, 0.0), 0.0, "agrees"),
        ((8.0, 0.0, 100), (9.0, 0.0), -np.inf, "differs"),
        ((np.nan, np.nan, 0), (9.0, 0.0), np.nan, "missing"),
        ((9.0, np.nan, 1), (9.0, 0.1), np.nan, "missing"),
        # Few repetitions borrow the paper's spread; failures of the paper widen its error.
        ((1.2, 0.001, 4), (1.0, 0.2), 0.2 / np.sqrt(0.2**2 / 4 + 0.2**2 / 100), "agrees"),
        ((1.2, 0.001, 30), (1.0, 0.2), 0.2 / np.sqrt(0.001**2 / 30 + 0.2**2 / 100), "differs"),
        ((1.0, 0.0, 100), (1.5, 1.0, 100), -5.0, "differs"),
        ((1.0, 0.0, 100), (1.5, 1.0, 25), -2.5, "agrees"),
    ],
)
def test_verdicts_on_planted_values(ours, paper, z, verdict):
    found, word = compare_means(*ours, *paper)
    assert word == verdict
    np.testing.assert_allclose(found, z, atol=1e-8)


@pytest.mark.parametrize(("table", "cells"), [("table1", 160), ("table2", 120), ("table3", 180)])
def test_every_cell_of_the_paper_is_one_of_ours(table, cells):
    paper = load_paper(table, PAPER)
    axes = find_experiment(table).axes
    assert len(paper) == cells
    for axis, values in axes.items():
        assert set(paper[axis]) == set(values)
    columns = paper.groupby([*LAYOUTS[table].keys, "measure"])
    least = paper["mean"] == columns["mean"].transform("min")
    assert least[paper["bold"]].all(), "bold is the best of its column"
    bold = columns["bold"].any().groupby("measure").all()
    assert bold.sum() == 1, "each column of one measure has a bold entry"


def planted(tmp_path, changes):
    """Store three repetitions of every paper cell of Table 1 with the paper's mean and sd."""
    store = Store(TABLE1, tmp_path)
    rows = []
    for entry in load_paper("table1", PAPER).itertuples():
        for rep, shift in enumerate((-1.0, 0.0, 1.0)):
            cell = TABLE1.cell(law=entry.law, n=entry.n, method=entry.method, rep=rep)
            mean = changes.get((entry.law, entry.n, entry.method), entry.mean)
            rows.append(Row(cell, (mean + shift * entry.sd,), "ok", 0.0))
    failed = TABLE1.cell(law="ar1", n=50, method="SIR", rep=3)
    variant = TABLE1.cell(law="ar1", n=50, method="csOPG-raw", rep=0)
    literal = TABLE1.cell(law="exp_ar1_literal", n=50, method="SIR", rep=0)
    rows += [Row(failed, (), "failed: NaN", 0.0)]
    rows += [Row(cell, (1.0,), "ok", 0.0) for cell in (variant, literal)]
    store.append(rows)
    return Ledger.build(tmp_path, PAPER)


def test_ledger_of_the_papers_own_figures_agrees(tmp_path):
    ledger = planted(tmp_path, {})
    ours = ledger.cells[ledger.cells.table == "table1"]
    np.testing.assert_allclose(ours["mean"], ours["paper_mean"])
    np.testing.assert_allclose(ours["sd"], ours["paper_sd"])
    assert set(ours["verdict"]) == {"agrees"}
    assert set(ledger.cells[ledger.cells.table == "table2"]["verdict"]) == {"missing"}
    bold = bold_entries(ledger)
    assert set(bold[bold.table == "table1"]["holds"]) == {"best"}
    assert set(bold[bold.table == "table2"]["holds"]) == {"missing"}
    cell = ours[(ours.cell == "ar1 n=50") & (ours.method == "SIR")].iloc[0]
    assert (cell["reps"], cell["failure_rate"]) == (3, 0.25), "failures are counted, not averaged"
    assert set(ledger.extras["method"]) == {"csOPG-raw", "SIR"}
    assert ledger.repetitions("table1") == "3 data sets"


def test_another_reading_is_judged_under_the_papers_name(tmp_path):
    ledger = planted(tmp_path, {})
    assert ledger.reading("table1", "-raw")["verdict"].tolist() == ["missing"], "one repetition"
    sir = ledger.cells[(ledger.cells["table"] == "table1") & (ledger.cells["method"] == "SIR")]
    kept = ["table", "law", "n", "method", "measure", "mean", "sd", "reps"]
    other = sir[kept].assign(method="SIR-other", mean=sir["paper_mean"] + 10 * sir["paper_sd"])
    found = Ledger(ledger.cells, other).reading("table1", "-other")
    assert set(found["method"]) == {"SIR"}
    assert set(found["verdict"]) == {"differs"}
    # Three repetitions of ours and a hundred of the paper, with equal spread.
    np.testing.assert_allclose(found["z"], 10 / np.sqrt(1 / 3 + 1 / 100))
    assert ledger.reading("table3", "-literal").empty


def test_planted_differences_are_found(tmp_path):
    ledger = planted(tmp_path, {("ar1", 300, "TRE-sup"): 2.3, ("isotropic", 50, "TRE-sup"): 1.88})
    wrong = ledger.cells[ledger.cells.verdict == "differs"]
    assert list(wrong["cell"] + " " + wrong["method"]) == ["ar1 n=300 TRE-sup"]
    bold = bold_entries(ledger).set_index(["table", "cell"])["holds"]
    assert bold["table1", "ar1 n=300"] == "beaten"


def test_bold_entries_are_compared_on_common_data_sets(tmp_path):
    """A rival that has an easier data set more is no rival."""
    store = Store(TABLE1, tmp_path)
    hard, easy = [1.0, 2.0, 1.5, 2.2], [0.0]
    shifts = {
        "TRE-sup": np.zeros(4),  # bold in the paper
        "SIR": np.full(4, 0.1),
        "TRE-full": np.array([-0.1, 0.1, 0.1, -0.2]),
    }
    rows = []
    for method, shift in shifts.items():
        values = [*(hard + shift), *(easy if method == "SIR" else [])]
        for rep, value in enumerate(values):
            cell = TABLE1.cell(law="ar1", n=50, method=method, rep=rep)
            rows.append(Row(cell, (float(value),), "ok", 0.0))
    store.append(rows)
    ledger = Ledger.build(tmp_path, PAPER)
    means = ledger.cells[ledger.cells["cell"] == "ar1 n=50"].set_index("method")["mean"]
    assert means["SIR"] < means["TRE-full"] < means["TRE-sup"]
    entry = bold_entries(ledger).query("table == 'table1' and cell == 'ar1 n=50'").iloc[0]
    assert (entry["holds"], entry["by"], entry["pairs"]) == ("tied", "TRE-full", 4)
    differences = shifts["TRE-full"]
    assert entry["difference"] == pytest.approx(differences.mean())
    assert entry["error"] == pytest.approx(differences.std(ddof=1) / 2)


def test_the_note_with_the_longest_pattern_counts(tmp_path):
    changes = {("ar1", 300, "SIR"): 0.3, ("ar1", 500, "SIR"): 0.3, ("isotropic", 50, "SIR"): 0.3}
    ledger = planted(tmp_path, {**changes, ("ar1", 500, "KSIR"): 0.3})
    columns = ["table", "cell", "method", "note"]
    notes = [("*", "any"), ("ar1 *", "law"), ("ar1 n=500", "cell")]
    notes = pd.DataFrame([("table1", cell, "SIR", note) for cell, note in notes], columns=columns)
    shown = ledger.differences(notes).set_index(["cell", "method"])["note"]
    assert shown["isotropic n=50", "SIR"] == "any"
    assert shown["ar1 n=300", "SIR"] == "law"
    assert shown["ar1 n=500", "SIR"] == "cell"
    assert shown["ar1 n=500", "KSIR"] == "only 3 repetitions so far"


# Paired differences.


def test_paired_differences_by_hand():
    rows = pd.DataFrame(
        [(r, g, m, rep, base + step * (m == "b") * (1 + rep))
         for r in (0.6, 0.8) for g in (0.1, 0.5) for rep, base in enumerate((1.0, 5.0, 9.0))
         for m, step in (("a", 0.0), ("b", 0.1))],
        columns=["train_ratio", "gamma", "method", "rep", "mse"],
    )  # fmt: skip
    columns = ["train_ratio", "gamma"]
    table = paired_differences(rows, "a", measure="mse", columns=columns).set_index(
        [*columns, "method"]
    )
    assert table.loc[(0.6, 0.1, "b"), "difference"] == pytest.approx(0.2)
    assert table.loc[(0.6, 0.1, "b"), "error"] == pytest.approx(0.1 / np.sqrt(3))
    pooled = pooled_differences(rows, "a", measure="mse")
    assert pooled.loc["b", "difference"] == pytest.approx(0.2)
    assert pooled.loc["b", "error"] == pytest.approx(0.1 / np.sqrt(3)), "columns count once"
    corrected = 0.1 * np.sqrt(1 / 3 + TEST_PER_TRAIN)
    assert pooled.loc["b", "corrected"] == pytest.approx(corrected)
    lacking = rows[~((rows.method == "b") & (rows.rep == 0) & (rows.gamma == 0.1))]
    assert pooled_differences(lacking, "a", measure="mse").loc["b", "partitions"] == 2
    with pytest.raises(ValueError, match="reference is 'c'"):
        paired_differences(rows, "c", measure="mse", columns=columns)
    with pytest.raises(ValueError, match="reference is 'c'"):
        pooled_differences(rows, "c", measure="mse")


# The committed results.


@pytest.mark.parametrize("experiment", map(find_experiment, EXPERIMENTS), ids=lambda e: e.name)
def test_committed_rows_are_those_of_the_committed_code(experiment, capsys):
    if not (RESULTS / f"{experiment.name}.csv").exists():
        pytest.skip("no rows yet")
    rows, manifest = Store(experiment, RESULTS).read(), Manifest(experiment, RESULTS)
    assert capsys.readouterr().out == "", "no line is torn"
    changed = manifest.changed(set(map(experiment.method_of, rows)))
    assert changed == {}, f"run: steinsdr check {experiment.name}"
    hint = f"restore them, or run: steinsdr check {experiment.name} --record-rows"
    assert manifest.compare(rows) == ({}, {}), hint


def test_the_stored_ledger_is_what_the_rows_give_and_its_differences_are_explained(
    ledger, tmp_path
):
    stored = (RESULTS / "ledger.csv").read_bytes()
    assert ledger.write(tmp_path).read_bytes() == stored, "run: steinsdr ledger"
    shown = ledger.differences(pd.read_csv(RESULTS / "differences.csv"))
    assert len(shown) == (ledger.cells["verdict"] == "differs").sum()
    silent = shown[shown["note"] == ""]
    assert silent.empty, silent.to_string()
