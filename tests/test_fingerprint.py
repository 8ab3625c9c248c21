"""Fingerprints: hashes of the definitions behind a row, wherever they stand."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from toy_experiment import TOY1, TOY2, computed, toy3

from steinsdr import _base
from steinsdr.paper import fingerprint as fingerprint_module
from steinsdr.paper import table3
from steinsdr.paper.fingerprint import code_hash, reachable
from steinsdr.paper.rates import STUDIES, THEORY
from steinsdr.paper.simulations import PAPER_METHODS

CACHED = ("_code_hash", "_definition", "_definitions", "_imports")


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
        for cached in CACHED:
            getattr(fingerprint_module, cached).cache_clear()
        return code_hash([f"toy.{name}:{name}"])

    yield texts, hash_of
    monkeypatch.undo()
    for cached in CACHED:
        getattr(fingerprint_module, cached).cache_clear()


def test_fingerprint_follows_names_and_sees_no_layout_or_words(package):
    texts, hash_of = package
    base, one, two = texts["toy.base"], hash_of("one"), hash_of("two")
    assert hash_of("one", base=base.replace("3", "4")) != one, "a constant"
    assert hash_of("one", base=base.replace("<", ">")) != one, "a function"
    assert hash_of("one", two="def two(x):\n    return -x\n") == one, "another family"
    assert hash_of("two", base=base.replace("3", "4")) == two, "imported, not used"
    commented = base.replace("def check(x):", "def check(x: int) -> bool:\n    'Doc.'")
    assert hash_of("one", base="# why\n" + commented) == one
    moved = "def check(x):\n    return x < LIMIT\n\n\nfrom .two import LIMIT\n"
    assert hash_of("one", base=moved, two="LIMIT = 3\n") == one
    refusing = "from steinsdr._base import check_integer\n" + base.replace(
        "    return", "    check_integer(x, 'x')\n    return"
    )
    assert hash_of("one", base=refusing) == one, "a check of arguments"


def test_fingerprint_is_that_of_the_code_at_the_start(tmp_path):
    """Work on the files while a run goes on changes neither its hashes nor its code."""
    root = "steinsdr.baselines.sir:SIR"
    shutil.copytree(fingerprint_module.PACKAGE, tmp_path / "steinsdr")
    code = (
        "import steinsdr\n"
        "from steinsdr.paper.fingerprint import PACKAGE, code_hash\n"
        "path = PACKAGE / 'baselines' / 'sir.py'\n"
        "path.write_text(path.read_text().replace('class SIR(D', 'class SIR(str, D'))\n"
        f"print(PACKAGE.parent, code_hash([{root!r}]))\n"
    )
    command = [sys.executable, "-c", code]
    (place, now), (_, later) = (
        subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout.split()
        for _ in range(2)
    )
    assert place == str(tmp_path)
    assert now == code_hash([root])
    assert later != now, "the next process sees the change"


# They say which cells are computed, and how: they decide no number.
WITHOUT_NUMBERS = {
    "steinsdr.paper.experiment:Experiment",
    "steinsdr.paper.experiment:one_thread",
    "steinsdr.paper.simulations:_group",
    "steinsdr.paper.table3:_group",
    "steinsdr.paper.rates:_group",
    "steinsdr.rank:AdaptiveRank",  # made, but not asked where r is known
}
BEYOND = ("aug-sup", "aug-full", "weighted-sup", "weighted-full", "RFM")
SIMULATED = (*PAPER_METHODS, *BEYOND, "SIR-projective", "KSIR-all", "ridge", "true-score")
REAL = ("SIR", "csOPG", "KSIR", "MLP", "NN-split", "TRE-full", "RRR", "SIR-Tf", "ridge-inner")
SMALLEST = {s.family: (name, s.sizes[0], 0) for name, s in reversed(STUDIES.items())}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return toy3(tmp_path_factory.mktemp("data") / "mini")


def definitions_entered(function):
    """Call a function; return the package's functions and classes it ran, as "module:name"."""
    entered = set()

    def observe(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("steinsdr"):
            name = frame.f_code.co_qualname.partition(".")[0]
            if not name.startswith(("<", "__create_fn__")):  # what dataclasses make
                entered.add(f"{module}:{name}")

    sys.setprofile(observe)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize(
    ("experiment", "cell"),
    [
        *((TOY1, ("lognormal", 40, method, 0)) for method in SIMULATED),
        *((TOY1, ("isotropic", 40, method, 0)) for method in ("TRE-sup", "MLP", *BEYOND)),
        *((TOY1, (law, 40, "limit", 0)) for law in ("isotropic", "lognormal")),
        *((TOY2, (law, 3, m, 0)) for m in SIMULATED for law in ("isotropic", "lognormal")),
        (TOY2, ("isotropic", 3, "SIR-projected-null", 0)),
        *((None, (0.6, 0.5, method, 0)) for method in REAL),
        *((THEORY, cell) for cell in SMALLEST.values()),
    ],
    ids=lambda part: getattr(part, "name", "table3") if not isinstance(part, tuple) else None,
)
def test_what_a_cell_runs_is_in_its_fingerprint(experiment, cell, real):
    experiment = experiment or real
    assert computed(experiment, [cell])[cell][1] == "ok"  # once unobserved: imports are not calls
    table3._data.cache_clear()
    table3._genes.cache_clear()
    entered = definitions_entered(lambda: computed(experiment, [cell]))
    family = experiment.methods[experiment.method_of(cell)].family
    found = set(reachable(*experiment.code(family)))
    own = [
        name
        for name, value in vars(_base).items()
        if getattr(value, "__module__", "") == _base.__name__
    ]
    checks = [f"steinsdr._base:{name}" for name in own if name.startswith("check_")]
    assert entered - WITHOUT_NUMBERS - set(reachable(checks)) <= found
    selects = "steinsdr.rank:leading_singular_values" in entered
    assert not selects or any(name.endswith(("AdaptiveRank", "DominanceRank")) for name in found)
