"""The runner: same key, same number; nothing lost, nothing done twice; sharing is sharing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_experiment import DEADLY, TOY1, TOY2, definitions_entered

from steinsdr import SteinSDR
from steinsdr.paper import fingerprint as fingerprint_module
from steinsdr.paper.fingerprint import code_hash, definitions, fingerprint
from steinsdr.paper.methods import METHODS, PAPER_METHODS
from steinsdr.paper.provenance import one_thread, replay, replay_sample, spread, stored_row
from steinsdr.paper.run import check_code, run
from steinsdr.paper.simulations import Cell, Row, ScoreCache, ScoreFit, compute, group_cells
from steinsdr.paper.store import Store
from steinsdr.paper.study import TABLE1, TABLE2, parse_only
from steinsdr.rank import AdaptiveRank
from steinsdr.scores import DenoisingScore, TikhonovScore
from steinsdr.simulation import simulate, stream_seed
from steinsdr.subspace import procrustes_distance

TOY = Path(__file__).parent / "toy_experiment.py"


def outcomes(rows):
    """Return what must not change: values and status by cell."""
    return {row.cell: (row.values, row.status) for row in rows}


def computed(experiment, cells, scores_of=ScoreFit.compute):
    with one_thread():
        groups = group_cells(experiment.design, cells)
        return outcomes(row for g in groups for row in compute(experiment.design, g, scores_of))


@pytest.fixture(scope="module")
def laptop():
    """Every default cell of the first toy, three repetitions, computed in this process."""
    return computed(TOY1, TOY1.cells("laptop"))


def stored(experiment, folder):
    return outcomes(Store(experiment, folder).read().values())


# Same key, same number.


def test_a_cell_does_not_depend_on_its_company(laptop):
    cells = TOY1.cells("laptop")[::-1]
    with one_thread():
        alone = {}
        for cell in cells[::5]:
            (group,) = group_cells(TOY1.design, [cell])
            alone |= outcomes(compute(TOY1.design, group))
    assert alone.items() <= laptop.items()
    assert computed(TOY1, cells) == laptop
    assert {status for _, status in laptop.values()} == {"ok"}


def test_two_processes_give_the_same_rows(laptop, tmp_path):
    outcome = run(
        TOY1, TOY1.cells("laptop"), tmp_path, jobs=2, cache=tmp_path / "c", progress=False
    )
    assert (outcome.added, outcome.failed) == (len(laptop), 0)
    assert stored(TOY1, tmp_path) == laptop


@pytest.mark.slow
def test_dask_workers_give_the_same_rows(laptop, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        run(TOY1, TOY1.cells("laptop"), tmp_path, scheduler=address, progress=False)
    assert stored(TOY1, tmp_path) == laptop


def test_no_scheduler_is_said(tmp_path):
    cells = TOY1.cells("smoke", {"method": ["SIR"]})
    with pytest.raises(ValueError, match="no Dask scheduler answers at nonsense"):
        run(TOY1, cells, tmp_path, scheduler="nonsense", progress=False)


# Sharing.


def test_scores_are_fitted_once(tmp_path, monkeypatch, laptop):
    fits = []
    original = ScoreFit.compute
    monkeypatch.setattr(ScoreFit, "compute", lambda fit: fits.append(fit) or original(fit))
    only = {"method": ["TRE-sup", "TRE-split", "NN-split"]}
    cells = TOY1.cells("laptop", only)
    run(TOY1, cells, tmp_path, cache=tmp_path / "c", progress=False)
    # Per law and repetition: TRE-sup one for each n, the split methods one for both n.
    assert len(fits) == len(set(fits)) == 2 * 3 * (2 + 1 + 1)
    assert stored(TOY1, tmp_path).items() <= laptop.items()
    fits.clear()
    run(TOY2, TOY2.cells("laptop", only), tmp_path, cache=tmp_path / "c", progress=False)
    assert fits == [], "the other experiment has n = 40 too, and any r"
    assert stored(TOY2, tmp_path) == computed(TOY2, TOY2.cells("laptop", only))


def test_damaged_cache_file_is_replaced(tmp_path):
    (group,) = group_cells(TOY1.design, TOY1.cells("smoke", {"method": ["TRE-split"]})[:1])
    cache = ScoreCache(tmp_path)
    scores = cache(group.fit)
    path = cache.path(group.fit)
    path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(cache(group.fit), scores)
    with np.load(path, allow_pickle=False) as again:
        np.testing.assert_array_equal(again["scores"], scores)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.filterwarnings("ignore:y. the mean of the responses:UserWarning")
@pytest.mark.parametrize(
    "method", ["TRE-sup", "TRE-split", "TRE-full", "NN-sup", "NN-split", "TRE-split-centred"]
)
def test_shared_number_is_that_of_the_public_estimator(method):
    experiment = replace(TOY1, axes=TOY1.axes | {"method": (method,)})
    cell = experiment.cell(law="lognormal", n=40, method=method, rep=2)
    values, status = computed(experiment, [cell])[cell]
    config = METHODS[method].config
    if method.startswith("TRE"):
        score = TikhonovScore(1e-2)
        unlabeled = 50
    else:
        trained = 0 if config == "split" else 40
        seed = stream_seed(44, "network", "lognormal", config, trained)
        small = TOY1.design.overrides["denoising"]
        score = DenoisingScore(sigma_units="x", random_state=seed, **small)
        unlabeled = 60
    data = simulate("lognormal", 40, p=6, n_unlabeled=unlabeled, seed=44)
    center = method.endswith("-centred")
    sdr = SteinSDR(3, score=score, config=config, center=center)
    sdr.fit(data.X, data.Y, data.X_unlabeled)
    assert status == "ok"
    # n_evaluated is 40 too, so that products have the same shapes: equal but for rounding.
    assert values[0] == pytest.approx(procrustes_distance(sdr.components_.T, data.B), abs=1e-9)


def test_rank_is_that_of_the_public_estimator():
    cell = TOY2.cell(law="isotropic", r=3, method="TRE-sup", rep=1)
    data = simulate("isotropic", 40, p=6, r=3, version="section42", seed=43)
    seed = stream_seed(43, "rank", "isotropic", 40, 3)
    sdr = SteinSDR(score=TikhonovScore(1e-2), rank=AdaptiveRank(max_rank=10), random_state=seed)
    rank = sdr.fit(data.X, data.Y).n_components_
    assert computed(TOY2, [cell])[cell] == ((rank, abs(rank - 3)), "ok")


# Interruption and failure.


@pytest.mark.slow
def test_kill_in_the_middle_loses_and_repeats_nothing(tmp_path):
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
    said = []
    only = {"method": ["SIR", "TRE-sup", "TRE-split"]}
    cells = TOY1.cells("paper", only)
    kept = stored(TOY1, tmp_path)
    assert 20 <= len(kept) < len(cells)
    outcome = run(TOY1, cells, tmp_path, progress=False, say=said.append)
    assert (outcome.before, outcome.added) == (len(kept), len(cells) - len(kept))
    assert len(said) == 1
    assert "torn" in said[0]
    lines = path.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 1 + len(cells)
    now = stored(TOY1, tmp_path)
    assert kept.items() <= now.items()
    assert now == computed(TOY1, cells)
    assert run(TOY1, cells, tmp_path, progress=False).added == 0


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    cells = TOY1.cells("laptop", {"method": ["TRE-sup"]})
    original, calls = ScoreFit.compute, []

    def interrupted(fit):
        calls.append(fit)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(fit)

    monkeypatch.setattr(ScoreFit, "compute", interrupted)
    outcome = run(TOY1, cells, tmp_path, progress=False)
    assert outcome.interrupted
    assert outcome.added == len(stored(TOY1, tmp_path)) == 3
    assert json.loads((tmp_path / "toy1.manifest.json").read_text())["rows"] == {"TRE-sup": 3}
    monkeypatch.setattr(ScoreFit, "compute", original)
    assert run(TOY1, cells, tmp_path, progress=False).added == len(cells) - 3


def test_failing_cell_is_recorded_and_the_sweep_goes_on(tmp_path, monkeypatch):
    original = ScoreFit.compute

    def failing(fit):
        if fit.law == "lognormal" and fit.n == 30:
            raise FloatingPointError("the loss\nis nan, sorry")
        scores = original(fit)
        return np.full_like(scores, np.nan) if fit.law == "lognormal" else scores

    monkeypatch.setattr(ScoreFit, "compute", failing)
    cells = TOY1.cells("smoke", {"method": ["TRE-sup"]})
    outcome = run(TOY1, cells, tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (4, 2)
    found = {(c.law, c.n): result for c, result in stored(TOY1, tmp_path).items()}
    reason = "failed: FloatingPointError: the loss is nan, sorry"
    assert found["lognormal", 30] == ((), reason)
    assert found["lognormal", 40][0] == ()
    assert "NaN" in found["lognormal", 40][1]
    assert found["isotropic", 40][1] == "ok"
    monkeypatch.setattr(ScoreFit, "compute", original)
    assert run(TOY1, cells, tmp_path, progress=False).added == 0, "a failure is a result"
    again = run(TOY1, cells, tmp_path, progress=False, retry_failed=True, say=lambda _: None)
    assert (again.added, again.failed) == (2, 0)
    assert {status for _, status in stored(TOY1, tmp_path).values()} == {"ok"}


def test_failures_stay_until_something_takes_their_place(tmp_path, monkeypatch):
    def failing(fit):
        raise FloatingPointError("nan")

    monkeypatch.setattr(ScoreFit, "compute", failing)
    cells = TOY1.cells("smoke", {"method": ["TRE-sup"]})
    run(TOY1, cells, tmp_path, progress=False)
    before = (tmp_path / "toy1.csv").read_bytes()
    said = []
    options = {"retry_failed": True, "progress": False, "say": said.append}
    with pytest.raises(ValueError, match="no Dask scheduler answers"):
        run(TOY1, cells, tmp_path, scheduler="nonsense", **options)
    assert (tmp_path / "toy1.csv").read_bytes() == before
    assert said == ["4 failed cell(s) are tried again."]


def test_totals_of_a_killed_run_are_mended_by_the_next(tmp_path):
    cells = TOY1.cells("smoke", {"method": ["SIR"]})
    run(TOY1, cells, tmp_path, progress=False)
    path = tmp_path / "toy1.manifest.json"
    whole = path.read_text()
    path.write_text(json.dumps(json.loads(whole) | {"rows": {"SIR": 1}, "seconds": 0.0}))
    assert run(TOY1, cells, tmp_path, progress=False).added == 0
    assert json.loads(path.read_text()) == json.loads(whole)
    written = path.stat().st_mtime_ns
    run(TOY1, cells, tmp_path, progress=False)
    assert path.stat().st_mtime_ns == written, "what is right is left alone"


@pytest.mark.slow
def test_a_killed_worker_is_a_sentence_and_no_result(tmp_path):
    cells = DEADLY.cells("laptop", {"method": ["SIR"]})
    with pytest.raises(OSError, match=r"a worker died .* the same command goes on"):
        run(DEADLY, cells, tmp_path, jobs=2, progress=False)
    kept = stored(TOY1, tmp_path)
    assert 1 not in {cell.rep for cell in kept}
    assert run(TOY1, cells, tmp_path, progress=False).added == len(cells) - len(kept)


@pytest.mark.slow
def test_a_killed_dask_worker_is_a_sentence(tmp_path):
    import dask
    from distributed import LocalCluster

    cells = DEADLY.cells("laptop", {"method": ["SIR"]})
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        pytest.raises(OSError, match=r"a worker died .* the same command goes on"),
    ):
        run(DEADLY, cells, tmp_path, scheduler=cluster.scheduler_address, progress=False)


def test_no_memory_is_a_sentence_and_no_result(tmp_path, monkeypatch):
    def no_memory(fit):
        raise MemoryError

    monkeypatch.setattr(ScoreFit, "compute", no_memory)
    with pytest.raises(OSError, match=r"out of memory; .* the same command goes on"):
        run(TOY1, TOY1.cells("smoke", {"method": ["TRE-sup"]}), tmp_path, progress=False)
    assert stored(TOY1, tmp_path) == {}


def test_trouble_of_the_machine_is_no_result(tmp_path, monkeypatch):
    def full_disk(fit):
        raise OSError("no space left")

    monkeypatch.setattr(ScoreFit, "compute", full_disk)
    with pytest.raises(OSError, match="no space"):
        run(TOY1, TOY1.cells("smoke", {"method": ["TRE-sup"]}), tmp_path, progress=False)
    assert stored(TOY1, tmp_path) == {}


# Replay and changed code.


@pytest.fixture
def results(tmp_path):
    only = {"method": ["SIR", "TRE-sup", "NN-split"]}
    run(TOY1, TOY1.cells("smoke", only), tmp_path, progress=False)
    return tmp_path


def tamper(folder, method, old_to_new):
    path = folder / "toy1.csv"
    lines = path.read_text().splitlines()
    changed = [old_to_new(line) if f",{method}," in line else line for line in lines]
    path.write_text("\n".join(changed) + "\n")


def shifted(amount):
    def change(line):
        *key, value, status, seconds = line.split(",")
        return ",".join([*key, repr(float(value) + amount), status, seconds])

    return change


@pytest.mark.parametrize(
    ("method", "amount", "same"),
    [
        ("TRE-sup", 0.0, True),
        ("TRE-sup", 1e-10, True),
        ("TRE-sup", 1e-6, False),
        ("NN-split", 1e-6, True),  # float32 training drifts on another machine
        ("NN-split", 0.1, False),
    ],
)
def test_replay_agrees_or_detects_tampering(results, method, amount, same):
    tamper(results, method, shifted(amount))
    store = Store(TOY1, results)
    store.read()
    row = stored_row(store, TOY1.cell(law="lognormal", n=30, method=method, rep=0))
    outcome = replay(TOY1, row)
    assert outcome.same is same
    assert str(outcome).startswith("same" if same else "NOT the same")


def test_networks_are_held_to_more_on_the_machine_of_their_rows(results):
    tamper(results, "NN-split", shifted(1e-4))
    store = Store(TOY1, results)
    store.read()
    row = stored_row(store, TOY1.cell(law="lognormal", n=30, method="NN-split", rep=0))
    elsewhere, here = replay(TOY1, row), replay(TOY1, row, made_here=True)
    assert elsewhere.same
    assert str(elsewhere).startswith("same within 0.05 on another machine: stored")
    assert not here.same
    assert str(here).startswith("NOT the same, tolerance 1e-06 on the same kind of machine")
    assert not any(one.same for one in replay_sample(TOY1, results, "NN-split", 1))
    path = results / "toy1.manifest.json"
    content = json.loads(path.read_text())
    content["environments"][0]["versions"]["torch"] = "0.1"
    path.write_text(json.dumps(content))
    assert all(one.same for one in replay_sample(TOY1, results, "NN-split", 1))


def test_replay_of_an_absent_row_is_refused(results):
    store = Store(TOY1, results)
    store.read()
    cell = TOY1.cell(law="lognormal", n=30, method="SIR", rep=9)
    with pytest.raises(ValueError, match="has no row lognormal 30 SIR 9"):
        stored_row(store, cell)


def pretend_old_code(folder, method):
    path = folder / "toy1.manifest.json"
    content = json.loads(path.read_text())
    content["methods"][method]["code"] = "0123456789abcdef"
    path.write_text(json.dumps(content))


def test_changed_code_needs_a_replay(results):
    pretend_old_code(results, "TRE-sup")
    more = TOY1.cells("laptop", {"method": ["TRE-sup"]})
    with pytest.raises(ValueError, match=r"changed: TRE-sup \(code\)"):
        run(TOY1, more, results, progress=False)
    others = TOY1.cells("laptop", {"method": ["SIR"]})
    assert run(TOY1, others, results, progress=False).added, "other methods are not concerned"
    said = []
    outcome = run(TOY1, more, results, accept_code_change=True, progress=False, say=said.append)
    assert outcome.added == len(more) - 4
    assert len(said) == 3
    assert all("same" in sentence for sentence in said)
    entry = json.loads((results / "toy1.manifest.json").read_text())["methods"]["TRE-sup"]
    assert entry["found_equal"] == [{"code": "0123456789abcdef", "rows_replayed": 3}]


def test_changed_code_with_other_numbers_is_refused(results):
    tamper(results, "TRE-sup", shifted(0.01))
    pretend_old_code(results, "TRE-sup")
    with pytest.raises(ValueError, match="TRE-sup: 3 of 3 replayed rows"):
        check_code(TOY1, results, ["TRE-sup"], accept=True, say=lambda _: None)
    for sample in (0, -1):
        with pytest.raises(ValueError, match="sample must be an integer at least 1"):
            check_code(TOY1, results, ["TRE-sup"], accept=True, sample=sample)
    entry = json.loads((results / "toy1.manifest.json").read_text())["methods"]["TRE-sup"]
    assert entry["code"] == "0123456789abcdef"


def test_rows_without_a_manifest_are_refused(results):
    (results / "toy1.manifest.json").unlink()
    with pytest.raises(ValueError, match=r"SIR \(record\)"):
        run(TOY1, TOY1.cells("laptop", {"method": ["SIR"]}), results, progress=False)


def test_sample_is_spread_over_the_rows(results):
    cells = [one.stored.cell for one in replay_sample(TOY1, results, "SIR", 2)]
    assert {c.law for c in cells} == {"isotropic", "lognormal"}
    assert {c.n for c in cells} == {30, 40}


@pytest.mark.parametrize("size", [1, 3, 4, 8])
def test_sample_covers_every_axis_evenly(size):
    laws, sizes = TABLE1.axes["law"], TABLE1.axes["n"]
    rows = [
        Row(Cell(law, n, 3, "SIR", rep), (0.0,), "ok", 0.0)
        for law in laws
        for n in sizes
        for rep in range(20)
    ]
    cells = [row.cell for row in spread(TABLE1, rows, size)]
    assert len(set(cells)) == size
    assert len({cell.rep for cell in cells}) == size
    for values in ([c.law for c in cells], [c.n for c in cells]):
        times = [values.count(value) for value in set(values)]
        assert len(times) == min(size, 4)
        assert max(times) - min(times) <= 1
    assert [row.cell for row in spread(TABLE1, rows[::-1], size)] == cells, "whatever the order"
    assert spread(TABLE1, rows[:2], 5) == spread(TABLE1, rows[:2], 2)


def test_samples_of_the_methods_reach_every_value_together():
    chosen = []
    for method in PAPER_METHODS:
        rows = [
            Row(TABLE2.cell(law=law, r=r, method=method, rep=rep), (3, 0), "ok", 0.0)
            for law in TABLE2.axes["law"]
            for r in TABLE2.axes["r"]
            for rep in range(20)
        ]
        chosen += [row.cell for row in spread(TABLE2, rows, 3)]
    assert {c.law for c in chosen} == set(TABLE2.axes["law"])
    assert {c.r for c in chosen} == set(TABLE2.axes["r"])


# Fingerprints.


@pytest.fixture
def package(monkeypatch):
    """Two families of a made-up package, in modules that a test may change."""
    texts = {
        "toy": "",
        "toy.base": "LIMIT = 3\n\n\ndef check(x):\n    return x < LIMIT\n",
        "toy.one": "from . import base\n\n\ndef one(x):\n    return base.check(x)\n",
        "toy.two": "def two(x):\n    from .base import check\n\n    return x\n",
    }

    def hash_of(name, **changed):
        now = {f"toy.{module}": text for module, text in changed.items()}
        monkeypatch.setattr(fingerprint_module, "_TEXTS", {**texts, **now})
        for cached in ("_tree", "_definitions", "_imports"):
            getattr(fingerprint_module, cached).cache_clear()
        return code_hash([f"toy.{name}:{name}"])

    yield texts, hash_of
    monkeypatch.undo()
    for cached in ("_tree", "_definitions", "_imports"):
        getattr(fingerprint_module, cached).cache_clear()


def test_fingerprint_follows_names_across_modules(package):
    texts, hash_of = package
    before = hash_of("one")
    assert hash_of("one", base=texts["toy.base"].replace("3", "4")) != before, "a constant"
    assert hash_of("one", base=texts["toy.base"].replace("<", ">")) != before, "a function"
    assert hash_of("one", two="def two(x):\n    return -x\n") == before, "another family"
    two = hash_of("two")
    assert hash_of("two", base=texts["toy.base"].replace("3", "4")) == two, "imported, not used"


def test_fingerprint_does_not_see_layout_or_words(package):
    texts, hash_of = package
    before = hash_of("one")
    commented = texts["toy.base"].replace("def check(x):", "def check(x: int) -> bool:\n    'Doc.'")
    assert hash_of("one", base="# why\n" + commented) == before
    moved = "def check(x):\n    return x < LIMIT\n\n\nfrom .two import LIMIT\n"
    assert hash_of("one", base=moved, two="LIMIT = 3\n") == before


def test_fingerprint_is_that_of_the_code_at_the_start(tmp_path):
    """Work on the files while a run goes on changes neither its hashes nor its code."""
    package = tmp_path / "steinsdr"
    for name, text in fingerprint_module._TEXTS.items():  # not the files, which may have changed
        parts = name.split(".")
        packages = [other for other in fingerprint_module._TEXTS if other.startswith(f"{name}.")]
        path = tmp_path.joinpath(*parts, "__init__") if packages else tmp_path.joinpath(*parts)
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code = (
        "from pathlib import Path\n"
        "import steinsdr\n"
        "from steinsdr.paper.fingerprint import PACKAGE, fingerprint\n"
        f"assert PACKAGE == Path({str(package)!r}), PACKAGE\n"
        "path = PACKAGE / 'baselines' / 'sir.py'\n"
        "path.write_text(path.read_text().replace('class SIR(D', 'class SIR(str, D'))\n"
        "print(fingerprint('sir', 'distance'))\n"
    )
    command = [sys.executable, "-c", code]
    now, later = (
        subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout.strip()
        for _ in range(2)
    )
    assert now == fingerprint("sir", "distance")
    assert later not in ("", now), "the next process sees the change"


# They say which cells are computed, and how many at once.
WITHOUT_NUMBERS = {
    "steinsdr.paper.simulations:Group",
    "steinsdr.paper.simulations:group_cells",
    "steinsdr.paper.simulations:score_fit",
    "steinsdr.paper.fingerprint:fingerprint",
    "steinsdr.paper.simulations:ScoreCache",
    "steinsdr.paper.provenance:one_thread",
    "steinsdr.paper.study:Experiment",
    "steinsdr.rank:AdaptiveRank",  # made, but not asked where r is known
}


@pytest.mark.parametrize("experiment", [TOY1, TOY2], ids=["distance", "rank"])
@pytest.mark.parametrize(
    "method",
    [*PAPER_METHODS, "SIR-projective", "SIR-projected-null", "KSIR-all", "ridge", "true-score"],
)
def test_what_a_cell_runs_is_in_its_fingerprint(experiment, method):
    table = TABLE1 if experiment is TOY1 else TABLE2
    if method not in table.known("method"):
        pytest.skip("not in this table")
    experiment = replace(experiment, axes=experiment.axes | {"method": (method,)})
    # Both branches of the rank rules.
    cells = [cell for cell in experiment.cells("smoke") if (cell.n, cell.r) == (40, 3)]
    assert computed(experiment, cells)  # once unobserved: imports are not calls
    entered = definitions_entered(lambda: computed(experiment, cells))
    found = definitions(METHODS[method].family, experiment.measure)
    assert entered - WITHOUT_NUMBERS <= found
    selects = "steinsdr.rank:leading_singular_values" in entered
    assert not selects or any(name.endswith(("AdaptiveRank", "DominanceRank")) for name in found)


# Grids and filters.


def test_tables_have_the_papers_cells():
    assert len(set(TABLE1.cells("paper"))) == 160 * 100
    assert len(set(TABLE2.cells("paper"))) == 120 * 100
    assert {c.n for c in TABLE2.cells("paper")} == {300}
    assert {c.method for c in TABLE1.cells("laptop")} < set(PAPER_METHODS)
    assert 0 < len(TABLE1.cells("smoke")) < 100


def test_filters_choose_and_reach_beyond_the_profile():
    only = parse_only(["method=NN-split|csOPG-raw,law=ar1", "rep=3,rep=10-11"])
    cells = TABLE1.cells("smoke", only)
    assert {c.method for c in cells} == {"NN-split", "csOPG-raw"}
    assert {c.law for c in cells} == {"ar1"}
    assert {c.rep for c in cells} == {3, 10, 11}
    assert {c.n for c in cells} == {50, 100}, "what the filter does not name, the profile decides"


@pytest.mark.parametrize(
    ("only", "message"),
    [
        (["law=normal"], "law must be one of 'isotropic', 'ar1'"),
        (["n=60"], "n must be one of '50', '100'"),
        (["colour=red"], "a filter's name must be one of 'law', 'n', 'method', 'rep'"),
        (["method"], "only must look like"),
        (["rep=x"], "rep must be a number"),
        (["rep=3-"], "rep must be a number such as 3 or a range 10-19; got '3-'"),
        (["rep=²"], "rep must be a number such as 3 or a range 10-19; got '²'"),
    ],
)
def test_wrong_filters_are_refused_with_the_valid_names(only, message):
    with pytest.raises(ValueError, match=message):
        TABLE1.cells("smoke", parse_only(only))


def test_expensive_groups_come_last_and_repetitions_in_order():
    cells = TABLE1.cells("laptop", {"method": ["NN-split", "SIR", "TRE-split"], "law": ["ar1"]})
    groups = group_cells(TABLE1.design, cells)
    order = [(METHODS[g.cells[0].method].cost, g.cells[0].rep) for g in groups]
    assert order == sorted(order)
    networks = [g for g in groups if g.cells[0].method == "NN-split"]
    assert len(networks) == 10
    assert {c.n for c in networks[0].cells} == {50, 100, 300, 500}
