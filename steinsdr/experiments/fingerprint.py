"""Fingerprints of the code that decides a method's numbers.

The code is that of the moment when this module was imported, so that work on the files during a
run changes nothing. Comments, docstrings and blank lines do not count. Each family of methods has
its own list of modules, so that work on one leaves the results of the others alone; a test records
which modules a cell really enters.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["code_hash", "essence", "fingerprint", "modules"]

PACKAGE = Path(__file__).resolve().parents[1]

# Read now, when the modules are being loaded too. Hidden files are those of editors.
_TEXTS = {
    path.relative_to(PACKAGE).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in PACKAGE.rglob("*.py")
    if not path.name.startswith(".")
}

_COMMON = ("_validation", "simulation", "streams")
_SCORE = ("experiments/scorefits", "scores/_base")
_MAVE = tuple(f"baselines/{name}" for name in ("_base", "_mave", "_mave_dim", "_opg", "_prepare"))
_MODULES: dict[str, tuple[str, ...]] = {
    "tikhonov": (*_SCORE, "kernels", "scores/_lanczos", "scores/tikhonov"),
    "denoising": (*_SCORE, "scores/_network", "scores/denoising"),
    "analytic": (*_SCORE, "scores/analytic"),
    "ridge": ("baselines/_base", "baselines/ridge", "moments"),
    "sir": ("baselines/_base", "baselines/_slices", "baselines/sir", "moments", "subspace"),
    "csopg": (*_MAVE, "baselines/csopg", "subspace"),
    "ksir": (*_MAVE, "baselines/ksir", "subspace"),
    "mlp": ("_relu", "baselines/_base", "baselines/_dominance", "baselines/mlp"),
    "linear": ("patchseq/_references", "reduced_rank"),
}
_KERNEL = ("kernels", "scores/_base", "scores/_lanczos", "scores/tikhonov")
_NORMAL = ("moments", "scores/_base", "scores/analytic", "theory/population")
_IDENTITY = ("scores/_base", "scores/analytic", "theory/stein_identity")
_SPLIT = (*_NORMAL, "theory/split_bound", "theory/stein_identity")
_RANK = (*_NORMAL, "rank", "subspace", "theory/subspace_bounds")
_THEORY: dict[str, tuple[str, ...]] = {
    "identity": _IDENTITY,
    "score-kernel": (*_IDENTITY, *_KERNEL, "theory/score_errors"),
    "score-network": (*_IDENTITY, "scores/_network", "scores/denoising", "theory/score_errors"),
    "split": _SPLIT,
    "floor-normal": _SPLIT,
    "floor-kernel": (*_SPLIT, *_KERNEL),
    "coupled": (*_KERNEL, "moments", "theory/coupled"),
    "distance": _RANK,
    "threshold": _RANK,
    "permutation": ("rank", "tails", "theory/rank_tests", "theory/stein_identity"),
}
_STEIN = ("estimator", "moments")
_MEASURE = {
    "scores": (),
    "distance": ("experiments/cells", "experiments/failure", "subspace"),
    "rank": ("experiments/cells", "experiments/failure", "rank", "tails"),
    "prediction": (
        *("experiments/table3_cells", "experiments/failure"),
        *("datasets", "preprocessing", "selection"),
        *("sparse_rrr", "reduced_rank"),
        *("patchseq/_split", "patchseq/_evaluate", "evaluation", "_relu", "baselines/_base"),
        *("rank", "tails", "subspace"),
    ),
}


def modules(family: str, measure: str) -> tuple[str, ...]:
    """Return the modules that decide a family's ``measure``.

    The measures are "distance", "rank", "prediction", for those that have them "scores", and
    "theory", which has families of its own.
    """
    if measure == "theory":
        return tuple(sorted({*_COMMON, *_THEORY[family], "experiments/theory_cells"}))
    names = {*_COMMON, *_MODULES[family], *_MEASURE[measure]}
    if "scores/_base" in names and measure != "scores":
        names.update(_STEIN)
    if family in ("csopg", "ksir", "linear"):
        names -= {"rank", "tails"}  # they choose by cross-validation
    if measure == "prediction":
        names -= {"simulation", "experiments/scorefits"}
    return tuple(sorted(names))


@cache
def fingerprint(family: str, measure: str) -> str:
    """Return a hash of the code that decides ``measure`` for a family of methods.

    Examples
    --------
    >>> len({fingerprint("sir", "distance"), fingerprint("ksir", "distance")})
    2
    """
    return code_hash(modules(family, measure))


def code_hash(names: Iterable[str]) -> str:
    """Return a hash of modules of the package, given as paths without suffix."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\n{essence(_TEXTS[name])}\n".encode())
    return digest.hexdigest()[:16]


def essence(source: str) -> str:
    r"""Return source text without comments, docstrings and blank lines.

    Examples
    --------
    >>> essence("def f(x):  # a comment\n    'Doc.'\n\n    return '# kept'\n")
    "def f(x):\n    return '# kept'"
    """
    lines: list[str] = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            for row in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                lines[row - 1] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())
