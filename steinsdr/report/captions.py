"""What the figures of a report show, in words; also what they leave out for want of room."""

from __future__ import annotations

from .analysis import Analysis

__all__ = ["CAPTIONS", "GIVEN_BASIS", "MOST_DIRECTIONS", "MOST_NAMES", "MOST_RESPONSES", "caption"]

MOST_NAMES = 30  # names that fit beside a figure
MOST_RESPONSES, MOST_DIRECTIONS = 4, 3  # panels that fit into one
CAPTIONS = {
    "predictors": "Correlations of the predictors, and the share of each one's variance that is "
    "linear in the others. Red diamonds are almost determined by the others.",
    "score": "Left: held-out objective of each λ, above its best; small is good. Right: the matrix "
    "E[s x'] in the coordinates of the fit; with the true score it is the identity.",
    "spectrum": "Singular values of the cross-moment (points) and what permuted responses give "
    "(band: middle 90 percent, line: 95 percent quantile). Filled points are kept.",
    "loadings": "Weight of each standardized predictor in each direction, with intervals from "
    "resampled rows. Filled points: the interval does not hold zero.",
    "summaries": "Responses against directions, with running means. A trend says that the "
    "direction matters for this response; its shape is the link.",
    "comparison": "Variance explained on held-out rows, after reduction to the same number of "
    "directions by each method, and by ridge regression on all predictors.",
}
GIVEN_BASIS = (
    "They are given the basis: directions may also turn among themselves, which the intervals "
    "leave out."
)
NO_INTERVALS = (
    "Weight of each standardized predictor in each direction. Rows were not resampled: nothing "
    "here says which weights are clear of zero."
)


def caption(name: str, analysis: Analysis) -> str:
    """Return the caption of the figure ``name``, a key of ``CAPTIONS``, for an analysis."""
    text = CAPTIONS[name]
    if name == "loadings" and analysis.bootstrap is None:
        text = NO_INTERVALS
    elif name == "loadings" and analysis.n_components > 1:
        text = f"{text} {GIVEN_BASIS}"
    p, q, r = analysis.table.X.shape[1], analysis.table.Y.shape[1], analysis.n_components
    directions = _cut("first", MOST_DIRECTIONS, r, "directions")
    omitted = {
        "loadings": [_cut("largest", MOST_NAMES, p, "predictors"), directions],
        "summaries": [_cut("best predicted", MOST_RESPONSES, q, "responses"), directions],
        "comparison": [_cut("best predicted", MOST_NAMES, q, "responses")],
    }.get(name, [])
    shown = ", ".join(part for part in omitted if part)
    if not shown:
        return text
    rest = "" if name == "summaries" else "; all are in the table"  # which has none below it
    return f"{text} Shown: {shown}{rest}."


def _cut(which: str, most: int, number: int, things: str) -> str:
    """Return what of a number of things is shown, or nothing if all are.

    Examples
    --------
    >>> _cut("first", 3, 5, "directions"), _cut("first", 3, 2, "directions")
    ('the first 3 of 5 directions', '')
    """
    return f"the {which} {most} of {number} {things}" if number > most else ""
