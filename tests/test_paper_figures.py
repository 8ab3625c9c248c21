"""Figures of the simulation tables on planted cells, and the picture of the method."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROOT

from steinsdr.moments import cross_moment
from steinsdr.paper import figures_tables
from steinsdr.paper.figures_method import plane_example, plot_steps
from steinsdr.paper.ledger import Ledger
from steinsdr.plotting import METHOD_STYLES


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The paper's table with the paper's own means as ours."""
    frame = Ledger.build(tmp_path_factory.mktemp("empty"), ROOT / "book" / "paper").cells
    return frame.assign(
        mean=frame["paper_mean"], sd=frame["paper_sd"], reps=100, z=0.0, verdict="agrees"
    )


@pytest.mark.parametrize("table", ["table1", "table2"])
def test_figures_show_every_law_and_method(cells, table):
    fig = figures_tables.plot_table(cells, table)
    assert len(fig.axes) == 4
    assert all(len(ax.get_lines()) == 10 for ax in fig.axes)
    points = [c for c in fig.axes[0].collections if len(c.get_offsets()) > 1]
    for own, paper in zip(fig.axes[0].get_lines(), points, strict=True):
        np.testing.assert_allclose(own.get_ydata(), paper.get_offsets()[:, 1])
    styles = [(line.get_linestyle(), line.get_marker()) for line in fig.legends[0].get_lines()]
    assert len(set(styles)) == 10, "methods can be told apart without colour"
    assert styles == [METHOD_STYLES[t.get_text()] for t in fig.legends[0].get_texts()]
    some = figures_tables.plot_table(cells, table, ["SIR"])
    assert all(len(ax.get_lines()) == 1 for ax in some.axes)
    with pytest.raises(ValueError, match="methods has"):
        figures_tables.plot_table(cells, table, ["PCA"])
    plt.close("all")


def test_agreement_outlines_what_differs(cells):
    some = cells.copy()
    some.loc[some.index[0], "verdict"] = "differs"
    some.loc[some.index[1], "verdict"] = "missing"
    some.loc[some.index[2], "reps"] = 9
    ax = figures_tables.plot_agreement(some, "table1")
    boxes = [patch for patch in ax.patches if isinstance(patch, plt.Rectangle)]
    assert len(boxes) == 2
    assert [bool(box.get_hatch()) for box in boxes] == [False, True]
    assert [text.get_text() for text in ax.texts].count("(0.0)") == 1
    plt.close("all")


# The picture of the method.


@pytest.mark.parametrize("seed", range(5))
def test_picture_shows_what_the_method_finds(seed):
    example = plane_example(seed=seed)
    assert example.direction @ example.b > np.cos(np.radians(10))
    np.testing.assert_allclose(example.moment, cross_moment(example.scores, example.Y))
    # Every arrow of the third panel lies along the true direction, one of them backwards.
    cosines = example.b @ (example.moment / np.linalg.norm(example.moment, axis=0))
    assert (np.abs(cosines) > 0.9).all()
    assert np.sign(cosines).tolist() == [1, -1, 1]


def test_picture_has_four_steps():
    figure = plot_steps()
    titles = [ax.get_title() for ax in figure.axes]
    assert [title[:2] for title in titles] == ["1.", "2.", "3.", "4."]
    plt.close(figure)
