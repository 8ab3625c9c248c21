"""Every statement of the paper with four answers, their basis and the evidence.

``claims.toml`` has the labeled statements. Answers by proof or counterexample stand there, with
links; :mod:`steinsdr.paper.judges` measures the others and checks these. ``sentences.toml`` has
what Sections 4 and 5 say of their tables. A count over the cells of the table judges such a
sentence, once in the paper's printed means and once in ours: the first count shows whether it
describes even its own table.
"""

from __future__ import annotations

import ast
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


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, with the fields that the two TOML files explain.

    The fields from ``table`` on belong to sentences about a table; ``count`` is empty for others.
    """

    label: str
    name: str
    kind: str
    place: str
    where: str
    statement: str
    about: str = ""
    statement_true: str = "not applicable"
    proof_valid: str = "not applicable"
    designs_meet: str = "not applicable"
    calibrated: str = "not applicable"
    measured: str = ""
    basis: tuple[str, ...] = ("measured",)
    evidence: str = ""
    survives: str = ""
    book: str = ""
    table: str = ""
    count: str = ""
    every: bool = True
    each: tuple[str, ...] = ("",)
    value: str = "mean"

    def judge(self, stored: StoredRows) -> list[str]:
        """Return the four answers, their basis, the evidence and what survives.

        ValueError if the numbers speak against an answer that rests on a proof or a counterexample.
        """
        answers = {question: getattr(self, question) for question in QUESTIONS}
        evidence = self.evidence
        if self.count:
            answer, ours = judge_sentence(self, stored.ledger.cells, "mean")
            by_paper, own = judge_sentence(self, stored.ledger.cells, "paper_mean")
            if answer != "missing":
                answers["statement_true"] = answer
            evidence = (
                f"It is true in {ours} comparisons of our numbers "
                f"({stored.ledger.repetitions(self.table)}). In the paper's own numbers it is true "
                f"in {own}. The answer for these is: {by_paper}."
            )
        elif judge := JUDGES.get(self.label):
            facts = judge.measure(stored)
            found = judge.rule(facts)
            if self.measured:
                told = "yes" if found else "no"
                answers[self.measured] = found if isinstance(found, str) else told
            elif not found:
                raise ValueError(
                    f"the numbers do not bear out the verdict on {self.label}: {facts}."
                )
            evidence = evidence.format(**facts)
        return [*answers.values(), "; ".join(self.basis), evidence, self.survives]


@cache
def load_claims() -> tuple[Claim, ...]:
    """Return all statements, the sentences about the tables last."""
    labeled, tables = (
        tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
        for name in ("claims", "sentences")
    )
    found = [Claim(**one) for one in labeled["claims"]]
    for table, common in tables.items():
        section, sentences = common.pop("section"), common.pop("sentences")
        for one in sentences:
            label, statement = f"{section}/{one.pop('label')}", one.pop("words")
            if reading := one.pop("reading", ""):
                statement += f" (Read as: {reading}.)"
            about = {"label": label, "kind": "sentence", "table": table, "statement": statement}
            found.append(Claim(**(about | common | one)))
    return tuple(found)


def claims_table(results: str | os.PathLike[str], paper: str | os.PathLike[str]) -> pd.DataFrame:
    """Judge all claims by the folders of rows and of the paper's figures, in about a minute."""
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

    Columns label, statement, paper and paper_count (answer and count in its means), ours and
    our_count.
    """
    records = []
    for one in (claim for claim in load_claims() if claim.table == table):
        own, ours = (judge_sentence(one, cells, column) for column in ("paper_mean", "mean"))
        records.append((one.label.partition("/")[2], one.statement, *own, *ours))
    columns = ["label", "statement", "paper", "paper_count", "ours", "our_count"]
    return pd.DataFrame(records, columns=columns)


def judge_sentence(claim: Claim, cells: pd.DataFrame, column: str) -> tuple[str, str]:
    """Return answer and evidence of a sentence from ``Ledger.cells``.

    The column is "mean" or "paper_mean". A sentence about standard deviations takes those beside
    it, and of ours none that rest on fewer than ten repetitions. The answer is "missing" where a
    cell of the table has not been computed. A sentence that speaks of several methods together has
    the count of each.
    """
    part = cells[cells["table"] == claim.table]
    if claim.value == "sd":
        part = part.assign(sd=part["sd"].where(part["reps"] >= SCANT))
    means = part.pivot(
        index=[*LAYOUTS[claim.table].keys, "measure"],
        columns="method",
        values=column.replace("mean", claim.value),
    )
    incomplete = means.isna().any(axis=1)
    if incomplete.any():
        return "missing", f"{incomplete.sum()} of {len(means)} cells incomplete"
    true = {method: _evaluate(claim.count, means, method) for method in claim.each}
    answer, told = answer_by_count(np.hstack(list(true.values())), claim.every)
    if len(true) > 1:
        each = (f"{name} {answer_by_count(one, True)[1]}" for name, one in true.items())
        told = f"{told} ({', '.join(each)})"
    return answer, told


_VOCABULARY = (ast.Expression, ast.Compare, ast.BinOp, ast.Call, ast.keyword, ast.List, ast.Name)
_VOCABULARY += (ast.Constant, ast.Load, ast.operator, ast.cmpop)
"""What a comparison may consist of: no attributes, subscripts, lambdas or comprehensions."""


def _evaluate(count: str, means: pd.DataFrame, each: str) -> np.ndarray:
    """Return the truth of a comparison of ``sentences.toml`` by cell, and by method if of several.

    ``means`` has cells as rows and methods as columns, of which EACH is ``each``. ``at`` with one
    value of a key drops the key, so that two such parts are compared cell by cell.
    """

    def at(inner: Any, **keys: Any) -> Any:
        for key, wanted in keys.items():
            if isinstance(wanted, list):
                inner = inner[inner.index.isin(wanted, level=key)]
            else:
                inner = inner.xs(wanted, level=key)
        return inner

    def over_methods(name: str) -> Any:
        return lambda *parts: getattr(pd.concat(parts, axis=1), name)(axis=1)

    names: dict[str, Any] = {name: over_methods(name) for name in ("min", "max", "mean")}
    names |= {"at": at, "outside": lambda inner, **keys: inner.drop(at(inner, **keys).index)}
    names |= {"abs": abs, "LIGHT": LIGHT, "HEAVY": HEAVY, "EACH": means.get(each)}
    names |= {str(value): value for cell in means.index for value in cell}
    names |= means.index.to_frame().to_dict("series")
    names |= {method.replace("-", "_"): means[method] for method in means}
    names |= {name: means[group] for name, group in _METHODS.items()}
    tree = ast.parse(count.strip(), mode="eval")
    try:
        if odd := [node for node in ast.walk(tree) if not isinstance(node, _VOCABULARY)]:
            raise NameError(ast.unparse(odd[0]))
        return eval(compile(tree, "sentences.toml", "eval"), {"__builtins__": {}}, names).to_numpy()
    except (NameError, KeyError) as error:
        raise ValueError(
            f"count has {count!r}, of which the table knows nothing: {error}."
        ) from None
