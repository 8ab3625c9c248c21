r"""The method as a picture: two predictors, one direction, four steps from data to direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..moments import cross_moment
from ..plotting import NULL, SIGNAL
from ..scores import TikhonovScore
from ..simulation import stream

__all__ = ["PlaneExample", "plane_example", "plot_steps"]


_LINKS: tuple[Callable[[NDArray], NDArray], ...] = (
    np.tanh,
    lambda t: 1.2 * np.exp(-t / 2) - 1.5,
    lambda t: np.logaddexp(0, 2 * t) / 2,
)
_RESPONSE_COLORS = ("#d55e00", "#009e73", "#cc78bc")  # apart from each other and from the points


@dataclass(frozen=True)
class PlaneExample:
    """A data set in the plane and what the method makes of it.

    Attributes
    ----------
    X : ndarray of shape (n, 2)
        Two overlapping clouds: neither normal nor elliptical.
    Y : ndarray of shape (n, 3)
        Responses: a rising, a falling and a bent function of b'x, plus noise.
    b : ndarray of shape (2,)
        The true direction.
    scores : ndarray of shape (n, 2)
        Estimated scores of the rows of X.
    moment : ndarray of shape (2, 3)
        Their cross-moment with Y.
    direction : ndarray of shape (2,)
        Its first left singular vector, with the sign of b.
    """

    X: NDArray
    Y: NDArray
    b: NDArray
    scores: NDArray
    moment: NDArray
    direction: NDArray


def plane_example(n: int = 400, *, seed: int = 42) -> PlaneExample:
    """Draw the example and estimate its direction.

    Examples
    --------
    >>> example = plane_example(400)
    >>> bool(example.direction @ example.b > np.cos(np.radians(10)))  # within ten degrees
    True
    """
    rng = stream(seed, "plane")
    side = rng.choice([-1.0, 1.0], size=(n, 1), p=[0.35, 0.65])
    X = rng.standard_normal((n, 2)) * [0.6, 0.9] + side * [1.1, 0.5]
    b = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    noise = 0.2 * rng.standard_normal((n, len(_LINKS)))
    Y = np.column_stack([link(X @ b) for link in _LINKS]) + noise
    scores = TikhonovScore(lam=5e-3).fit(X).train_scores_
    moment = cross_moment(scores, Y)
    direction = np.linalg.svd(moment)[0][:, 0]
    return PlaneExample(X, Y, b, scores, moment, direction * np.sign(direction @ b))


def plot_steps(example: PlaneExample | None = None) -> Figure:
    """Draw the four steps: score, score times response, average, direction.

    Parameters
    ----------
    example : PlaneExample, optional
        By default :func:`plane_example`.
    """
    example = plane_example() if example is None else example
    fig, axes = plt.subplots(2, 2, figsize=(8.4, 8.2))
    _draw_scores(axes[0, 0], example)
    _draw_products(axes[0, 1], example)
    _draw_moment(axes[1, 0], example)
    _draw_summary(axes[1, 1], example)
    return fig


def _plane(ax: Axes, title: str, limit: float) -> None:
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(title, fontsize="medium")


def _arrows(ax: Axes, origins: NDArray, vectors: NDArray, **style: Any) -> None:
    ax.quiver(*origins.T, *vectors.T, angles="xy", scale_units="xy", **style)


def _draw_scores(ax: Axes, example: PlaneExample) -> None:
    shown = slice(0, 110)
    ax.scatter(example.X[:, 0], example.X[:, 1], s=10, color=NULL, alpha=0.5, lw=0)
    _arrows(ax, example.X[shown], example.scores[shown], scale=5, color=SIGNAL, width=0.004)
    _plane(ax, "1. Score: where the density falls", 3.6)


def _draw_products(ax: Axes, example: PlaneExample) -> None:
    shown = slice(0, 110)
    products = example.scores * example.Y[:, [0]]
    x1, x2 = example.X.T
    ax.scatter(x1, x2, c=example.Y[:, 0], s=12, cmap="vlag", vmin=-1.5, vmax=1.5)
    _arrows(ax, example.X[shown], products[shown], scale=5, color="0.45", width=0.004)
    mean = example.moment[:, [0]].T
    _arrows(ax, np.zeros((1, 2)), mean, scale=0.3, color=_RESPONSE_COLORS[0], width=0.014)
    _plane(ax, "2. Times response 1 (red high, blue low)", 3.6)


def _draw_moment(ax: Axes, example: PlaneExample) -> None:
    reach = 1.4 * np.abs(example.moment).max()
    ends = np.outer([-2 * reach, 2 * reach], example.b)
    ax.plot(*ends.T, color=NULL, ls="--", label="true direction")
    lengths = np.linalg.norm(example.moment, axis=0)
    for j in np.argsort(-lengths):  # the longest first, so that none is hidden
        column, color = example.moment[:, [j]].T, _RESPONSE_COLORS[j]
        label = f"response {j + 1}"
        _arrows(ax, np.zeros((1, 2)), column, scale=1, color=color, width=0.012, label=label)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    _plane(ax, "3. Average: one arrow per response", reach)


def _draw_summary(ax: Axes, example: PlaneExample) -> None:
    z = example.X @ example.direction
    for j, color in enumerate(_RESPONSE_COLORS):
        label = f"response {j + 1}"
        ax.scatter(z, example.Y[:, j], s=9, color=color, alpha=0.6, lw=0, label=label)
    ax.legend(frameon=False, fontsize="small")
    ax.set(xlabel="predictors along the estimated direction", ylabel="responses")
    ax.set_title("4. Direction: one axis for all responses", fontsize="medium")
