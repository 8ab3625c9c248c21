"""Ranks and test errors of methods on one split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.extmath import svd_flip

from .._validation import check_choice, check_integer, check_matrix
from ..baselines._base import fixed_signs, varying_columns
from ..estimator import SteinSDR
from ..evaluation import evaluate_reductions, watch_reductions
from ..streams import stream_seed
from ..subspace import orthonormalize
from ._split import Split

__all__ = [
    "LINKS",
    "MAX_RANK",
    "REFERENCE_RANK",
    "Reduction",
    "evaluate_methods",
    "fit_reduction",
]

REFERENCE_RANK = 10
"""The fixed rank of the table's last columns."""

MAX_RANK = 12
"""Largest candidate rank. The paper gives it for csOPG and KSIR; its ranks of the other methods fit
12 as well, and neither 10 nor 16."""

LINKS = ("labeled", "fit")
"""Cells that train the network behind an error: the labeled training cells, or the fitting set."""


@dataclass(frozen=True)
class Reduction:
    """Directions of one method: at the rank it selects, and at the reference rank.

    Attributes
    ----------
    rank : int
        Selected rank.
    selected : ndarray of shape (p, rank)
    reference : ndarray of shape (p, r)
        At the reference rank, 10 in the paper.
    """

    rank: int
    selected: NDArray
    reference: NDArray


def fit_reduction(estimator: Any, split: Split, *, reference: int = REFERENCE_RANK) -> Reduction:
    """Fit a reducer on the training part of a split, at the rank it selects and at ``reference``.

    Genes that do not vary among the labeled or among the unlabeled cells get zero loadings.

    Parameters
    ----------
    estimator : SteinSDR or baseline
        With parameter ``n_components`` and attribute ``components_``; cloned, not modified. Its
        own ``n_components`` counts as the choice: "auto" selects the rank.
    split : Split
    reference : int, default=10
        The other rank.
    """
    check_integer(reference, "reference", low=1)
    vary = varying_columns(split.X_labeled) & varying_columns(split.X_unlabeled)
    X, X_unlabeled = split.X_labeled[:, vary], split.X_unlabeled[:, vary]

    def embedded(directions: NDArray) -> NDArray:
        whole = np.zeros((len(vary), directions.shape[1]))
        whole[vary] = directions
        return whole

    fitted = clone(estimator)
    extra = {}
    if isinstance(fitted, SteinSDR) and fitted.config != "sup":
        extra = {"X_unlabeled": X_unlabeled}
    fitted.fit(X, split.Y_labeled, **extra)
    other = _directions(fitted, reference)
    if other is None:
        again = clone(estimator).set_params(n_components=reference)
        other = again.fit(X, split.Y_labeled).components_.T
    selected = fitted.components_.T
    return Reduction(selected.shape[1], embedded(selected), embedded(other))


def _directions(fitted: Any, r: int) -> NDArray | None:
    """Return r directions (p, r) of a fit that holds those of every rank; None if it does not."""
    if hasattr(fitted, "directions_path_"):  # csOPG, KSIR: not nested
        path = fitted.directions_path_
        _check_reference(r, max(path))
        directions = np.zeros_like(path[r])
        kept = orthonormalize(path[r][fitted.selected_])
        directions[fitted.selected_] = fixed_signs(kept.T).T
        return directions
    if hasattr(fitted, "cross_moment_"):  # SteinSDR
        U, _, Vt = np.linalg.svd(fitted.cross_moment_, full_matrices=False)
        _check_reference(r, U.shape[1])
        return svd_flip(U, Vt)[0][:, :r]
    if hasattr(fitted, "weights_"):  # MLPDirections
        _, _, Vt = np.linalg.svd(fitted.weights_, full_matrices=False)
        _check_reference(r, len(Vt))
        return fixed_signs(Vt[:r]).T
    return None


def _check_reference(r: int, limit: int) -> None:
    if r > limit:
        raise ValueError(f"reference={r}; expected at most {limit}, the directions there are.")


def evaluate_methods(
    split: Split, reductions: Mapping[str, Reduction], *, link: str = "labeled", **settings: Any
) -> pd.DataFrame:
    r"""Train a network on every reduction and return its errors on the test cells.

    Parameters
    ----------
    split : Split
    reductions : mapping of str to Reduction
        By method. Initial weights and batches are those of the split's seed, the same for all.
    link : {"labeled", "fit"}, default="labeled"
        Cells that train the network. "labeled" takes :math:`\mathcal T_\ell` again, as the paper's
        appendix says and its numbers show, and :math:`\mathcal T_f` stops the honest network.
        "fit" takes :math:`\mathcal T_f`, as Section 5 says; a part of it stops the honest network.
    **settings
        Of :func:`steinsdr.evaluation.evaluate_reductions`, for example ``epochs``.

    Returns
    -------
    DataFrame indexed by method
        ``rank``; ``mse_rhat`` and ``mse_r10`` as the paper (best epoch by test error);
        ``mse_rhat_honest`` and ``mse_r10_honest`` (epoch chosen without the test cells).
    """
    check_choice(link, "link", LINKS)
    p = split.X_labeled.shape[1]
    bases = []
    for name, reduction in reductions.items():
        for kind in ("selected", "reference"):
            B = check_matrix(getattr(reduction, kind), f"{kind} directions of {name}")
            if len(B) != p:
                raise ValueError(f"{kind} directions of {name} have {len(B)} rows; expected {p}.")
            bases.append(B)
    settings.setdefault("random_state", stream_seed(split.seed, "patchseq", "evaluation"))

    def part(name: str) -> tuple[list[NDArray], NDArray]:
        return [getattr(split, f"X_{name}") @ B for B in bases], getattr(split, f"Y_{name}")

    if link == "labeled":
        test, fit = watch_reductions(*part("labeled"), [part("test"), part("fit")], **settings)
        paper = test.min(axis=0)
        honest = np.take_along_axis(test, fit.argmin(axis=0)[None], axis=0)[0]
    else:
        found = evaluate_reductions(*part("fit"), *part("test"), **settings)
        paper = np.array([one.paper for one in found])
        honest = np.array([one.honest for one in found])
    rows = {
        name: {
            "rank": reduction.rank,
            "mse_rhat": paper[2 * i],
            "mse_r10": paper[2 * i + 1],
            "mse_rhat_honest": honest[2 * i],
            "mse_r10_honest": honest[2 * i + 1],
        }
        for i, (name, reduction) in enumerate(reductions.items())
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")
