"""Parameters of a batch: one YAML file for each profile, checked before anything runs."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

__all__ = ["check_only", "find_notebooks", "fits", "notebook_parameters", "read_profile"]

_SIMPLE = {"bool": bool, "dict": dict, "list": list, "str": str}


def find_notebooks(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the notebooks of a folder by stem, in order of their names.

    Raises
    ------
    ValueError
        If there are none.
    """
    found = {path.stem: path for path in sorted(Path(folder).glob("*.ipynb"))}
    if not found:
        raise ValueError(f"notebooks must be a folder with notebooks; found none in {folder}.")
    return found


def notebook_parameters(path: str | os.PathLike[str]) -> dict[str, ast.expr]:
    """Return the annotation of each name that a notebook's ``parameters`` cell assigns.

    papermill's own inspection goes line by line and misses types such as ``str | None``.
    """
    import nbformat

    cells = nbformat.read(path, as_version=4).cells
    sources = [c.source for c in cells if "parameters" in c.metadata.get("tags", [])]
    statements = ast.parse("\n".join(sources)).body
    return {
        statement.target.id: statement.annotation
        for statement in statements
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


def fits(value: Any, annotation: ast.expr | str) -> bool:
    """Return whether a value from YAML has the annotated type.

    An integer passes for a float, a boolean never for a number. Unknown annotations are a
    ``ValueError``: what cannot be checked is not waved through.

    Examples
    --------
    >>> fits([100, 200], "list[int]"), fits([100, 0.5], "list[int]")
    (True, False)
    >>> fits(1, "float"), fits(True, "int"), fits(None, "str | None")
    (True, False, True)
    """
    if isinstance(annotation, str):
        annotation = ast.parse(annotation, mode="eval").body
    match annotation:
        case ast.Constant(value=None):
            return value is None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return fits(value, left) or fits(value, right)
        case ast.Name(id="int"):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.Name(id="float"):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.Name(id=name) if name in _SIMPLE:
            return isinstance(value, _SIMPLE[name])
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return isinstance(value, list) and all(fits(element, item) for element in value)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, item])):
            return isinstance(value, dict) and all(
                fits(name, key) and fits(element, item) for name, element in value.items()
            )
    raise ValueError(f"the type of a parameter cannot be checked: {ast.unparse(annotation)}.")


def read_profile(folder: str | os.PathLike[str], profile: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of every notebook in a profile; those left out have an empty mapping.

    Parameters
    ----------
    folder : path
        Holds the notebooks, and ``parameters/<profile>.yml`` for each profile.
    profile : str
        Name of such a file.

    Raises
    ------
    ValueError
        If there is no such profile, or the file names a notebook or parameter that does not
        exist, or a value has the wrong type. All problems are named at once.
    """
    import yaml

    notebooks = find_notebooks(folder)
    files = {path.stem: path for path in sorted(Path(folder, "parameters").glob("*.yml"))}
    if profile not in files:
        raise ValueError(f"profile must be {_listed(profile, files)}.")
    given = yaml.safe_load(files[profile].read_text(encoding="utf-8")) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{files[profile]} must map notebooks to parameters; got {given!r}.")
    if problems := list(_problems(given, notebooks)):
        raise ValueError("\n".join(f"{files[profile].name}: {line}" for line in problems))
    return {stem: given.get(stem) or {} for stem in notebooks}


def check_only(only: Collection[str], notebooks: Collection[str]) -> None:
    """Raise a ValueError if a name in ``only`` is not a notebook."""
    for stem in only:
        if stem not in notebooks:
            raise ValueError(f"only must be {_listed(stem, notebooks)}.")


def _problems(given: Mapping[str, Any], notebooks: Mapping[str, Path]) -> Iterator[str]:
    for stem, parameters in given.items():
        if stem not in notebooks:
            yield f"a notebook must be {_listed(stem, notebooks)}."
            continue
        known = notebook_parameters(notebooks[stem])
        if not isinstance(parameters or {}, dict):
            yield f"{stem} must map parameters to values; got {parameters!r}."
            continue
        for name, value in (parameters or {}).items():
            if name not in known:
                yield f"a parameter of {stem} must be {_listed(name, known)}."
            elif not fits(value, known[name]):
                yield f"{stem}: {name} must be {ast.unparse(known[name])}; got {value!r}."


def _listed(name: Any, known: Collection[str]) -> str:
    """Say what a name could have been, the likeliest first.

    Examples
    --------
    >>> _listed("n_rep", ["p", "n_reps"])
    "one of p, n_reps; got 'n_rep' (did you mean n_reps?)"
    """
    close = get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"one of {', '.join(known) or 'none'}; got {name!r}{hint}"
