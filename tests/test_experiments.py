"""The runner: same key, same number; nothing lost, nothing done twice; sharing is sharing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from toy_experiment import DEADLY, TOY1, TOY2, computed

from steinsdr import SteinSDR
from steinsdr.paper.experiment import parse_only
from steinsdr.paper.provenance import check_code, record_rows, replay, replay_sample
from steinsdr.paper.run import run
from steinsdr.paper.simulations import TABLE1, SharedScore
from steinsdr.paper.store import Store
from steinsdr.rank import AdaptiveRank
from steinsdr.scores import DenoisingScore, TikhonovScore
from steinsdr.simulation import simulate, stream_seed
from steinsdr.subspace import procrustes_distance

TOY = Path(__file__).parent / "toy_experiment.py"
RESULTS = ROOT / "book" / "results"


@pytest.fixture(scope="module")
def laptop():
    """Every default cell of the first toy, three repetitions, computed in this process."""
    return computed(TOY1, TOY1.cells("laptop"))


def stored(experiment, folder):
    rows = Store(experiment, folder).read().values()
    return {row.cell: (row.values, row.status) for row in rows}


# Same key, same number.


def test_a_cell_does_not_depend_on_its_company(laptop):
    cells = TOY1.cells("laptop")[::-1]
    alone = {}
    for cell in cells[::5]:
        alone |= computed(TOY1, [cell])
    assert alone.items() <= laptop.items()
    assert computed(TOY1, cells) == laptop
    assert {status for _, status in laptop.values()} == {"ok"}


@pytest.fixture(scope="module", params=["processes", pytest.param("dask", marks=pytest.mark.slow)])
def workers(request):
    """Options of a run that let other processes compute."""
    if request.param == "processes":
        yield {"jobs": 2}
        return
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        yield {"scheduler": cluster.scheduler_address}


def test_other_processes_give_the_same_rows(laptop, workers, tmp_path):
    cache = tmp_path / "c"
    outcome = run(TOY1, TOY1.cells("laptop"), tmp_path, **workers, cache=cache, progress=False)
    assert (outcome.added, outcome.failed) == (len(laptop), 0)
    assert stored(TOY1, tmp_path) == laptop


# Sharing.


@pytest.fixture
def fits(monkeypatch):
    """The fits of scores in this process, as (points, rows and law of the points)."""
    found, original = [], SharedScore._estimated

    def observed(shared, at):
        found.append((type(shared.estimator).__name__, shared.points_.tobytes()))
        return original(shared, at)

    monkeypatch.setattr(SharedScore, "_estimated", observed)
    return found


def test_scores_are_fitted_once(tmp_path, fits, laptop):
    only = {"method": ["TRE-sup", "TRE-split", "NN-split"]}
    run(TOY1, TOY1.cells("laptop", only), tmp_path, cache=tmp_path / "c", progress=False)
    # Per law and repetition: TRE-sup one for each n, the split methods one for both n.
    assert len(fits) == len(set(fits)) == 2 * 3 * (2 + 1 + 1)
    assert stored(TOY1, tmp_path).items() <= laptop.items()
    fits.clear()
    run(TOY2, TOY2.cells("laptop", only), tmp_path, cache=tmp_path / "c", progress=False)
    assert fits == [], "the other experiment has n = 40 too, and any r"
    assert stored(TOY2, tmp_path) == computed(TOY2, TOY2.cells("laptop", only))


def test_damaged_cache_file_is_replaced(tmp_path, fits):
    cell = TOY1.cells("smoke", {"method": ["TRE-split"]})[0]
    first = TOY1.compute([cell], tmp_path)[0].values
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert TOY1.compute([cell], tmp_path)[0].values == first
    assert len(fits) == 1
    places = [*range(0, 300, 30), *range(len(whole) - 90, len(whole), 10)]
    damaged = [whole[:100], b"", *(whole[:k] + b"\xff" + whole[k + 1 :] for k in places)]
    for scores in (np.zeros((3, 6)), np.full((40, 6), np.nan), np.full((40, 6), "x")):
        buffer = io.BytesIO()
        np.savez(buffer, scores=scores)
        damaged.append(buffer.getvalue())
    for content in damaged:
        path.write_bytes(content)
        row = TOY1.compute([cell], tmp_path)[0]
        assert (row.values, row.status) == (first, "ok")
    assert len(fits) > 10
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [whole]


@pytest.mark.parametrize(
    "method", ["TRE-sup", "TRE-split", "TRE-full", "NN-sup", "NN-split", "TRE-split-centred"]
)
def test_shared_number_is_that_of_the_public_estimator(method):
    cell = TOY1.cell(law="lognormal", n=40, method=method, rep=2)
    values, status = computed(TOY1, [cell])[cell]
    config = TOY1.methods[method].config
    if method.startswith("TRE"):
        score = TikhonovScore(1e-2)
        unlabeled = 50
    else:
        trained = 0 if config == "split" else 40
        seed = stream_seed(44, "network", "lognormal", config, trained)
        score = DenoisingScore(random_state=seed, **TOY1.methods[method].settings)
        unlabeled = 60
    data = simulate("lognormal", 40, p=6, n_unlabeled=unlabeled, seed=44)
    center = method.endswith("-centred")
    sdr = SteinSDR.paper(3, score_estimator=score, config=config, center=center)
    sdr.fit(data.X, data.Y, data.X_unlabeled)
    assert status == "ok"
    # n_evaluated is 40 too, so that products have the same shapes: equal but for rounding.
    assert values[0] == pytest.approx(procrustes_distance(sdr.components_.T, data.B), abs=1e-9)


def test_rank_is_that_of_the_public_estimator():
    cell = TOY2.cell(law="isotropic", r=3, method="TRE-sup", rep=1)
    data = simulate("isotropic", 40, p=6, r=3, version="section42", seed=43)
    seed = stream_seed(43, "rank", "isotropic", 40, 3)
    sdr = SteinSDR.paper(
        score_estimator=TikhonovScore(1e-2), rank=AdaptiveRank(max_rank=10), random_state=seed
    )
    rank = sdr.fit(data.X, data.Y).n_components_
    assert computed(TOY2, [cell])[cell] == ((rank, abs(rank - 3)), "ok")


# Interruption and failure.


@pytest.mark.slow
def test_kill_in_the_middle_loses_and_repeats_nothing(tmp_path, capsys):
    path = tmp_path / "toy1.csv"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, TOY, tmp_path], env=environment)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") > 20:
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it should have been in the middle"
    with open(path, "ab") as file:
        file.write(b"isotropic,40,TRE-sp")  # as if the kill had torn a line
    only = {"method": ["SIR", "TRE-sup", "TRE-split"]}
    cells = TOY1.cells("paper", only)
    kept = stored(TOY1, tmp_path)
    assert 20 <= len(kept) < len(cells)
    capsys.readouterr()
    outcome = run(TOY1, cells, tmp_path, progress=False)
    assert (outcome.before, outcome.added) == (len(kept), len(cells) - len(kept))
    torn, unrecorded = capsys.readouterr().out.splitlines()
    assert "torn" in torn
    assert "rows without a record, as after a killed run: SIR" in unrecorded
    lines = path.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 1 + len(cells)
    now = stored(TOY1, tmp_path)
    assert kept.items() <= now.items()
    assert now == computed(TOY1, cells)
    assert run(TOY1, cells, tmp_path, progress=False).added == 0


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path):
    psutil = pytest.importorskip("psutil")
    process = subprocess.Popen([sys.executable, TOY, tmp_path, "2"])
    deadline = time.monotonic() + 60
    path = tmp_path / "toy1.csv"
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") > 5:
            break
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert len(workers) >= 2
    assert psutil.wait_procs(workers, timeout=10)[1] == [], "still alive"


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch, fits):
    cells = TOY1.cells("laptop", {"method": ["TRE-sup"]})
    with monkeypatch.context() as patch:
        original = SharedScore._estimated

        def interrupted(shared, at):
            if len(fits) == 3:
                raise KeyboardInterrupt
            return original(shared, at)

        patch.setattr(SharedScore, "_estimated", interrupted)
        outcome = run(TOY1, cells, tmp_path, progress=False)
    assert outcome.interrupted
    assert outcome.added == len(stored(TOY1, tmp_path)) == 3
    path = tmp_path / "toy1.manifest.json"
    assert json.loads(path.read_text())["rows"] == {"TRE-sup": 3}
    assert run(TOY1, cells, tmp_path, progress=False).added == len(cells) - 3
    # Totals that a killed run has left are mended, right ones are left alone.
    whole = path.read_text()
    path.write_text(json.dumps(json.loads(whole) | {"rows": {"TRE-sup": 1}, "seconds": 0.0}))
    assert run(TOY1, cells, tmp_path, progress=False).added == 0
    assert json.loads(path.read_text()) == json.loads(whole)
    written = path.stat().st_mtime_ns
    run(TOY1, cells, tmp_path, progress=False)
    assert path.stat().st_mtime_ns == written


def test_failing_cell_is_recorded_and_the_sweep_goes_on(tmp_path, monkeypatch):
    original = SharedScore._estimated

    def failing(shared, at):
        heavy = (shared.points_ > 0).all()
        if heavy and len(shared.points_) == 30:
            raise FloatingPointError("the loss\nis nan, sorry")
        scores = original(shared, at)
        return np.full_like(scores, np.nan) if heavy else scores

    cells = TOY1.cells("smoke", {"method": ["TRE-sup"]})
    with monkeypatch.context() as patch:
        patch.setattr(SharedScore, "_estimated", failing)
        outcome = run(TOY1, cells, tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (4, 2)
    found = {(law, n): result for (law, n, *_), result in stored(TOY1, tmp_path).items()}
    reason = "failed: FloatingPointError: the loss is nan, sorry"
    assert found["lognormal", 30] == ((), reason)
    assert found["lognormal", 40][0] == ()
    assert "NaN" in found["lognormal", 40][1]
    assert found["isotropic", 40][1] == "ok"
    assert run(TOY1, cells, tmp_path, progress=False).added == 0, "a failure is a result"
    before, retry = (tmp_path / "toy1.csv").read_bytes(), {"retry_failed": True, "progress": False}
    with pytest.raises(ValueError, match="no Dask scheduler answers at nonsense"):
        run(TOY1, cells, tmp_path, scheduler="nonsense", **retry)
    assert (tmp_path / "toy1.csv").read_bytes() == before, "until something takes its place"
    again = run(TOY1, cells, tmp_path, **retry)
    assert (again.added, again.failed) == (2, 0)
    assert {status for _, status in stored(TOY1, tmp_path).values()} == {"ok"}


@pytest.mark.slow
def test_a_killed_worker_is_a_sentence_and_no_result(workers, tmp_path):
    cells = DEADLY.cells("laptop", {"method": ["SIR"]})
    with pytest.raises(OSError, match=r"a worker died .* the same command goes on"):
        run(DEADLY, cells, tmp_path, **workers, progress=False)
    kept = stored(TOY1, tmp_path)
    assert 1 not in {rep for *_, rep in kept}
    assert run(TOY1, cells, tmp_path, progress=False).added == len(cells) - len(kept)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), r"out of memory; .* the same command goes on"),
        (OSError("no space left"), "no space"),
    ],
)
def test_trouble_of_the_machine_is_a_sentence_and_no_result(tmp_path, monkeypatch, error, message):
    def fails(shared, at):
        raise error

    monkeypatch.setattr(SharedScore, "_estimated", fails)
    with pytest.raises(OSError, match=message):
        run(TOY1, TOY1.cells("smoke", {"method": ["TRE-sup"]}), tmp_path, progress=False)
    assert stored(TOY1, tmp_path) == {}


# Replay and changed code.


@pytest.fixture
def results(tmp_path):
    only = {"method": ["SIR", "TRE-sup", "NN-split"]}
    run(TOY1, TOY1.cells("smoke", only), tmp_path, progress=False)
    return tmp_path


def shift(folder, method, amount):
    """Add a number to the stored values of a method."""
    lines = (folder / "toy1.csv").read_text().splitlines()
    for k, line in enumerate(lines):
        *key, value, status, seconds = line.split(",")
        if key[2] == method:
            lines[k] = ",".join([*key, repr(float(value) + amount), status, seconds])
    (folder / "toy1.csv").write_text("\n".join(lines) + "\n")


def change_manifest(folder, change):
    """Let ``change`` work on the content of the manifest."""
    path = folder / "toy1.manifest.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("method", "amount", "elsewhere", "verdict"),
    [
        ("TRE-sup", 0.0, True, "same: "),
        ("TRE-sup", 1e-10, True, "same within 1e-08 on another machine: stored"),
        ("TRE-sup", 1e-6, True, "NOT the same, tolerance 1e-08 on another machine"),
        ("NN-split", 1e-4, True, "same within 0.05 on another machine"),  # float32 drifts there
        ("NN-split", 1e-4, False, "NOT the same, tolerance 1e-06 on the same kind of machine"),
        ("NN-split", 0.1, True, "NOT the same"),
    ],
)
def test_replay_agrees_or_detects_tampering(results, method, amount, elsewhere, verdict, capsys):
    shift(results, method, amount)
    if elsewhere:
        old = {"torch": "0.1"}
        change_manifest(results, lambda c: c["environments"][0]["versions"].update(old))
    row = Store(TOY1, results).read()["lognormal", 30, method, 0]
    assert replay(TOY1, results, row) is verdict.startswith("same")
    assert f"toy1 lognormal 30 {method} 0: {verdict}" in capsys.readouterr().out


def test_changed_code_needs_a_replay(results, capsys):
    old = {"code": "0123456789abcdef"}
    change_manifest(results, lambda c: c["methods"]["TRE-sup"].update(old))
    more = TOY1.cells("laptop", {"method": ["TRE-sup"]})
    with pytest.raises(ValueError, match=r"changed: TRE-sup \(code\)"):
        run(TOY1, more, results, progress=False)
    others = TOY1.cells("laptop", {"method": ["SIR"]})
    assert run(TOY1, others, results, progress=False).added, "other methods are not concerned"
    shift(results, "TRE-sup", 0.01)
    record_rows(TOY1, results)
    with pytest.raises(ValueError, match="TRE-sup: 3 of 3 replayed rows"):
        check_code(TOY1, results)
    assert replay_sample(TOY1, results, 40) == 4, "of 12, whatever their code"
    shift(results, "TRE-sup", -0.01)
    record_rows(TOY1, results)
    capsys.readouterr()
    assert check_code(TOY1, results) == {"TRE-sup": 3}
    assert run(TOY1, more, results, progress=False).added == len(more) - 4
    assert capsys.readouterr().out.count("TRE-sup 0: same") == 3
    entry = json.loads((results / "toy1.manifest.json").read_text())["methods"]["TRE-sup"]
    assert entry["found_equal"] == [old | {"rows_replayed": 3}]


# Grids and filters.


def test_filters_choose_and_reach_beyond_the_profile():
    only = parse_only(["method=NN-split|csOPG-raw,law=ar1", "rep=3,rep=10-11"])
    cells = TABLE1.cells("smoke", only)
    laws, sizes, methods, reps = map(set, zip(*cells, strict=True))
    assert (laws, methods, reps) == ({"ar1"}, {"NN-split", "csOPG-raw"}, {3, 10, 11})
    assert sizes == {50, 100}, "what the filter does not name, the profile decides"


def test_expensive_groups_come_last_and_repetitions_in_order():
    cells = TABLE1.cells("laptop", {"method": ["NN-split", "SIR", "TRE-split"], "law": ["ar1"]})
    groups = TABLE1.groups(cells)
    order = [(TABLE1.methods[method].cost, rep) for (_, _, method, rep), *_ in groups]
    assert order == sorted(order)
    networks = [group for group in groups if group[0][2] == "NN-split"]
    assert len(networks) == 10
    assert {n for _, n, _, _ in networks[0]} == {50, 100, 300, 500}


# The calibration tables


@pytest.mark.parametrize("method", ["SIR", "SIR-5", "SIR-8", "SIR-12", "SIR-15"])
def test_recorded_calibration_is_that_of_named_methods(method):
    n_slices = TABLE1.methods[method].settings.get("n_slices", 10)
    table = pd.read_csv(RESULTS / "calibration_sir.csv")
    stored = table.query("reading == 'marginal' and law == 'isotropic' and n == 100")
    (row,) = stored[stored["n_slices"] == n_slices].itertuples()
    only = {"law": ["isotropic"], "n": ["100"], "method": [method], "rep": [f"0-{row.reps - 1}"]}
    distances = [values[0] for values, _ in computed(TABLE1, TABLE1.cells("paper", only)).values()]
    assert np.mean(distances) == pytest.approx(row.mean, abs=1e-4)
