"""Every statement of the paper with a verdict from computed evidence.

``claims.toml`` has the labeled statements, which functions of :mod:`steinsdr.paper.judges` judge.
``sentences.toml`` has what Sections 4 and 5 say of their tables. Such a sentence compares methods.
A count over the cells of the table judges it, once in the paper's printed means and once in ours:
the first count shows whether the sentence describes even its own table.
"""

from __future__ import annotations

import ast
import operator
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .judges import JUDGES, StoredRows, verdict_by_count
from .ledger import LAYOUTS, SCANT, Ledger
from .rates import load_studies
from .store import atomic_write

__all__ = [
    "BASELINES",
    "CLAIM_COLUMNS",
    "CORE",
    "HEAVY",
    "LIGHT",
    "NN",
    "TRE",
    "VERDICTS",
    "Claim",
    "Sentence",
    "claims_table",
    "judge_sentence",
    "judge_sentences",
    "load_claims",
    "load_sentences",
    "write_claims",
]

VERDICTS = ("holds", "holds in part", "does not hold", "not testable")
CLAIM_COLUMNS = ["label", "kind", "statement", "where", "verdict", "evidence"]

BASELINES = ["SIR", "csOPG", "KSIR", "MLP"]
TRE = ["TRE-sup", "TRE-full", "TRE-split"]
NN = ["NN-sup", "NN-full", "NN-split"]
CORE = ["TRE-sup", "TRE-full", "NN-split"]
"""The methods that the paper calls core configurations."""

LIGHT, HEAVY = ["isotropic", "ar1"], ["lognormal", "exp_ar1"]
"""Laws of the simulations, by their tails."""

_METHODS = {"BASELINES": BASELINES, "MAVE": ["csOPG", "KSIR"], "TRE": TRE, "NN": NN, "CORE": CORE}
_METHODS["ALL"] = [*TRE, *NN, *BASELINES]
_LAWS = {"LIGHT": LIGHT, "HEAVY": HEAVY}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper about a table, with the fields that ``sentences.toml`` explains."""

    label: str
    table: str
    statement: str
    every: bool
    count: str
    value: str = "mean"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the fields that ``claims.toml`` explains.

    A sentence about a table is one too, and carries its comparison.
    """

    label: str
    name: str
    kind: str
    where: str
    statement: str
    evidence: str = ""
    otherwise: str = "does not hold"
    sentence: Sentence | None = None

    def judge(self, stored: StoredRows) -> tuple[str, str]:
        """Return verdict and evidence."""
        if self.sentence:
            return _judge_by_our_means(self.sentence, stored.ledger)
        verdict, facts = JUDGES[self.label](stored)
        if not isinstance(verdict, str):
            verdict = "holds" if verdict else self.otherwise
        return verdict, self.evidence.format(**facts)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


@cache
def load_sentences() -> tuple[Sentence, ...]:
    """Return what the paper says of its tables."""
    tables = _read("sentences.toml").items()
    return tuple(Sentence(table=name, **one) for name, part in tables for one in part["sentences"])


@cache
def load_claims() -> tuple[Claim, ...]:
    """Return all statements, the sentences about the tables last.

    Examples
    --------
    >>> labels = [claim.label for claim in load_claims()]
    >>> len(set(labels)) == len(labels)
    True
    """
    tables = _read("sentences.toml")
    spoken = []
    for one in load_sentences():
        part = tables[one.table]
        label = f"{part['section']}/{one.label}"
        spoken.append(
            Claim(label, part["name"], "sentence", part["where"], one.statement, sentence=one)
        )
    return (*(Claim(**one) for one in _read("claims.toml")["claims"]), *spoken)


def claims_table(results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> pd.DataFrame:
    """Judge all claims, which takes about a minute.

    Parameters
    ----------
    results, paper : path
        Folders of the stored rows and of the paper's figures.

    Returns
    -------
    DataFrame with columns label, kind, statement, where, verdict, evidence
    """
    stored = StoredRows(Ledger.build(results, paper), load_studies(results))
    records = [
        (one.label, one.kind, one.statement, one.where, *one.judge(stored)) for one in load_claims()
    ]
    return pd.DataFrame(records, columns=CLAIM_COLUMNS)


def write_claims(results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> pd.DataFrame:
    """Judge all claims, write them to ``claims.csv`` among the results, and return them."""
    table = claims_table(results, paper)
    text = table.to_csv(index=False, lineterminator="\n")
    atomic_write(Path(results) / "claims.csv", text.encode())
    return table


# Sentences about the tables.


def judge_sentences(cells: pd.DataFrame, table: str) -> pd.DataFrame:
    """Judge what the paper says of a table, by its own means and by ours.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    table : {"table1", "table2", "table3"}

    Returns
    -------
    DataFrame with columns label, statement, paper, paper_count, ours, our_count
        Verdict and count in the paper's means, verdict and count in ours.
    """
    records = [
        (
            *(one.label, one.statement),
            *judge_sentence(one, cells, "paper_mean"),
            *judge_sentence(one, cells, "mean"),
        )
        for one in load_sentences()
        if one.table == table
    ]
    columns = ["label", "statement", "paper", "paper_count", "ours", "our_count"]
    return pd.DataFrame(records, columns=columns)


def judge_sentence(sentence: Sentence, cells: pd.DataFrame, column: str) -> tuple[str, str]:
    """Return verdict and evidence of a sentence from the means in ``column``.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    column : {"mean", "paper_mean"}
        Ours or the paper's. A sentence about standard deviations takes those beside it, and of ours
        none that rest on fewer than ten repetitions.

    Returns
    -------
    verdict, evidence : str
        The verdict is "missing" where a cell of the table has not been computed.
    """
    part = cells[cells["table"] == sentence.table]
    if sentence.value == "sd":
        part = part.assign(sd=part["sd"].where(part["reps"] >= SCANT))
    means = part.pivot(
        index=[*LAYOUTS[sentence.table].keys, "measure"],
        columns="method",
        values=column.replace("mean", sentence.value),
    )
    incomplete = means.isna().any(axis=1)
    if incomplete.any():
        return "missing", f"{incomplete.sum()} of {len(means)} cells incomplete"
    comparison = ast.parse(sentence.count, mode="eval").body
    return verdict_by_count(_evaluate(comparison, means), sentence.every)


def _judge_by_our_means(sentence: Sentence, ledger: Ledger) -> tuple[str, str]:
    """Judge a sentence by our means; the paper's own count stands beside it."""
    _, own = judge_sentence(sentence, ledger.cells, "paper_mean")
    verdict, ours = judge_sentence(sentence, ledger.cells, "mean")
    if verdict == "missing":
        return "not testable", f"{ours}; {own} in the paper's own numbers"
    behind = ledger.repetitions(sentence.table)
    return verdict, f"{ours} comparisons on {behind}; {own} in the paper's own numbers"


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_OVER_METHODS: dict[str, Any] = {"min": np.min, "max": np.max, "mean": np.mean, "median": np.median}


def _evaluate(node: ast.expr, means: pd.DataFrame) -> np.ndarray:
    """Evaluate a comparison of ``sentences.toml`` over means, rows of cells by methods.

    The result has a row per cell, and a column per method or one.
    """
    match node:
        case ast.Constant(value=int() | float() as number):
            return np.array([[number]])
        case ast.Name(id=name) if name in means.index.names:
            return means.index.get_level_values(name).to_numpy()[:, None]
        case ast.Name(id=name) if name in _METHODS or name.replace("_", "-") in means.columns:
            return means[_METHODS.get(name, [name.replace("_", "-")])].to_numpy()
        case ast.List(elts=parts):
            return np.hstack([_evaluate(part, means) for part in parts])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, means), _evaluate(right, means))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_evaluate(side, means) for side in (left, *others)]
            pairs = zip(ops, sides, sides[1:], strict=False)
            return np.logical_and.reduce([_OPERATORS[type(op)](a, b) for op, a, b in pairs])
        case ast.Call(func=ast.Name(id="abs"), args=[inner]):
            return np.abs(_evaluate(inner, means))
        case ast.Call(func=ast.Name(id=name), args=parts) if name in _OVER_METHODS:
            joined = np.hstack([_evaluate(part, means) for part in parts])
            return _OVER_METHODS[name](joined, axis=1, keepdims=True)
        case ast.Call(func=ast.Name(id="at" | "outside" as name), args=[inner], keywords=keys):
            chosen = np.ones(len(means), dtype=bool)
            for key in keys:
                chosen &= means.index.get_level_values(key.arg).isin(_listed(key.value))
            if chosen.any():
                return _evaluate(inner, means[chosen if name == "at" else ~chosen])
    raise ValueError(
        f"count has {ast.unparse(node)!r}, which is outside the vocabulary of sentences.toml or "
        f"selects no cell of the table."
    )


def _listed(node: ast.expr) -> list[Any]:
    """Return the values of a key: a number, a list of numbers, a name or a group of laws."""
    if isinstance(node, ast.Name):
        return _LAWS.get(node.id, [node.id])
    values = ast.literal_eval(node)
    return values if isinstance(values, list) else [values]
