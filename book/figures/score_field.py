"""Compute the score explorer and draw it at rest: ``python book/figures/score_field.py``.

Four distributions in the plane with a known score, 200 observations of each, and the kernel
estimate of the score for several penalties and kernel widths.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from steinsdr.plotting import NULL, SIGNAL, use_style
from steinsdr.scores import (
    GaussianMixtureScore,
    GaussianScore,
    LogNormalScore,
    StudentScore,
    TikhonovScore,
)
from steinsdr.simulation import stream

DATA = Path(__file__).parents[1] / "_static" / "play" / "score_field.data.js"
COV = np.array([[1.0, 0.6], [0.6, 1.0]])
MEANS = np.array([[-1.3, -0.6], [1.3, 0.6]])
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # in median distances
N, N_NEW, GRID = 200, 2000, 13


@dataclass(frozen=True)
class Plane:
    """A distribution in the plane, its true score, and the box that the picture shows."""

    label: str
    score: Any
    box: tuple[float, float]

    def draw(self, n: int, purpose: str) -> NDArray:
        """Draw n points from the stream of a purpose."""
        rng = stream(42, "score field", self.label, purpose)
        z = rng.standard_normal((n, 2)) @ np.linalg.cholesky(COV).T
        match self.score:
            case GaussianMixtureScore():
                return MEANS[rng.integers(2, size=n)] + 0.7 * rng.standard_normal((n, 2))
            case StudentScore(df=df):
                return z / np.sqrt(rng.chisquare(df, size=(n, 1)) / df)
            case LogNormalScore():
                return np.exp(0.5 * z)
        return z

    def field(self, penalty: float, width: float) -> tuple[NDArray, float]:
        """Return the estimated score on the grid, and its relative error at new points.

        The error is the mean of |estimate - score|^2 over the mean of |score|^2.
        """
        X, new = self.draw(N, "sample"), self.draw(N_NEW, "new")
        median = TikhonovScore().fit(X).width_
        fitted = TikhonovScore(lam=penalty, width=width * median).fit(X)
        true = self.score.fit(new).evaluate(new)
        error = ((fitted.evaluate(new) - true) ** 2).sum() / (true**2).sum()
        return fitted.evaluate(self.grid()), float(error)

    def grid(self) -> NDArray:
        """Return the points of the arrows, (GRID^2, 2)."""
        line = np.linspace(*self.box, GRID)
        return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)


PLANES = {
    "normal": Plane("Normal, correlated", GaussianScore(np.zeros(2), COV), (-2.7, 2.7)),
    "mixture": Plane(
        "Two clusters",
        GaussianMixtureScore([0.5, 0.5], MEANS, [0.49 * np.eye(2)] * 2),
        (-3.2, 3.2),
    ),
    "student": Plane("Student, 3 degrees of freedom", StudentScore(3.0, np.zeros(2), COV), (-4, 4)),
    "lognormal": Plane("Log-normal", LogNormalScore(np.zeros(2), 0.25 * COV), (0.3, 3.3)),
}


def hundredths(values: NDArray) -> list[int]:
    """Return the values, row by row, as whole hundredths."""
    return [int(v) for v in np.rint(100 * np.ravel(values))]


def entry(plane: Plane, penalty: float, width: float) -> dict[str, Any]:
    """Return the arrows (hundredths) and the relative error of one estimate."""
    arrows, error = plane.field(penalty, width)
    return {"arrows": hundredths(arrows), "error": float(f"{error:.3g}")}


def compute() -> dict[str, Any]:
    """Return everything that the explorer shows; it takes seconds."""
    planes = {
        name: {
            "label": plane.label,
            "box": plane.box,
            "points": hundredths(plane.draw(N, "sample")),
            "truth": hundredths(plane.score.fit(plane.grid()).evaluate(plane.grid())),
            "fields": [[entry(plane, lam, width) for width in WIDTHS] for lam in PENALTIES],
        }
        for name, plane in PLANES.items()
    }
    return {"penalties": PENALTIES, "widths": WIDTHS, "grid": GRID, "planes": planes}


def load() -> dict[str, Any]:
    """Return what was computed."""
    content: dict[str, Any] = json.loads(DATA.read_text().partition("=")[2].strip("; \n"))
    return content


def draw() -> Figure:
    """Draw the two clusters: too small, suitable and too large a penalty."""
    use_style()
    content = load()
    plane = content["planes"]["mixture"]
    grid = PLANES["mixture"].grid()
    points, truth = (np.reshape(plane[key], (-1, 2)) / 100 for key in ("points", "truth"))
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 3.2), sharex=True, sharey=True)
    for ax, lam in zip(axes, (1e-4, 1e-2, 1.0), strict=True):
        found = plane["fields"][PENALTIES.index(lam)][WIDTHS.index(1.0)]
        ax.scatter(*points.T, s=5, color=NULL, alpha=0.5, lw=0)
        style: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 10}
        ax.quiver(*grid.T, *truth.T, color="0.6", **style)
        ax.quiver(*grid.T, *(np.reshape(found["arrows"], (-1, 2)) / 100).T, color=SIGNAL, **style)
        ax.set(xlim=plane["box"], ylim=plane["box"], aspect="equal", xlabel="$x_1$")
        ax.set_title(f"$\\lambda$ = {lam:g}: error {found['error']:.2f}", fontsize="medium")
    axes[0].set(ylabel="$x_2$")
    return fig


if __name__ == "__main__":
    DATA.write_text(f"play.scoreField = {json.dumps(compute(), separators=(',', ':'))};\n")
    draw().savefig(Path(__file__).with_suffix(".png"), dpi=120)
