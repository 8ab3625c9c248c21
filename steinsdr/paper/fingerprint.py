"""Fingerprints of the code that decides a method's numbers.

A fingerprint is a hash of definitions (functions, classes, constants), not of files: those that can
be reached by name from the functions that compute a row. Left out is what decides no number:
layout, docstrings, comments, annotations, texts of errors, checks of arguments (functions
``check_*``), and what writes files and fingerprints. The code is that of the moment when this
module was imported, so that work on the files during a run changes nothing.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]

# Read now, when the modules are being loaded too. Hidden files are those of editors.
_FILES = [path for path in PACKAGE.rglob("*.py") if not path.name.startswith(".")]
_NAMES = (".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in _FILES)
_TEXTS = {
    name.removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for name, path in zip(_NAMES, _FILES, strict=True)
}


def code_hash(roots: Iterable[str], stop: Iterable[str] = ()) -> str:
    """Return a hash of the definitions that roots, given as "module:name", can reach.

    Names in ``stop`` are not followed.
    """
    return _code_hash(tuple(roots), frozenset(stop))


@cache
def _code_hash(roots: tuple[str, ...], stop: frozenset[str]) -> str:
    texts = sorted(set(reachable(roots, stop).values()))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def reachable(roots: Iterable[str], stop: Iterable[str] = ()) -> dict[str, str]:
    """Return the definitions that roots can reach by name, as syntax trees in text.

    A name is followed inside its module, through imports (those inside functions too) and as an
    attribute of an imported module. What is called as a method is found with its class.
    """
    skip = frozenset(stop)
    found: dict[str, str] = {}
    waiting = list(roots)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key], named = _definition(*key.split(":"))
            waiting += [f"{module}:{name}" for module, name in named if name not in skip]
    return found


@cache
def _definition(module: str, name: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a definition, and the definitions that it names and that may count."""
    node = _definitions(module)[name]
    text = ast.dump(_Unqualified(module).visit(copy.deepcopy(node)))
    named = dict.fromkeys(_references(module, node))
    return text, [(m, n) for m, n in named if not _without_numbers(m, n)]


def _without_numbers(module: str, name: str) -> bool:
    is_check = module == "steinsdr._base" and name.startswith("check_")
    return is_check or name in ("atomic_write", "code_hash")


@cache
def _definitions(module: str) -> dict[str, ast.stmt]:
    """Return a module's functions, classes and constants by name."""
    found: dict[str, ast.stmt] = {}
    for node in _Essence().visit(ast.parse(_TEXTS[module])).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                # A constant that is extended later consists of all its statements.
                before = found.get(name)
                found[name] = node if before is None else ast.Module([before, node], [])  # type: ignore[assignment]
    found.pop("__all__", None)
    return found


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Return the package's names that a module imports anywhere: (module, name or "")."""
    is_package = any(other.startswith(f"{module}.") for other in _TEXTS)
    package = module if is_package else module.rpartition(".")[0]
    found = {}
    for node in ast.walk(ast.parse(_TEXTS[module])):
        if not isinstance(node, ast.ImportFrom):
            continue
        source = resolve_name("." * node.level + (node.module or ""), package)
        for alias in node.names:
            whole = f"{source}.{alias.name}"
            target = (whole, "") if whole in _TEXTS else (source, alias.name)
            if target[0] in _TEXTS:
                found[alias.asname or alias.name] = target
    return found


def _references(module: str, node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the definitions of the package that a definition names."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and (target := _resolve(module, part.id)):
            yield target
        if (
            isinstance(part, ast.Attribute)
            and (inside := _module_of(module, part.value))
            and (target := _resolve(inside, part.attr))
        ):
            yield target


def _resolve(module: str, name: str) -> tuple[str, str] | None:
    """Return where a name that a module uses is defined; None if outside the package."""
    while name not in _definitions(module):
        module, name = _imports(module).get(name, ("", ""))
        if not name:
            return None
    return module, name


def _module_of(module: str, node: ast.AST) -> str:
    """Return the module that a name such as ``theorem1`` stands for; else ""."""
    target, name = _imports(module).get(getattr(node, "id", ""), ("", ""))
    return "" if name else target


class _Essence(ast.NodeTransformer):
    """Removes what decides no number: docstrings, annotations, imports, the texts of errors."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body: Any = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _decides_nothing(part)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        for annotation in ("annotation", "returns"):
            if hasattr(node, annotation):
                setattr(node, annotation, None)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(kind, None)


class _Unqualified(ast.NodeTransformer):
    """Writes ``module.name`` as ``name``, because modules are layout."""

    def __init__(self, module: str) -> None:
        self.module = module

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if (inside := _module_of(self.module, node.value)) and _resolve(inside, node.attr):
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


def _decides_nothing(node: ast.AST) -> bool:
    """Return whether a statement is a text, or a check of arguments whose result is not used."""
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id.startswith("check_")
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
