"""What Section 4.2 of the paper says of its table of selected ranks, sentence by sentence.

As :mod:`steinsdr.paper.claims_distances`, for the errors of the selected dimension.
"""

from __future__ import annotations

import pandas as pd

from .sentences import BASELINES, CORE, HEAVY, LIGHT, NN, TRE, Claim, at, laws

__all__ = ["CLAIMS"]


UNLABELED = ["TRE-full", "TRE-split", "NN-full", "NN-split"]


def _degrades_at_five(means: pd.DataFrame) -> pd.Series:
    light = laws(means, LIGHT)[["csOPG", "KSIR"]].unstack("law")
    return light.loc[5] > light.loc[[1, 3]].max()


def _worse_under_heavy_tails(means: pd.DataFrame) -> pd.Series:
    sides = [
        laws(means, names)[["csOPG", "KSIR"]].groupby(level=1).mean().stack()
        for names in (HEAVY, LIGHT)
    ]
    return sides[0] > sides[1]


def _apart_from_heavy_three(true: pd.Series) -> pd.Series:
    names, ranks = (true.index.get_level_values(k) for k in range(2))
    return true[~(names.isin(HEAVY) & (ranks == 3))]


def _competitive(means: pd.DataFrame) -> pd.Series:
    light = at(laws(means, LIGHT), [1, 3])
    return light[["csOPG", "KSIR"]].le(light[TRE + NN].max(axis=1), axis=0).stack()


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "rank-framework-best",
        "table2",
        "The score-based methods outperform the baselines in most settings (read as: the median of "
        "the six is below every baseline).",
        False,
        lambda m: m[TRE + NN].median(axis=1) < m[BASELINES].min(axis=1),
    ),
    Claim(
        "rank-stable-light",
        "table2",
        "Under light tails the score-based methods remain stable across all ranks (read as: a mean "
        "error below one).",
        True,
        lambda m: (laws(m, LIGHT)[TRE + NN] < 1.0).stack(),
    ),
    Claim(
        "rank-mave-degrades",
        "table2",
        "Under light tails csOPG and KSIR degrade markedly at r = 5.",
        True,
        _degrades_at_five,
    ),
    Claim(
        "rank-sir-maximum",
        "table2",
        "Under heavy tails SIR always selects the largest candidate, 10.",
        True,
        lambda m: laws(m, HEAVY)["SIR"] == 10 - laws(m, HEAVY).index.get_level_values("r"),
    ),
    Claim(
        "rank-mlp-fails",
        "table2",
        "Under heavy tails the MLP nearly always fails (read as: its error is at least three "
        "quarters of the largest possible).",
        False,
        lambda m: laws(m, HEAVY)["MLP"] >= 0.75 * (10 - laws(m, HEAVY).index.get_level_values("r")),
    ),
    Claim(
        "rank-mave-heavy",
        "table2",
        "csOPG and KSIR do worse under heavy than under light tails.",
        True,
        _worse_under_heavy_tails,
    ),
    Claim(
        "rank-tre-beats-nn",
        "table2",
        "Except under heavy tails with r = 3, TRE generally outperforms NN (read as: on average "
        "over sup, split and full).",
        False,
        lambda m: _apart_from_heavy_three(m[TRE].mean(axis=1) <= m[NN].mean(axis=1)),
    ),
    Claim(
        "rank-nn-heavy-three",
        "table2",
        "Under heavy tails with r = 3 NN achieves lower errors than TRE.",
        True,
        lambda m: (
            at(laws(m, HEAVY), [3])[NN].mean(axis=1) < at(laws(m, HEAVY), [3])[TRE].mean(axis=1)
        ),
    ),
    Claim(
        "rank-tre-steadier",
        "table2",
        "Except under heavy tails with r = 3, TRE has smaller standard deviations than NN.",
        False,
        lambda m: _apart_from_heavy_three(m[TRE].mean(axis=1) <= m[NN].mean(axis=1)),
        "sd",
    ),
    Claim(
        "rank-unlabeled-lowest",
        "table2",
        "Split and full configurations achieve the lowest errors of the score-based methods.",
        True,
        lambda m: m[UNLABELED].min(axis=1) <= m[["TRE-sup", "NN-sup"]].min(axis=1),
    ),
    Claim(
        "rank-unlabeled-steadiest",
        "table2",
        "Split and full configurations have the smallest standard deviations among them.",
        True,
        lambda m: m[UNLABELED].min(axis=1) <= m[["TRE-sup", "NN-sup"]].min(axis=1),
        "sd",
    ),
    Claim(
        "abstract-rank",
        "table2",
        "Abstract: the proposed methods consistently outperform existing approaches (read as: "
        "TRE-sup, TRE-full and NN-split all beat every baseline).",
        True,
        lambda m: m[CORE].max(axis=1) < m[BASELINES].min(axis=1),
    ),
    Claim(
        "rank-mave-competitive",
        "table2",
        "Under light tails csOPG and KSIR are competitive at r = 1 and r = 3 (read as: no worse "
        "than the worst of the six score-based methods).",
        True,
        _competitive,
    ),
    Claim(
        "rank-heavy-robust",
        "table2",
        "Under heavy tails the proposed methods remain robust overall (read as: a mean error below "
        "one in most cells).",
        False,
        lambda m: (laws(m, HEAVY)[TRE + NN] < 1.0).stack(),
    ),
)
