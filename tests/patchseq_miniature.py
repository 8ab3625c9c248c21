"""A small made-up data set in the format of the three Patch-seq files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

FAMILIES = ("Pvalb", "Sst", "IT", "CT")
DRIVERS = 6  # the first genes; they alone decide the properties


def write_miniature(folder: Path, seed: int, *, n_cells: int = 80, n_genes: int = 40) -> Path:
    """Write the files into ``folder``: cells of four families, genes of which six matter."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    cells = [f"2018{1 + i // 28:02d}{1 + i % 28:02d}_sample_{1 + i % 5}" for i in range(n_cells)]
    short = [cell.replace("_", "") for cell in cells]
    family = rng.integers(len(FAMILIES), size=n_cells)

    level = rng.standard_normal((len(FAMILIES), n_genes))[family]
    level = level + 0.7 * rng.standard_normal((n_cells, n_genes))
    depth = rng.lognormal(5, 0.3, size=(n_cells, 1))
    counts = rng.poisson(depth * np.exp(level))
    genes = [f"Gene{j}" for j in range(n_genes)]
    pd.DataFrame(counts.T, index=pd.Index(genes, name="gene"), columns=short).to_csv(
        folder / "gene_counts.csv"
    )

    mixing = rng.standard_normal((DRIVERS, 16))
    ephys = np.tanh(level[:, :DRIVERS] @ mixing / 2) + 0.2 * rng.standard_normal((n_cells, 16))
    names = [f"property {k}" for k in range(16)]
    shuffled = rng.permutation(n_cells)  # the loader must put the cells in order
    frame = pd.DataFrame(5 + 3 * ephys, index=short, columns=names)
    frame.iloc[shuffled].to_csv(folder / "ephys_values.csv")

    kinds = [FAMILIES[k] for k in family]
    meta = pd.DataFrame(
        {
            "Number": range(n_cells),
            "Cell": cells,
            "Targeted layer": rng.integers(1, 7, n_cells).astype(str),
            "Cre": "PV-",
            "RNA family": kinds,
            "RNA type": [f"{kind}_{rng.integers(1, 3)}" for kind in kinds],
            "RNA type confidence": rng.uniform(0.5, 1, n_cells).round(2),
        }
    )
    extra = meta.iloc[:2].assign(Cell=["20170101_sample_1", "20170101_sample_2"])
    pd.concat([meta.iloc[rng.permutation(n_cells)], extra]).to_csv(
        folder / "mini-atlas-meta-data.csv", sep="\t", index=False
    )
    return folder
