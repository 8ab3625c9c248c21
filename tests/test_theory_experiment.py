"""The theory studies as an experiment: pure cells, declared code, replay, and the stored rows."""

import pytest
from toy_experiment import definitions_entered

from steinsdr.paper.fingerprint import definitions
from steinsdr.paper.provenance import replay, stored_row
from steinsdr.paper.rates import _FAMILIES, STUDIES, THEORY, TheoryCell, group_cells
from steinsdr.paper.run import run
from steinsdr.paper.store import Store

# The smallest size of one study per family; networks take seconds and have a test of their own.
SMALL = {study.family: (name, study.sizes[0]) for name, study in reversed(STUDIES.items())}
LIGHT = {family: cell for family, cell in SMALL.items() if family != "score-network"}


def computed(cells):
    return {row.cell: row for group in THEORY.groups(cells) for row in THEORY.compute(group)}


def test_every_study_has_a_function_and_growing_sizes():
    assert {study.family for study in STUDIES.values()} == set(_FAMILIES)
    for study in STUDIES.values():
        assert list(study.sizes) == sorted(set(study.sizes))
        assert len(study.sizes) >= 4


def test_paper_profile_has_each_study_at_its_sizes_and_repetitions():
    cells = THEORY.cells("paper")
    assert len(set(cells)) == sum(len(s.sizes) * s.repetitions for s in STUDIES.values())
    assert {c.rep for c in THEORY.cells("paper", {"study": ["score-network"]})} == set(range(10))
    named = THEORY.cells("paper", {"study": ["score-network"], "rep": ["17"]})
    assert {c.rep for c in named} == {17}


@pytest.mark.parametrize("family", ["score-kernel", "floor-kernel"])
def test_centres_that_the_kernel_draws_follow_from_the_key(family, monkeypatch):
    monkeypatch.setattr("steinsdr.scores.tikhonov.AUTO_EXACT", 50)
    monkeypatch.setattr("steinsdr.scores.tikhonov.AUTO_CENTERS", 20)
    cells = [TheoryCell(*SMALL[family], rep=0)]
    once, again = ([row.values for row in computed(cells).values()] for _ in range(2))
    assert once == again


@pytest.mark.parametrize("family", LIGHT)
def test_a_cell_is_a_pure_function_of_its_key(family):
    """The same number alone, beside others of its family, and after another repetition."""
    name, size = LIGHT[family]
    cell = TheoryCell(name, size, 3)
    alone = computed([cell])[cell].values
    family_cells = [
        TheoryCell(other, size, rep)
        for other, study in STUDIES.items()
        for rep in (1, 3)
        if study.family == family and size in study.sizes
    ]
    together = computed(family_cells)
    assert together[cell].values == alone
    assert together[cell._replace(rep=1)].values != alone or set(alone) <= {0.0, 1.0}


def test_cells_that_share_a_fit_are_grouped():
    cells = THEORY.cells("smoke", {"study": ["coupled-0.5", "few-0.5", "split-n"], "size": ["100"]})
    groups = group_cells(cells)
    assert [len(group.cells) for group in groups] == [2, 1, 2, 1]
    assert [group.cells[0].rep for group in groups] == [0, 0, 1, 1]


@pytest.mark.parametrize("family", SMALL)
def test_what_a_study_runs_is_in_its_fingerprint(family):
    if family == "score-network":
        pytest.importorskip("torch")
    cell = TheoryCell(*SMALL[family], 0)
    assert computed([cell])  # once unobserved: imports are not calls
    entered = definitions_entered(lambda: computed([cell]))
    entered -= {
        "steinsdr.paper.rates:Theory",
        "steinsdr.paper.rates:TheoryGroup",
        "steinsdr.paper.rates:TheoryCell",
        "steinsdr.paper.rates:group_cells",
        "steinsdr.paper.provenance:one_thread",
    }
    assert entered <= definitions(family, "theory")


def test_run_and_replay(tmp_path):
    only = {"study": ["threshold-0.5", "few-0.4"], "size": ["100"]}
    cells = THEORY.cells("smoke", only)
    outcome = run(THEORY, cells, tmp_path, progress=False)
    assert (outcome.added, outcome.failed) == (4, 0)
    assert run(THEORY, cells, tmp_path, progress=False).added == 0
    store = Store(THEORY, tmp_path)
    store.read()
    again = replay(THEORY, stored_row(store, THEORY.cell(study="few-0.4", size=100, rep=1)))
    assert again.same
    assert again.stored.values == again.again.values


def test_an_empty_selection_names_the_sizes():
    with pytest.raises(ValueError, match=r"split-q: 4, 8, 16, 32, 64\); got 100"):
        THEORY.cells("smoke", {"study": ["split-q"], "size": ["100"]})
    some = THEORY.cells("smoke", {"study": ["split-q", "split-n"], "size": ["100"]})
    assert {cell.study for cell in some} == {"split-n"}


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="study must be one of 'stein-gaussian'"):
        THEORY.cell(study="stein", size=100, rep=0)
    with pytest.raises(ValueError, match="needs study"):
        THEORY.cell(size=100, rep=0)
