"""Table 3 through the runner, on a made-up data set in the format of the real one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from toy_experiment import computed, small, toy3

from steinsdr.baselines import SIR
from steinsdr.paper import table3
from steinsdr.paper.ledger import load_rows, summarize
from steinsdr.paper.patchseq import DATA_VARIABLE, load_patchseq, table3_split
from steinsdr.paper.provenance import replay
from steinsdr.paper.run import run
from steinsdr.paper.simulations import SharedScore
from steinsdr.paper.store import Store
from steinsdr.paper.table3 import TABLE3
from steinsdr.scores import TikhonovScore


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return toy3(tmp_path_factory.mktemp("data") / "mini")


def cells(experiment, *methods, gammas=("0.3", "0.5"), rep="0"):
    only = {"train_ratio": ["0.6"], "gamma": gammas, "method": methods, "rep": [rep]}
    return experiment.cells("paper", only)


def test_the_grid_is_the_papers():
    assert len(TABLE3.cells("paper")) == 2 * 3 * 10 * 100
    assert TABLE3.columns[:9] == (
        *("train_ratio", "gamma", "method", "rep", "rank", "mse_rhat", "mse_r10"),
        *("status", "seconds"),
    )
    assert set(TABLE3.known("method")) == set(TABLE3.methods)
    groups = TABLE3.groups(TABLE3.cells("paper", {"rep": ["0-1"]}))
    assert [len(group) for group in groups] == [30] * 4, "all shares of a train ratio"


def test_cells_do_not_depend_on_their_company(toy):
    wanted = cells(toy, "SIR", "TRE-full", "NN-full", "RRR", "PCA+network")
    together = computed(toy, wanted)
    alone = {}
    for cell in wanted[::-1]:
        alone |= computed(toy, [cell])
    assert together.keys() == alone.keys()
    for cell, (values, status) in together.items():
        assert status == alone[cell][1] == "ok"
        np.testing.assert_allclose(values, alone[cell][0], rtol=1e-9, err_msg=str(cell))


def test_every_method_gives_a_rank_and_four_errors(toy):
    found = computed(toy, cells(toy, *TABLE3.methods, gammas=("0.5",)))
    assert {cell[2] for cell in found} == set(TABLE3.methods)
    for cell, (values, status) in found.items():
        assert status == "ok", (cell, status)
        rank, paper, paper_reference, honest, honest_reference = values
        assert isinstance(rank, int)
        assert 0 <= rank <= 16
        assert min(paper, paper_reference, honest, honest_reference) > 0
        if TABLE3.methods[cell[2]].link == "labeled":  # else the honest network is another
            assert paper <= honest + 1e-12, "the test cells choose the epoch"
            assert paper_reference <= honest_reference + 1e-12
    by_name = {cell[2]: values for cell, (values, _) in found.items()}
    assert by_name["ridge"][1] < by_name["mean"][1], "genes predict properties here"


def test_other_readings_are_other_numbers(toy):
    names = ("TRE-sup", "TRE-sup-Tf", "TRE-sup-inner", "TRE-sup-literal")
    found = computed(toy, cells(toy, *names, gammas=("0.5",)))
    errors = {cell[2]: values[1] for cell, (values, _) in found.items()}
    assert len(set(errors.values())) == 4


def test_shares_that_leave_cells_over_are_filled(toy):
    data = load_patchseq(toy.design["data"], verify=False)
    genes = tuple(data.counts.columns[:8])
    parts = {
        shares: table3_split(0, 0.6, 0.5, data=data, genes=genes, shares=shares).partition
        for shares in ("filled", "literal")
    }
    used = {
        shares: len(part.labeled) + len(part.unlabeled) + len(part.fit) + len(part.test)
        for shares, part in parts.items()
    }
    assert used == {"filled": 120, "literal": 96}
    with pytest.raises(ValueError, match="shares must be one of 'filled', 'literal'"):
        table3_split(0, 0.6, 0.5, data=data, genes=genes, shares="all")


def test_one_full_fit_serves_every_labeled_share(toy):
    data = load_patchseq(toy.design["data"], verify=False)
    genes = tuple(data.counts.columns[:8])
    first, second = (table3_split(0, 0.6, g, data=data, genes=genes) for g in (0.3, 0.5))
    known: dict = {}
    for split in (first, second):
        points = np.vstack([split.X_labeled, split.X_unlabeled])
        shared = clone(SharedScore(TikhonovScore(lam=1e-3), known)).fit(points)
        direct = TikhonovScore(lam=1e-3).fit(points)
        np.testing.assert_array_equal(shared.train_scores_, direct.train_scores_)
    assert len(known) == 1
    np.testing.assert_array_equal(shared.evaluate(points[:3]), direct.evaluate(points[:3]))
    for lam, points_again in ((1e-2, points), (1e-3, points[::-1])):
        assert SharedScore(TikhonovScore(lam=lam), known).fit(points_again).train_scores_.any()
    assert len(known) == 4, "other places, other settings, other points"


def test_rows_survive_the_file_and_can_be_replayed(toy, tmp_path):
    wanted = cells(toy, "SIR", "TRE-sup", "mean")
    outcome = run(toy, wanted, tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (6, 0)
    assert run(toy, wanted, tmp_path, progress=False).added == 0
    store = Store(toy, tmp_path)
    rows = store.read()
    assert {row.cell for row in rows.values()} == set(wanted)
    for row in rows.values():
        assert replay(toy, row).same
    worse = next(iter(rows.values()))
    rank, *errors = worse.values
    assert not replay(toy, worse._replace(values=(rank + 1, *errors))).same
    frame = load_rows(toy, tmp_path)
    assert tuple(frame.columns) == toy.columns
    summary = summarize(toy, frame)
    assert len(summary) == 6 * 3
    mean = frame.query("method == 'SIR' and gamma == 0.3")["mse_rhat"].mean()
    picked = summary.query("method == 'SIR' and gamma == 0.3 and measure == 'mse_rhat'")
    assert picked["mean"].item() == pytest.approx(mean)


def test_a_failing_method_is_recorded_and_the_others_go_on(toy, tmp_path):
    broken = replace(toy, methods=small(toy.methods, {"ksir": {"max_dim": 0}}))
    outcome = run(broken, cells(broken, "KSIR", "mean"), tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (4, 2)
    rows = Store(broken, tmp_path).read().values()
    failed = [row for row in rows if row.status != "ok"]
    assert {row.cell[2] for row in failed} == {"KSIR"}
    assert all("max_dim" in row.status and row.values == () for row in failed)
    frame = load_rows(broken, tmp_path)
    assert frame[frame["method"] == "KSIR"][["rank", "mse_rhat_honest"]].isna().all(axis=None)


def test_directions_that_are_not_finite_are_a_failure(toy, monkeypatch):
    original = table3.fit_reduction

    def spoiled(estimator, split, **options):
        found = original(estimator, split, **options)
        if isinstance(estimator, SIR):
            found.reference[0, 0] = np.nan
        return found

    monkeypatch.setattr(table3, "fit_reduction", spoiled)
    found = computed(toy, cells(toy, "SIR", "TRE-sup", gammas=("0.5",)))
    by_name = {cell[2]: result for cell, result in found.items()}
    assert by_name["SIR"] == ((), "failed: FloatingPointError: the directions are not finite")
    assert by_name["TRE-sup"][1] == "ok"


def test_without_data_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    absent = replace(TABLE3, design=TABLE3.design | {"data": str(tmp_path / "nowhere")})
    with pytest.raises(FileNotFoundError, match=DATA_VARIABLE):
        run(absent, cells(absent, "SIR"), tmp_path, progress=False)
    assert not Store(absent, tmp_path).read()
