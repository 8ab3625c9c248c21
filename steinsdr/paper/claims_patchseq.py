"""The paper's verbal claims of Section 5, each counted over its own columns and over ours.

They are judged as those of Section 4, by :func:`steinsdr.paper.sentences.judge_all`. Where the
paper says "close", "minor" or "small", a limit is needed and stated: five percent of the error.
"""

from __future__ import annotations

import pandas as pd

from .sentences import BASELINES, CLOSE, CORE, NN, TRE, Claim

__all__ = ["CLAIMS"]


def _between(ranks: pd.DataFrame, low: float, high: float) -> pd.Series:
    return ((ranks >= low) & (ranks <= high)).stack()


def _close(one: pd.Series | pd.DataFrame, two: pd.Series | pd.DataFrame) -> pd.Series:
    near = (one - two).abs() <= CLOSE * two
    return near.stack() if isinstance(near, pd.DataFrame) else near


def _small_gain_of_more_cells(m: pd.DataFrame) -> pd.Series:
    errors = m["mse_rhat"]
    return _close(errors.loc[0.8], errors.loc[0.6])


def _gain_of_more_labels(m: pd.DataFrame) -> pd.Series:
    errors = m["mse_rhat"]
    few, many = (errors.xs(gamma, level="gamma") for gamma in (0.1, 0.5))
    return (many < (1.0 - CLOSE) * few).stack()


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "sir-mlp-large-ranks",
        "table3",
        "SIR and MLP select ranks above the reference of 10, often 11 or 12.",
        True,
        lambda m: (m["rank"][["SIR", "MLP"]] > 10).stack(),
    ),
    Claim(
        "mave-small-ranks",
        "table3",
        "csOPG and KSIR select ranks far below 10 (read as: below 7).",
        True,
        lambda m: (m["rank"][["csOPG", "KSIR"]] < 7).stack(),
    ),
    Claim(
        "mave-loses-by-rank",
        "table3",
        "The errors of csOPG and KSIR at the selected rank are higher than at rank 10.",
        True,
        lambda m: (m["mse_rhat"][["csOPG", "KSIR"]] > m["mse_r10"][["csOPG", "KSIR"]]).stack(),
    ),
    Claim(
        "tre-ranks",
        "table3",
        "The TRE methods select ranks around 8 to 9 (read as: 7.5 to 9.5).",
        True,
        lambda m: _between(m["rank"][TRE], 7.5, 9.5),
    ),
    Claim(
        "tre-rank-suffices",
        "table3",
        "Their errors at the selected rank are close to those at rank 10.",
        True,
        lambda m: _close(m["mse_rhat"][TRE], m["mse_r10"][TRE]),
    ),
    Claim(
        "nn-full-rank",
        "table3",
        "NN-full selects ranks around 9 (read as: 8.5 to 9.5).",
        True,
        lambda m: _between(m["rank"][["NN-full"]], 8.5, 9.5),
    ),
    Claim(
        "nn-sup-small-rank",
        "table3",
        "NN-sup selects only 3 to 7 directions.",
        True,
        lambda m: _between(m["rank"][["NN-sup"]], 2.5, 7.5),
    ),
    Claim(
        "nn-sup-loses-by-rank",
        "table3",
        "The error of NN-sup at the selected rank is markedly higher than at rank 10 (read as: by "
        "more than 5%).",
        True,
        lambda m: m["mse_rhat"]["NN-sup"] > (1.0 + CLOSE) * m["mse_r10"]["NN-sup"],
    ),
    Claim(
        "nn-split-beats-sup",
        "table3",
        "NN-split has a lower error than NN-sup.",
        True,
        lambda m: m["mse_rhat"]["NN-split"] < m["mse_rhat"]["NN-sup"],
    ),
    Claim(
        "nn-split-as-full",
        "table3",
        "NN-split performs similarly to NN-full.",
        True,
        lambda m: _close(m["mse_rhat"]["NN-split"], m["mse_rhat"]["NN-full"]),
    ),
    Claim(
        "tre-lowest-error",
        "table3",
        "A TRE method achieves the lowest error among all methods.",
        True,
        lambda m: m["mse_rhat"].idxmin(axis=1).isin(TRE),
    ),
    Claim(
        "sup-best-tre",
        "table3",
        "Among the TRE methods TRE-sup achieves the lowest error.",
        True,
        lambda m: m["mse_rhat"][TRE].idxmin(axis=1) == "TRE-sup",
    ),
    Claim(
        "tre-alike",
        "table3",
        "The differences among the TRE methods are minor.",
        True,
        lambda m: _close(m["mse_rhat"][TRE].max(axis=1), m["mse_rhat"][TRE].min(axis=1)),
    ),
    Claim(
        "unlabeled-no-help",
        "table3",
        "Unlabeled cells bring TRE no advantage here: TRE-full is not better than TRE-sup.",
        True,
        lambda m: m["mse_rhat"]["TRE-full"] >= m["mse_rhat"]["TRE-sup"],
    ),
    Claim(
        "nn-behind-tre",
        "table3",
        "The network scores generally underperform TRE.",
        False,
        lambda m: m["mse_rhat"][NN].min(axis=1) > m["mse_rhat"][TRE].max(axis=1),
    ),
    Claim(
        "train-ratio-minor",
        "table3",
        "Between the training proportions 0.6 and 0.8 errors differ little, for all methods.",
        True,
        _small_gain_of_more_cells,
    ),
    Claim(
        "labels-help",
        "table3",
        "Raising the labeled share from 0.1 to 0.5 brings gains for most methods (read as: more "
        "than 5%).",
        False,
        _gain_of_more_labels,
    ),
    Claim(
        "abstract-prediction",
        "table3",
        "Abstract: the proposed methods consistently outperform existing approaches (read as: "
        "TRE-sup, TRE-full and NN-split all have a lower error than every baseline).",
        True,
        lambda m: m["mse_rhat"][CORE].max(axis=1) < m["mse_rhat"][BASELINES].min(axis=1),
    ),
)
