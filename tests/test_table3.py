"""Table 3 through the runner, on a made-up data set in the format of the real one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from toy_experiment import computed, small, toy3

from steinsdr.baselines import SIR
from steinsdr.paper import table3
from steinsdr.paper.ledger import load_rows
from steinsdr.paper.patchseq import DATA_VARIABLE, load_patchseq, table3_split
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


def test_all_shares_of_a_train_ratio_are_measured_together():
    groups = TABLE3.groups(TABLE3.cells("paper", {"rep": ["0-1"]}))
    assert [len(group) for group in groups] == [30] * 4


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
    by_name = {cell[2]: values for cell, (values, _) in found.items()}
    assert by_name.keys() == TABLE3.methods.keys()
    for cell, (values, status) in found.items():
        assert status == "ok", (cell, status)
        rank, paper, paper_reference, honest, honest_reference = values
        assert isinstance(rank, int)
        assert 0 <= rank <= 16
        assert min(paper, paper_reference, honest, honest_reference) > 0
        if TABLE3.methods[cell[2]].link == "labeled":  # else the honest network is another
            assert paper <= honest + 1e-12, "the test cells choose the epoch"
            assert paper_reference <= honest_reference + 1e-12
    assert by_name["ridge"][1] < by_name["mean"][1], "genes predict properties here"
    readings = {by_name[f"TRE-sup{ending}"][1] for ending in ("", "-Tf", "-inner", "-literal")}
    assert len(readings) == 4, "other readings are other numbers"


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


def test_a_failing_method_is_recorded_and_the_others_go_on(toy, tmp_path, monkeypatch):
    original = table3.fit_reduction

    def spoiled(estimator, split, **options):
        found = original(estimator, split, **options)
        if isinstance(estimator, SIR):
            found.reference[0, 0] = np.nan
        return found

    monkeypatch.setattr(table3, "fit_reduction", spoiled)
    broken = replace(toy, methods=small(toy.methods, {"ksir": {"max_dim": 0}}))
    outcome = run(broken, cells(broken, "KSIR", "SIR", "mean"), tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (6, 4)
    rows = Store(broken, tmp_path).read().values()
    status = {row.cell[2]: row.status for row in rows}
    assert status["mean"] == "ok"
    assert status["SIR"] == "failed: FloatingPointError: the directions are not finite"
    assert "max_dim" in status["KSIR"]
    frame = load_rows(broken, tmp_path).set_index("method")
    assert frame.loc[["KSIR", "SIR"], ["rank", "mse_rhat_honest"]].isna().all(axis=None)


def test_without_data_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    absent = replace(TABLE3, design=TABLE3.design | {"data": str(tmp_path / "nowhere")})
    with pytest.raises(FileNotFoundError, match=DATA_VARIABLE):
        run(absent, cells(absent, "SIR"), tmp_path, progress=False)
    assert not Store(absent, tmp_path).read()
