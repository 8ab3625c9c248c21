"""Draw ``readme.png``, the overview figure: ``python book/figures/readme.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from steinsdr import SteinSDR
from steinsdr.baselines import SIR, RidgeDirections
from steinsdr.plotting import METHOD_COLORS, plot_alignment, plot_spectrum, use_style
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import chance_distance, procrustes_distance

SIZES = [50, 100, 300, 500]  # those of Table 1, with its regularization
REPETITIONS = 10
METHODS = {
    "SteinSDR": lambda n: SteinSDR(3),
    "the paper's estimator": lambda n: SteinSDR.paper(
        3, score_estimator=TikhonovScore(1e-5 if n >= 500 else 1e-4)
    ),
    "sliced inverse regression": lambda n: SIR(3),
    "the same, projective": lambda n: SIR(3, slicing="projective", random_state=0),
    "ridge regression": lambda n: RidgeDirections(3),
}
STYLES = {
    "SteinSDR": (METHOD_COLORS["TRE-sup"], "o-"),
    "the paper's estimator": (METHOD_COLORS["TRE-sup"], "o--"),
    "sliced inverse regression": (METHOD_COLORS["SIR"], "o-"),
    "the same, projective": (METHOD_COLORS["SIR"], "o--"),
    "ridge regression": ("0.2", "o--"),
}


def draw() -> Figure:
    """Fit and draw."""
    use_style()
    data = simulate("ar1", 500, seed=43)
    sdr = SteinSDR(random_state=0).fit(data.X, data.Y)
    fig, axes = plt.subplots(1, 3, figsize=(13, 3.9))
    plot_spectrum(sdr.rank_, axes[0]).set_title("How many directions?")
    plot_alignment(sdr.components_[:3], data.B, axes[1]).set_title("Which directions?")
    for name, make in METHODS.items():
        distances = [
            [
                procrustes_distance(make(n).fit(d.X, d.Y).components_.T, d.B)
                for d in (simulate("ar1", n, seed=42 + k) for k in range(REPETITIONS))
            ]
            for n in SIZES
        ]
        mean, sd = np.mean(distances, axis=1), np.std(distances, axis=1)
        color, style = STYLES[name]
        axes[2].plot(SIZES, mean, style, color=color, label=name)
        if style == "o-":
            axes[2].fill_between(SIZES, mean - sd, mean + sd, color=color, alpha=0.2, lw=0)
    chance, _ = chance_distance(100, 3, rng=np.random.default_rng(0))
    axes[2].axhline(chance, color="0.5", ls=":", label="chance")
    axes[2].set(
        xlabel="labeled observations", xticks=SIZES, ylabel="distance to the truth", ylim=(0, None)
    )
    axes[2].set_title("How close?")
    axes[2].legend(frameon=False, fontsize="small")
    return fig


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
