r"""One cell of the paper's Table 3: split the Patch-seq data, reduce the genes, predict, compare.

The predictors are 100 of the 1000 genes, :math:`\log_2` counts per million, the responses 16
electrophysiological properties, all standardized. A method estimates :math:`\hat B` on
:math:`\mathcal T_\ell` (and :math:`\mathcal T_u`), a small network predicts the responses from
:math:`\hat B^\top x`, and its error on :math:`\mathcal V` is what the table shows.

The paper's Section 5 trains that network on :math:`\mathcal T_f`, its appendix on "the projected
training set"; the table's numbers are those of the appendix (:func:`evaluate_methods` has both).
"""

from ._evaluate import (
    LINKS,
    MAX_RANK,
    REFERENCE_RANK,
    Reduction,
    evaluate_methods,
    fit_reduction,
)
from ._references import linear_errors, linear_reductions
from ._split import N_GENES, Split, select_genes, table3_split

__all__ = [
    "LINKS",
    "MAX_RANK",
    "N_GENES",
    "REFERENCE_RANK",
    "Reduction",
    "Split",
    "evaluate_methods",
    "fit_reduction",
    "linear_errors",
    "linear_reductions",
    "select_genes",
    "table3_split",
]
