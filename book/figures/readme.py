"""Draw ``readme.png``, the overview figure: ``python book/figures/readme.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from steinsdr import SteinSDR
from steinsdr.baselines import SIR, RidgeDirections
from steinsdr.plotting import METHOD_COLORS, REFERENCE_COLORS, use_style
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import chance_distance, procrustes_distance

SIZES = [50, 100, 300, 500]  # those of Table 1, with its regularization
REPETITIONS = 10
METHODS = {
    "SIR, projective": lambda n: SIR(3, slicing="projective", random_state=0),
    "the paper's estimator": lambda n: SteinSDR.paper(
        3, score_estimator=TikhonovScore(1e-5 if n >= 500 else 1e-4)
    ),
    "ridge regression": lambda n: RidgeDirections(3),
    "SteinSDR": lambda n: SteinSDR(3),
}
STYLES = {
    "SIR, projective": (REFERENCE_COLORS["SIR-projective"], "o--"),
    "the paper's estimator": (METHOD_COLORS["TRE-sup"], "o--"),
    "ridge regression": (REFERENCE_COLORS["ridge"], "o--"),
    "SteinSDR": (REFERENCE_COLORS["default"], "o-"),
}


def draw() -> Figure:
    """Fit and draw the distances to the truth, each curve with its name at the right."""
    use_style()
    fig, ax = plt.subplots(figsize=(5.4, 4.0), layout="constrained")
    ends = {}
    for name, make in METHODS.items():
        distances = [
            [
                procrustes_distance(make(n).fit(d.X, d.Y).components_.T, d.B)
                for d in (simulate("lognormal", n, seed=42 + k) for k in range(REPETITIONS))
            ]
            for n in SIZES
        ]
        mean, error = np.mean(distances, axis=1), np.std(distances, axis=1) / REPETITIONS**0.5
        color, style = STYLES[name]
        ax.errorbar(SIZES, mean, error, fmt=style, color=color, lw=2.5 if style == "o-" else 1.5)
        ends[name] = mean[-1]
    chance, _ = chance_distance(100, 3, rng=np.random.default_rng(0))
    ax.axhline(chance, color="0.5", ls=":")
    ax.annotate("a random guess", (SIZES[-1], chance), (0, 4), textcoords="offset points")
    height = -np.inf
    for name in sorted(ends, key=ends.__getitem__):  # names that would overlap move apart
        height = max(ends[name], height + 0.13)
        ax.text(SIZES[-1] + 12, height, name, color=STYLES[name][0], va="center")
    ax.set(xlabel="labeled observations", ylabel="distance to the truth", xticks=SIZES)
    ax.set(xlim=(20, 830), ylim=(0.85, chance + 0.15))
    ax.grid(visible=False, axis="x")
    return fig


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
