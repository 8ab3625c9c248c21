"""Draw ``readme.png``, the overview figure: ``python book/figures/readme.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from steinsdr import SteinSDR
from steinsdr.baselines import SIR
from steinsdr.plotting import METHOD_COLORS, plot_alignment, plot_spectrum, use_style
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import simulate
from steinsdr.subspace import chance_distance, procrustes_distance

SIZES = [50, 100, 300, 500]  # those of Table 1, with its regularization
REPETITIONS = 10
METHODS = {
    "TRE-sup": lambda n: SteinSDR(3, score=TikhonovScore(1e-5 if n >= 500 else 1e-4)),
    "SIR": lambda n: SIR(n_components=3),
}


def draw() -> Figure:
    """Fit and draw."""
    use_style()
    data = simulate("ar1", 500, seed=43)
    sdr = SteinSDR(score=TikhonovScore(1e-5), random_state=0).fit(data.X, data.Y)
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
        label = "SteinSDR" if name == "TRE-sup" else "sliced inverse regression"
        axes[2].plot(SIZES, mean, "o-", color=METHOD_COLORS[name], label=label)
        axes[2].fill_between(
            SIZES, mean - sd, mean + sd, color=METHOD_COLORS[name], alpha=0.2, lw=0
        )
    chance, _ = chance_distance(100, 3, rng=np.random.default_rng(0))
    axes[2].axhline(chance, color="0.5", ls=":", label="chance")
    axes[2].set(
        xlabel="labeled observations", xticks=SIZES, ylabel="distance to the truth", ylim=(0, None)
    )
    axes[2].set_title("How close?")
    axes[2].legend(frameon=False)
    return fig


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
