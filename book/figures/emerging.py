"""Compute what the slider over n shows and draw it at rest: ``python book/figures/emerging.py``.

The designs are those of Table 1: 100 predictors, ten responses, three directions. Every estimate
is rotated to the true basis, since only its span can be learned.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from steinsdr import SteinSDR
from steinsdr.baselines import RidgeDirections
from steinsdr.plotting import REFERENCE_COLORS, use_style
from steinsdr.simulation import BASE_SEED, LAWS, simulate
from steinsdr.subspace import chance_distance, procrustes_distance

DATA = Path(__file__).parents[1] / "_static" / "play" / "emerging.data.js"
SHOWN_LAWS = ("isotropic", "ar1", "lognormal", "exp_ar1")
SIZES = (25, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000)
DATA_SETS = 10
METHODS: dict[str, Any] = {
    "the paper's estimator": SteinSDR.paper,
    "the default": SteinSDR,
    "ridge regression": RidgeDirections,
}


def estimate(law: str, n: int, method: str, seed: int = BASE_SEED) -> tuple[float, NDArray]:
    """Return the distance to the true subspace, and the loadings rotated to the true ones."""
    data = simulate(law, n, seed=seed)
    basis = METHODS[method](3, random_state=0).fit(data.X, data.Y).components_.T
    rotation = orthogonal_procrustes(basis, data.B)[0]
    return procrustes_distance(basis, data.B), basis @ rotation


def entry(law: str, n: int, method: str) -> dict[str, Any]:
    """Return the mean distance over data sets, and distance and loadings (thousandths) of one."""
    found = [estimate(law, n, method, BASE_SEED + k) for k in range(DATA_SETS)]
    first, loadings = found[0]
    mean = np.mean([distance for distance, _ in found])
    return {"mean": round(mean, 3), "distance": round(first, 3), "loadings": thousandths(loadings)}


def thousandths(values: NDArray) -> list[int]:
    """Return the values, column by column, as whole thousandths."""
    return [int(v) for v in np.rint(1000 * values.T.ravel())]


def compute() -> dict[str, Any]:
    """Return everything that the slider shows; it takes about two minutes."""
    chance, _ = chance_distance(100, 3, rng=np.random.default_rng(0))
    laws = {
        law: {
            "label": LAWS[law].label,
            "truth": thousandths(simulate(law, 2).B),
            "methods": {m: [entry(law, n, m) for n in SIZES] for m in METHODS},
        }
        for law in SHOWN_LAWS
    }
    return {"sizes": SIZES, "dataSets": DATA_SETS, "chance": round(chance, 3), "laws": laws}


def load() -> dict[str, Any]:
    """Return what was computed."""
    content: dict[str, Any] = json.loads(DATA.read_text().partition("=")[2].strip("; \n"))
    return content


def draw() -> Figure:
    """Draw loadings at three sizes, under the law of the correlated normal."""
    use_style()
    content = load()
    law = content["laws"]["ar1"]
    method = "the default"
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 3.4), sharex=True, sharey=True)
    for ax, n in zip(axes, (50, 200, 1000), strict=True):
        found = law["methods"][method][content["sizes"].index(n)]
        ax.plot([-0.4, 0.4], [-0.4, 0.4], color="0.6", lw=1)
        truth, loadings = (np.array(v) / 1000 for v in (law["truth"], found["loadings"]))
        ax.scatter(truth, loadings, s=8, alpha=0.6, lw=0, color=REFERENCE_COLORS["default"])
        ax.set(xlabel="true loading", aspect="equal")
        ax.set_title(f"n = {n}: distance {found['distance']:.2f}", fontsize="medium")
    axes[0].set(ylabel="estimated loading")
    return fig


if __name__ == "__main__":
    DATA.write_text(f"play.emerging = {json.dumps(compute(), separators=(',', ':'))};\n")
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
