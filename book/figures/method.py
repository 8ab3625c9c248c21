"""Draw ``method.png``, the method in four steps: ``python book/figures/method.py``.

Two predictors in two overlapping clouds, neither normal nor elliptical; three responses, a rising,
a falling and a bent function of one direction b'x, plus noise.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from steinsdr.moments import cross_moment
from steinsdr.plotting import NULL, SIGNAL, use_style
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import stream

COLORS = ("#d55e00", "#009e73", "#cc78bc")  # apart from each other and from the points
SHOWN = slice(0, 110)  # observations with an arrow


def draw() -> Figure:
    """Estimate the direction and draw: score, score times response, average, direction."""
    use_style()
    rng = stream(42, "plane")
    side = rng.choice([-1.0, 1.0], size=(400, 1), p=[0.35, 0.65])
    X = rng.standard_normal((400, 2)) * [0.6, 0.9] + side * [1.1, 0.5]
    b = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    t = X @ b
    links = np.tanh(t), 1.2 * np.exp(-t / 2) - 1.5, np.logaddexp(0, 2 * t) / 2
    Y = np.column_stack(links) + 0.2 * rng.standard_normal((400, 3))
    scores = TikhonovScore(lam=5e-3).fit(X).train_scores_
    moment = cross_moment(scores, Y)
    direction = np.linalg.svd(moment)[0][:, 0]
    direction *= np.sign(direction @ b)
    assert direction @ b > np.cos(np.radians(10))

    fig, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(8.4, 8.2))
    first.scatter(*X.T, s=10, color=NULL, alpha=0.5, lw=0)
    arrows(first, X[SHOWN], scores[SHOWN], scale=5, color=SIGNAL, width=0.004)
    frame(first, "1. Score: where the density falls", 3.6)

    products = scores * Y[:, [0]]
    second.scatter(*X.T, c=Y[:, 0], s=12, cmap="vlag", vmin=-1.5, vmax=1.5)
    arrows(second, X[SHOWN], products[SHOWN], scale=5, color="0.45", width=0.004)
    arrows(second, np.zeros((1, 2)), moment[:, [0]].T, scale=0.3, color=COLORS[0], width=0.014)
    frame(second, "2. Times response 1 (red high, blue low)", 3.6)

    reach = 1.4 * np.abs(moment).max()
    third.plot(*np.outer(b, [-2 * reach, 2 * reach]), color=NULL, ls="--", label="true direction")
    for j in np.argsort(-np.linalg.norm(moment, axis=0)):  # the longest first: none is hidden
        style = {"color": COLORS[j], "width": 0.012, "label": f"response {j + 1}"}
        arrows(third, np.zeros((1, 2)), moment[:, [j]].T, scale=1, **style)
    third.legend(frameon=False, fontsize="small", loc="lower right")
    frame(third, "3. Average: one arrow per response", reach)

    for j, color in enumerate(COLORS):
        style = {"color": color, "label": f"response {j + 1}"}
        fourth.scatter(X @ direction, Y[:, j], s=9, alpha=0.6, lw=0, **style)
    fourth.legend(frameon=False, fontsize="small")
    fourth.set(xlabel="predictors along the estimated direction", ylabel="responses")
    fourth.set_title("4. Direction: one axis for all responses", fontsize="medium")
    return fig


def frame(ax: Axes, title: str, limit: float) -> None:
    """Show the plane up to a limit on all sides."""
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(title, fontsize="medium")


def arrows(ax: Axes, origins: NDArray, vectors: NDArray, **style: Any) -> None:
    """Draw vectors (m, 2) at their origins (m, 2)."""
    ax.quiver(*origins.T, *vectors.T, angles="xy", scale_units="xy", **style)


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
