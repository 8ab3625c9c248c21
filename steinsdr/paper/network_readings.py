"""Three readings of the network's standardization, each against the paper's figures.

The appendix says that inputs are standardized and that noise of standard deviation 0.1 is added,
not in which order. Under laws with unit variance the order hardly matters. Under heavy tails, where
a column's standard deviation is large, a tenth of it is a lot of noise and a tenth of a unit of x
is little.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ..simulation import LAWS
from .ledger import Ledger

__all__ = ["READINGS", "plot_readings", "readings_table"]


READINGS: dict[str, str] = {
    "noise, then scaled": "",
    "scaled, then noise": "-std",
    "not scaled": "-raw",
}
"""Readings and the endings of their methods' names."""

_CONFIGS = ("NN-sup", "NN-split", "NN-full")
_STYLES = {"noise, then scaled": "-", "scaled, then noise": "--", "not scaled": ":"}


def readings_table(ledger: Ledger, table: str = "table1") -> pd.DataFrame:
    """Return every reading of every network method beside the paper, where it was computed.

    Parameters
    ----------
    ledger : Ledger
    table : {"table1", "table2"}

    Returns
    -------
    DataFrame
        With columns law, n or r, method, reading, mean, sd, reps, paper_mean, paper_sd, z, verdict.
    """
    columns = ["law", "n" if table == "table1" else "r", "method", "reading", "mean", "sd", "reps"]
    columns += ["paper_mean", "paper_sd", "z", "verdict"]
    parts = []
    for reading, ending in READINGS.items():
        printed = ledger.cells[ledger.cells["table"] == table]
        part = ledger.reading(table, ending) if ending else printed
        parts.append(part[part["method"].isin(_CONFIGS)].assign(reading=reading))
    found = pd.concat(parts, ignore_index=True)[columns]
    found = found.sort_values("method", key=lambda m: m.map(_CONFIGS.index), kind="stable")
    return found[found["verdict"] != "missing"].reset_index(drop=True)


def plot_readings(readings: pd.DataFrame, laws: Sequence[str]) -> Figure:
    """Draw distance against n: a row per law, a panel per method, a line per reading.

    Open circles are the paper's means.

    Parameters
    ----------
    readings : DataFrame
        Of :func:`readings_table` for Table 1.
    laws : sequence of str
        Laws to draw.
    """
    size = (9.5, 0.8 + 2.6 * len(laws))
    fig, axes = plt.subplots(len(laws), 3, figsize=size, sharex=True, sharey=True, squeeze=False)
    for row, law in zip(axes, laws, strict=True):
        for ax, method in zip(row, _CONFIGS, strict=True):
            part = readings[(readings["law"] == law) & (readings["method"] == method)]
            for k, reading in enumerate(READINGS):
                line = part[part["reading"] == reading].sort_values("n")
                style = {"marker": ".", "color": f"C{k}", "label": reading}  # a lone point shows
                ax.plot(line["n"], line["mean"], _STYLES[reading], **style)
            paper = part.drop_duplicates("n")
            ax.scatter(
                *(paper["n"], paper["paper_mean"]),
                s=36,
                facecolor="white",
                edgecolor="black",
                zorder=3,
                label="the paper",
            )
            ax.set(title=f"{method}, {LAWS[law].label}", xticks=sorted(set(readings["n"])))
        row[0].set(ylabel="Procrustes distance")
    for ax in axes[-1]:
        ax.set(xlabel="labeled observations")
    handles, names = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return fig
