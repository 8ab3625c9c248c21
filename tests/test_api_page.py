"""The API page names every public module, and every module keeps its promises."""

from __future__ import annotations

import importlib
import pkgutil
from types import FunctionType

import pytest
from conftest import ROOT

import steinsdr

# Modules that the reader meets elsewhere: the command line, and the experiments' own page.
ELSEWHERE = ("steinsdr.__main__", "steinsdr.paper")


def public_modules():
    found = pkgutil.walk_packages(steinsdr.__path__, "steinsdr.")
    names = [module.name for module in found]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def test_page_covers_every_public_module():
    page = (ROOT / "book" / "api.md").read_text()
    shown = [
        line.split()[-1]
        for line in page.splitlines()
        if line.startswith((".. automodule", ".. autoclass"))
    ]
    missing = [
        name
        for name in public_modules()
        if not name.startswith(ELSEWHERE)
        and not any(name == s or name.startswith(s + ".") for s in shown if s != "steinsdr")
        and name not in ("steinsdr.estimator", "steinsdr.estimator")  # by class
    ]
    assert not missing
    assert {"steinsdr.SteinSDR", "steinsdr.LabeledOnly"} <= set(shown)


@pytest.mark.parametrize("name", public_modules())
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    here = [
        found
        for found, value in vars(module).items()
        if getattr(value, "__module__", None) == name and not found.startswith("_")
        if isinstance(value, type | FunctionType)
    ]
    listed = getattr(module, "__all__", [])
    assert set(here) <= set(listed), f"{name}.__all__ lacks some of its functions or classes"
    for public in listed:
        value = getattr(module, public)
        if callable(value):
            assert value.__doc__, f"{name}.{public} has no docstring"
