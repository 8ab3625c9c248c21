"""Every statement of the paper with four answers, their basis and the evidence.

Is what is printed true? Is its proof valid? Do the paper's designs meet its assumptions? Is the
procedure calibrated? ``claims.toml`` has the labeled statements. Answers by proof or counterexample
stand there, with links; :mod:`steinsdr.paper.judges` measures the others and checks these.

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

from .judges import JUDGES, StoredRows, answer_by_count
from .ledger import LAYOUTS, SCANT, Ledger
from .rates import load_studies
from .store import atomic_write

__all__ = [
    "ANSWERS",
    "BASELINES",
    "CLAIM_COLUMNS",
    "CORE",
    "HEAVY",
    "LIGHT",
    "NN",
    "QUESTIONS",
    "TRE",
    "Claim",
    "Sentence",
    "claims_table",
    "judge_sentence",
    "judge_sentences",
    "load_claims",
    "load_sentences",
    "write_claims",
]

QUESTIONS = ("statement_true", "proof_valid", "designs_meet", "calibrated")
ANSWERS = ("yes", "in part", "no", "not applicable")
CLAIM_COLUMNS = ["label", "kind", "place", "statement", "where", *QUESTIONS]
CLAIM_COLUMNS += ["basis", "evidence", "survives"]

BASELINES = ["SIR", "csOPG", "KSIR", "MLP"]
TRE = ["TRE-sup", "TRE-full", "TRE-split"]
NN = ["NN-sup", "NN-full", "NN-split"]
CORE = ["TRE-sup", "TRE-full", "NN-split"]
"""The methods that the paper calls core configurations."""

LIGHT, HEAVY = ["isotropic", "ar1"], ["lognormal", "exp_ar1"]
"""Laws of the simulations, by their tails."""

_METHODS = {"BASELINES": BASELINES, "TRE": TRE, "NN": NN, "ALL": [*TRE, *NN, *BASELINES]}
_LAWS = {"LIGHT": LIGHT, "HEAVY": HEAVY}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper about a table, with the fields that ``sentences.toml`` explains."""

    label: str
    table: str
    words: str
    every: bool
    count: str
    reading: str = ""
    each: tuple[str, ...] = ("",)
    value: str = "mean"
    place: str = ""

    @property
    def statement(self) -> str:
        """The paper's words, and how they are read."""
        return f"{self.words} (Read as: {self.reading}.)" if self.reading else self.words


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the fields that ``claims.toml`` explains.

    A sentence about a table is one too, and carries its comparison.
    """

    label: str
    name: str
    kind: str
    place: str
    where: str
    statement: str
    statement_true: str = "not applicable"
    proof_valid: str = "not applicable"
    designs_meet: str = "not applicable"
    calibrated: str = "not applicable"
    measured: str = ""
    basis: tuple[str, ...] = ("measured",)
    evidence: str = ""
    survives: str = ""
    book: str = ""
    sentence: Sentence | None = None

    def judge(self, stored: StoredRows) -> list[str]:
        """Return the four answers, their basis, the evidence and what survives.

        Raises
        ------
        ValueError
            If the numbers speak against an answer that rests on a proof or a counterexample.
        """
        answers = {question: getattr(self, question) for question in QUESTIONS}
        evidence = self.evidence
        if self.sentence:
            answers["statement_true"], evidence = _judge_by_our_means(self.sentence, stored.ledger)
        elif judge := JUDGES.get(self.label):
            facts = judge.measure(stored)
            found = judge.rule(facts)
            if self.measured:
                answers[self.measured] = (
                    found if isinstance(found, str) else "yes" if found else "no"
                )
            elif not found:
                raise ValueError(
                    f"the numbers do not bear out the verdict on {self.label}: {facts}."
                )
            evidence = evidence.format(**facts)
        return [*answers.values(), "; ".join(self.basis), evidence, self.survives]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


@cache
def load_sentences() -> tuple[Sentence, ...]:
    """Return what the paper says of its tables."""
    tables = _read("sentences.toml").items()
    parts = (({"table": t, "place": part["place"]}, part["sentences"]) for t, part in tables)
    return tuple(Sentence(**(common | one)) for common, part in parts for one in part)


@cache
def load_claims() -> tuple[Claim, ...]:
    """Return all statements, the sentences about the tables last.

    Examples
    --------
    >>> labels = [claim.label for claim in load_claims()]
    >>> len(set(labels)) == len(labels)
    True
    """
    labeled = (Claim(**one) for one in _read("claims.toml")["claims"])
    tables = _read("sentences.toml")
    spoken = []
    for one in load_sentences():
        section, name, where = (tables[one.table][key] for key in ("section", "name", "where"))
        label = f"{section}/{one.label}"
        spoken.append(Claim(label, name, "sentence", one.place, where, one.statement, sentence=one))
    return (*labeled, *spoken)


def claims_table(results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> pd.DataFrame:
    """Judge all claims, which takes about a minute.

    Parameters
    ----------
    results, paper : path
        Folders of the stored rows and of the paper's figures.

    Returns
    -------
    DataFrame with columns ``CLAIM_COLUMNS``
    """
    stored = StoredRows(Ledger.build(results, paper), load_studies(results))
    records = [
        (one.label, one.kind, one.place, one.statement, one.where, *one.judge(stored))
        for one in load_claims()
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
    """Judge what the paper says of a table in ``Ledger.cells``, by its own means and by ours.

    Returns
    -------
    DataFrame with columns label, statement, paper, paper_count, ours, our_count
        Answer and count in the paper's means, answer and count in ours.
    """
    records = []
    for one in (one for one in load_sentences() if one.table == table):
        own, ours = (judge_sentence(one, cells, column) for column in ("paper_mean", "mean"))
        records.append((one.label, one.statement, *own, *ours))
    columns = ["label", "statement", "paper", "paper_count", "ours", "our_count"]
    return pd.DataFrame(records, columns=columns)


def judge_sentence(sentence: Sentence, cells: pd.DataFrame, column: str) -> tuple[str, str]:
    """Return answer and evidence of a sentence from the means in ``column``.

    Parameters
    ----------
    cells : DataFrame
        ``Ledger.cells``.
    column : {"mean", "paper_mean"}
        Ours or the paper's. A sentence about standard deviations takes those beside it, and of ours
        none that rest on fewer than ten repetitions.

    Returns
    -------
    answer, evidence : str
        The answer is "missing" where a cell of the table has not been computed. A sentence that
        speaks of several methods together has the count of each.
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
    true = {}
    for method in sentence.each:
        count = sentence.count.replace("EACH", method.replace("-", "_"))
        true[method] = _evaluate(ast.parse(count, mode="eval").body, means)
    answer, told = answer_by_count(np.hstack(list(true.values())), sentence.every)
    if len(true) > 1:
        each = (f"{name} {answer_by_count(one, True)[1]}" for name, one in true.items())
        told = f"{told} ({', '.join(each)})"
    return answer, told


def _judge_by_our_means(sentence: Sentence, ledger: Ledger) -> tuple[str, str]:
    """Judge a sentence by our means; the paper's own count stands beside it."""
    answer, ours = judge_sentence(sentence, ledger.cells, "mean")
    by_paper, own = judge_sentence(sentence, ledger.cells, "paper_mean")
    behind = ledger.repetitions(sentence.table)
    told = (
        f"true in {ours} comparisons on {behind}; in the paper's own numbers in {own}: {by_paper}"
    )
    return "not applicable" if answer == "missing" else answer, told


_OPERATORS: dict[type, Any] = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_OPERATORS |= {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt}
_OPERATORS |= {ast.GtE: operator.ge, ast.Eq: operator.eq}
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
                chosen &= means.index.get_level_values(key.arg).isin(_key_values(key.value))
            if chosen.any():
                return _evaluate(inner, means[chosen if name == "at" else ~chosen])
    raise ValueError(
        f"count has {ast.unparse(node)!r}, which is outside the vocabulary of sentences.toml or "
        f"selects no cell of the table."
    )


def _key_values(node: ast.expr) -> list[Any]:
    """Return the values of a key: a number, a list of numbers, a name or a group of laws."""
    if isinstance(node, ast.Name):
        return _LAWS.get(node.id, [node.id])
    values = ast.literal_eval(node)
    return values if isinstance(values, list) else [values]
