"""The project, its lock, its conda environment and its README never drift apart."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import steinsdr

ROOT = Path(__file__).parent.parent

# The CUDA build of torch brings these; the lock fixes torch's version, not its build.
ACCELERATOR = re.compile(r"(nvidia|cuda|triton)\b")


def read_lock(text):
    """Versions by canonical name; ValueError on anything but plain `name==version` lines."""
    lock = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            pin = re.fullmatch(r"([\w.-]+)==([\w.]+)", line)
            if pin is None:
                raise ValueError(f"not a plain name==version pin: {line!r}")
            lock[canonicalize_name(pin[1])] = Version(pin[2])
    return lock


def project_requirements(pyproject):
    """Requirement strings of the project: build backend, run time and all extras."""
    project = pyproject["project"]
    extras = project["optional-dependencies"].values()
    lines = chain(pyproject["build-system"]["requires"], project["dependencies"], *extras)
    requirements = [Requirement(line) for line in lines]
    return [r for r in requirements if canonicalize_name(r.name) != project["name"]]


def bound_problems(requirements, lock):
    """Requirements that the lock lacks or violates."""
    for requirement in requirements:
        version = lock.get(canonicalize_name(requirement.name))
        if version is None:
            yield f"{requirement.name} is not locked"
        elif version not in requirement.specifier:
            yield f"the lock's {requirement.name}=={version} violates {requirement}"


def closure(requirements, requires):
    """Canonical names of all packages that the requirements need here.

    `requires(name)` gives a package's own requirement strings.
    """
    todo = [(canonicalize_name(r.name), extra) for r in requirements for extra in ("", *r.extras)]
    seen = set()
    while todo:
        node = todo.pop()
        if node in seen or ACCELERATOR.match(node[0]):
            continue
        seen.add(node)
        for requirement in map(Requirement, requires(node[0]) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": node[1]}):
                name = canonicalize_name(requirement.name)
                todo += [(name, extra) for extra in ("", *requirement.extras)]
    return {name for name, _ in seen}


def conda_problems(environment, pyproject):
    """Ways in which environment.yml departs from requires-python or from the lock."""
    conda = [d for d in environment["dependencies"] if isinstance(d, str)]
    pip = [d["pip"] for d in environment["dependencies"] if isinstance(d, dict)]
    python = [d.partition("=")[2] for d in conda if re.match(r"python\b", d)]
    bound = Requirement("python" + pyproject["project"]["requires-python"]).specifier
    if len(python) != 1 or python[0] not in bound:
        yield f"its python {python} is not one version within {bound}"
    if {re.split("[=<>]", d)[0] for d in conda} != {"python", "pip"}:
        yield "conda should give python and pip only"
    if pip != [["-c constraints.txt", "-e .[dev]"]]:
        yield f"its pip section {pip} is not the lock and the project"


def unknown_targets(readme, makefile):
    """Targets of `make` commands in the README that the Makefile lacks."""
    mentioned = set(re.findall(r"^make (\w+)|`make (\w+)", readme, flags=re.M))
    return {a or b for a, b in mentioned} - set(re.findall(r"^(\w+):", makefile, flags=re.M))


README = (ROOT / "README.md").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REQUIREMENTS = project_requirements(PYPROJECT)
LOCK = read_lock((ROOT / "constraints.txt").read_text())


def test_lock_satisfies_every_bound():
    assert list(bound_problems(REQUIREMENTS, LOCK)) == []


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11),
    reason="other systems need a few other packages; the lock was made on Linux with Python 3.11",
)
def test_lock_holds_what_is_needed_and_nothing_else():
    needed = closure(REQUIREMENTS, metadata.requires)
    assert sorted(needed - LOCK.keys()) == [], "needed, not locked"
    assert sorted(LOCK.keys() - needed) == [], "locked, not needed"


def test_installed_versions_are_the_locked_ones():
    installed = {name: Version(metadata.version(name)).public for name in LOCK}
    assert installed == {name: str(version) for name, version in LOCK.items()}


def test_conda_environment_takes_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert list(conda_problems(environment, PYPROJECT)) == []


def test_jupyterlab_takes_the_extension_for_myst():
    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120).stderr
    (line,) = (line for line in said.splitlines() if "jupyterlab-myst" in line)
    assert "enabled" in line
    assert "OK" in line


def test_readme_commands_exist():
    assert unknown_targets(README, (ROOT / "Makefile").read_text()) == set()


def test_readme_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_there_is_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = PYPROJECT["project"]["version"]
    assert project == citation["version"] == metadata.version("steinsdr") == steinsdr.__version__


# Planted drifts: each check above can fail.


@pytest.mark.parametrize("line", ["torch==2.13.0+cpu", "numpy>=2.0", "-e .", "numpy"])
def test_lock_takes_plain_pins_only(line):
    with pytest.raises(ValueError, match="not a plain"):
        read_lock(f"# comment\nscipy==1.17.1\n{line}\n")


def test_planted_bounds_are_found():
    requirements = [Requirement("numpy>=2.0"), Requirement("Sphinx_Proof>=0.4")]
    assert list(bound_problems(requirements, read_lock("numpy==2.4.6\nsphinx-proof==0.4.0"))) == []
    assert list(bound_problems(requirements, read_lock("numpy==1.26.4"))) == [
        "the lock's numpy==1.26.4 violates numpy>=2.0",
        "Sphinx_Proof is not locked",
    ]


def test_closure_follows_extras_and_markers():
    packages = {
        "a": ["b[fast]>=1", "w; sys_platform == 'no-such'", "nvidia-cublas"],
        "b": ["c; extra == 'fast'", "d; extra == 'slow'", "a"],
        "c": None,
        "e": ["f"],
    }
    assert closure([Requirement("A>=1")], packages.__getitem__) == {"a", "b", "c"}


@pytest.mark.parametrize(
    "dependencies",
    [
        ["python=3.10", "pip", {"pip": ["-c constraints.txt", "-e .[dev]"]}],
        ["python=3.11", "pip", "numpy", {"pip": ["-c constraints.txt", "-e .[dev]"]}],
        ["python=3.11", "pip", {"pip": ["-e .[dev]"]}],
        ["python=3.11", "pip"],
        ["pip", {"pip": ["-c constraints.txt", "-e .[dev]"]}],
    ],
)
def test_planted_conda_drifts_are_found(dependencies):
    assert list(conda_problems({"dependencies": dependencies}, PYPROJECT)) != []


def test_planted_unknown_target_is_found():
    readme = "```console\nmake book  # ...\nmake coffee\n```\nor `make tea` to make a cup"
    assert unknown_targets(readme, "book: install\n") == {"coffee", "tea"}
