"""Any table at all: a finite result of the right shape, or a ValueError that names an argument.

Then what no table may do: differ between threads, change what threads share, take all memory.

``STEINSDR_FUZZ_EXAMPLES=300`` draws that many tables for each entry point, other ones every time.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from test_bad_input import FITS as REDUCERS
from test_bad_input import POSITIVE, RULES, SCORES, Y, null, select

from steinsdr import SteinSDR
from steinsdr.baselines import CSOPG, KSIR, SIR, RidgeDirections
from steinsdr.moments import cross_moment, stein_diagnostics
from steinsdr.rank import tail_check
from steinsdr.scores import LogNormalScore, TikhonovScore
from steinsdr.simulation import links
from steinsdr.subspace import principal_angles, procrustes_distance

EXAMPLES = os.environ.get("STEINSDR_FUZZ_EXAMPLES")
fuzz = settings(
    max_examples=int(EXAMPLES or 8),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TYPES = ["f8"] * 12 + ["f4", "f2", "g", "i8", "i1", "u1", "?", "O", "U", "c16", "M8[D]"]
CONTAINERS = ["array"] * 10 + ["list", "frame", "frame", "flat", "short", "empty"]
POWERS = [0] * 8 + [300, 150, 120, 80, 40, 20, 8, -8, -20, -40, -80, -120, -150, -160, -300, -400]
NAMES = st.text(max_size=3) | st.integers(0, 3) | st.tuples(st.booleans()) | st.none()


@st.composite
def tables(draw, n, k):
    """A table of about n rows and k columns: values, scales, repeated rows, type, container."""
    kind = draw(st.sampled_from(["ordinary", "ordinary", "integers", "floats"]))
    if kind == "ordinary":
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        values = rng.standard_normal((n, k)) ** draw(st.sampled_from([1, 1, 3, 9]))
    else:
        numbers = st.integers(-2, 2).map(float) if kind == "integers" else st.floats()
        values = draw(arrays(float, (n, k), elements=numbers))
    with np.errstate(all="ignore"):
        values = values * 10.0 ** draw(st.sampled_from(POWERS)) + draw(st.sampled_from([0, 0, 1e8]))
        for _ in range(draw(st.integers(0, 2))):
            row, column = draw(st.integers(0, n - 1)), draw(st.integers(0, k - 1))
            where = draw(st.sampled_from([(row, column), np.s_[:, column], row]))
            values[where] *= 10.0 ** draw(st.sampled_from(POWERS))
    if draw(st.booleans()):
        values = values[draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))]
    dtype, container = draw(st.sampled_from(TYPES)), draw(st.sampled_from(CONTAINERS))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values = (values % 1e4 if dtype == "M8[D]" else values).astype(dtype)
    if container == "frame":
        names = draw(st.none() | st.lists(NAMES, min_size=k, max_size=k))
        return pd.DataFrame(values.astype("f8") if dtype == "g" else values, columns=names)
    odd = {"flat": values[:, 0], "short": values[:-1], "empty": values[:, :0]}
    return values.tolist() if container == "list" else odd.get(container, values)


@st.composite
def data(draw):
    """X, Y of as many rows, and new rows of X."""
    n, p, q = draw(st.integers(2, 20)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    return draw(tables(n, p)), draw(tables(n, q)), draw(tables(3, p))


VARIANTS = {
    "SteinSDR auto": SteinSDR(random_state=0),
    "SteinSDR kernel": SteinSDR(1, augment="kernel", weights="fourier", pca=1, random_state=0),
    "SteinSDR.paper auto": SteinSDR.paper(random_state=0),
    "SIR auto": SIR(random_state=0),
    "CSOPG auto": CSOPG(screen=None),
    "KSIR auto": KSIR(weigh="all"),
    "RidgeDirections auto": RidgeDirections(random_state=0),
    "LogNormalScore fitted": LogNormalScore(),
    "Nystrom raw": TikhonovScore(n_centers=2, standardize=False, random_state=0),
    "float32": TikhonovScore(dtype="float32", standardize=False),
}
FITS = {**REDUCERS, **SCORES, **VARIANTS}
FUNCTIONS = {
    "cross_moment": cross_moment,
    "stein_diagnostics": lambda X, Y: stein_diagnostics(X, X),
    "tail_check": lambda X, Y: tail_check(X),
    "procrustes_distance": procrustes_distance,
    "principal_angles": principal_angles,
    "links": lambda X, Y: links(X, 5),
    "permutation_null": null,
    **{
        type(rule).__name__: lambda X, Y, rule=rule: select(
            rule, cross_moment=cross_moment(X, Y), scores=X, Y=Y, X=X
        )
        for rule in RULES.values()
    },
}
NAMED = re.compile(
    r"(X|Y|y|requires y|scores|basis|bases|indices|cross_moment|matrix|n_components|n_centers|width"
    r"|means?|cov|first|second)\b"
)


def attempt(function, *arguments):
    """Return a finite result, or None if a ValueError begins with the name of an argument."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments)
        except ValueError as error:
            if not NAMED.match(str(error)):
                raise
            return None
    for name, value in getattr(result, "__dict__", {"result": result}).items():
        numbers = isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
        assert not numbers or name.startswith("_") or np.isfinite(value).all(), name
    return result


@pytest.mark.parametrize("name", FITS)
@fuzz
@given(data())
def test_fits_are_finite_or_refused(name, data):
    X, Y, new = data
    model = attempt(clone(FITS[name]).fit, X, Y)
    if model is None:
        return
    if hasattr(model, "components_"):
        assert model.components_.shape == (model.n_components_, np.shape(X)[1])
    for method in ("transform", "predict", "evaluate"):
        for points in (X, new) if hasattr(model, method) else ():
            result = attempt(getattr(model, method), points)
            assert result is None or len(result) == len(points)
            assert result is None or method != "evaluate" or result.shape == np.shape(points)


@pytest.mark.parametrize("name", FUNCTIONS)
@fuzz
@given(data())
def test_functions_are_finite_or_refused(name, data):
    attempt(FUNCTIONS[name], *data[:2])


def fit_all(name):
    """Return the arrays of a fit, and of the method that a fit is for, on ordinary data."""
    model = clone(FITS[name]).fit(POSITIVE, Y)
    method = next(m for m in ("transform", "predict", "evaluate") if hasattr(model, m))
    learned = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    return [*learned, getattr(model, method)(POSITIVE)]


def shared_state():
    """Return what every thread of a process has in common, and no fit may change."""
    legacy = np.random.get_state()  # noqa: NPY002 - the stream that no fit may touch
    streams = random.getstate(), legacy, torch.random.get_rng_state().tolist()
    return repr((*streams, warnings.filters, np.geterr(), torch.get_num_threads()))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_two_threads_give_what_one_gives_and_share_nothing(name):
    alone, before = fit_all(name), shared_state()
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fit_all, [name] * 4))
    assert shared_state() == before
    for fit in together:
        for one, other in zip(alone, fit, strict=True):
            np.testing.assert_array_equal(one, other)


HEADLESS = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
WIDE = """
import resource
import numpy as np, pandas as pd
from steinsdr import SteinSDR
from steinsdr.report import analyze, read_table
from steinsdr.report.write import write_report
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((60, 10_000))).add_prefix("gene")
y = X["gene0"] + 0.1 * rng.standard_normal(60)
sdr = SteinSDR(1, random_state=0).fit(X, y)
write_report(analyze(read_table(X.assign(y=y), "y"), bootstrap=0, folds=2), {folder!r})
print(sdr.components_.shape[1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_wide_tables_take_little_memory(tmp_path):
    """No p x p matrix, which would have 0.8 GB, and no picture of all columns."""
    code = [sys.executable, "-c", WIDE.format(folder=str(tmp_path))]
    found = subprocess.run(code, capture_output=True, text=True, check=True, env=HEADLESS)
    columns, kilobytes = map(int, found.stdout.split())
    assert columns == 10_000
    assert (tmp_path / "index.html").is_file()
    assert kilobytes < 9e5


def test_the_command_line_speaks_before_it_imports_what_is_slow():
    code = "import sys; sys.modules['numpy'] = sys.modules['matplotlib'] = None\n"
    code += "from steinsdr.__main__ import main; main(['fit', 'my.csv', '--response', 'y'])"
    before = os.times().children_user
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "Reading my.csv ...\n"
    assert os.times().children_user - before < 2.0  # of the processor, however busy it is


INTERRUPTED = """
import sys
class Stop:
    def find_spec(name, *_):
        if name == {package!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop)
from steinsdr.__main__ import main
sys.exit(main({arguments}))
"""


@pytest.mark.parametrize(
    ("package", "arguments"),
    [("numpy", ["status"]), ("pandas", ["fit", "my.csv", "--response", "y"])],
)
def test_an_interrupt_during_imports_is_one_line(package, arguments):
    code = INTERRUPTED.format(package=package, arguments=arguments)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (130, "steinsdr: interrupted.\n")
