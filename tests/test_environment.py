"""The project, its lock, its extras, its conda environment and its address never drift apart."""

import re
import subprocess
import sys
import zipfile
from importlib import metadata
from itertools import chain
from textwrap import dedent

import pytest
import yaml
from conftest import PROJECT, PYPROJECT, ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import steinsdr

# The CUDA build of torch brings these; the lock fixes torch's version, not its build.
ACCELERATOR = re.compile(r"(nvidia|cuda|triton)\b")


def project_requirements():
    """Requirements of the project: build backend, run time and all extras."""
    extras = PROJECT["optional-dependencies"].values()
    lines = chain(PYPROJECT["build-system"]["requires"], PROJECT["dependencies"], *extras)
    return [r for r in map(Requirement, lines) if r.name != PROJECT["name"]]


def closure(requirements):
    """Canonical names of all packages that the requirements need here."""
    todo = [(canonicalize_name(r.name), extra) for r in requirements for extra in ("", *r.extras)]
    seen = set()
    while todo:
        node = todo.pop()
        if node in seen or ACCELERATOR.match(node[0]):
            continue
        seen.add(node)
        for requirement in map(Requirement, metadata.requires(node[0]) or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": node[1]}):
                name = canonicalize_name(requirement.name)
                todo += [(name, extra) for extra in ("", *requirement.extras)]
    return {name for name, _ in seen}


LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = [line.split("==") for line in LINES if line and not line.startswith("#")]
LOCK = {canonicalize_name(name): Version(version) for name, version in PINS}


@pytest.mark.parametrize("requirement", project_requirements(), ids=str)
def test_lock_satisfies_every_bound(requirement):
    assert LOCK[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11),
    reason="other systems need a few other packages; the lock was made on Linux with Python 3.11",
)
def test_lock_holds_what_is_needed_and_nothing_else():
    needed = closure(project_requirements())
    assert sorted(needed - LOCK.keys()) == [], "needed, not locked"
    assert sorted(LOCK.keys() - needed) == [], "locked, not needed"


def test_installed_versions_are_the_locked_ones():
    installed = {name: Version(metadata.version(name)).public for name in LOCK}
    assert installed == {name: str(version) for name, version in LOCK.items()}


def test_conda_and_binder_take_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, *rest = environment["dependencies"]
    assert rest == ["pip", {"pip": ["-c constraints.txt", "-e .[dev]"]}]
    assert python.removeprefix("python=") in Requirement(f"x{PROJECT['requires-python']}").specifier
    # repo2docker ignores a root environment.yml beside any of these.
    assert not [name for name in ("binder", ".binder", "Dockerfile") if (ROOT / name).exists()]


def test_workflows_and_hooks_call_what_exists():
    targets = set(re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(), flags=re.M))
    for path in sorted(ROOT.glob(".github/workflows/*.yml")):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            named = job.get("strategy", {}).get("matrix", {}).get("target", [])
            for step in job["steps"]:
                called = re.findall(r"^make (\w+)", step.get("run", ""), flags=re.M)
                assert set(called + named) <= targets, path.name
                assert ("run" in step) != ("uses" in step), path.name
                # GitHub refuses a list in the place of a text.
                assert all(isinstance(value, str) for value in step.get("with", {}).values())
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    scripts = {script.name for script in metadata.entry_points(group="console_scripts")}
    for hook in repository["hooks"]:
        command = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert command in scripts | {"ruff"}, hook["id"]  # ruff is no Python
        assert command in re.findall(r"\$\(BIN\)/([\w-]+)", (ROOT / "Makefile").read_text())


def test_there_is_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## (\S+)", (ROOT / "book" / "changelog.md").read_text(), flags=re.M)
    assert PROJECT["version"] == citation["version"] == steinsdr.__version__ == newest[1]


def test_there_is_one_address():
    address = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    patterns = ("*.*", ".github/**/*.yml", "book/*.md", "notebooks/*.ipynb", "steinsdr/**/*.py")
    paths = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    found = {a for p in paths for a in re.findall(r"https?://[\w./-]*steinsdr", p.read_text())}
    assert found <= {address}, "no other address, and none if the setting is empty"


# The light install: NumPy, SciPy and scikit-learn alone.


LIGHT = """
import sys

class Refuse:  # what Python says where these are not installed
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {target!r})
import steinsdr
assert steinsdr.__file__.startswith({target!r}), steinsdr.__file__
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, as ``pip`` builds it from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = ["git", "ls-files", "-co", "--exclude-standard", "steinsdr", "pyproject.toml"]
    files = subprocess.run([*listed, "README.md", "LICENSE"], cwd=ROOT, capture_output=True)
    for name in files.stdout.decode().split():
        if (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder)]
    subprocess.run([*pip, *build, str(folder / "source")], check=True, timeout=120)
    (built,) = folder.glob("*.whl")
    install = ["install", "--no-deps", "--no-index", "--target", str(folder / "target")]
    subprocess.run([*pip, *install, str(built)], check=True, timeout=120)
    return built, folder / "target"


def python(wheel, code, tmp_path, *, refused=()):
    """Run code with the installed wheel, outside of the repository."""
    light = LIGHT.format(refused=set(refused), target=str(wheel[1]))
    program = [sys.executable, "-I", "-c", light + dedent(code)]
    return subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, timeout=300)


# Top-level modules that no required package brings.
OPTIONAL = {
    *("torch", "pandas", "matplotlib", "seaborn", "jinja2", "tqdm", "pooch", "papermill"),
    *("nbclient", "nbformat", "yaml", "IPython", "myst_nb", "dask", "distributed", "pyarrow"),
}


def test_wheel_holds_the_data_files(wheel):
    names = set(zipfile.ZipFile(wheel[0]).namelist())
    data = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("steinsdr/**/*")
        if path.suffix in (".toml", ".csv", ".j2", ".typed")
    }
    assert data
    assert data <= names


def test_readme_example_runs_on_a_light_install(wheel, tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    done = python(wheel, example + "\nprint(Z.shape)", tmp_path, refused=OPTIONAL)
    assert done.returncode == 0, done.stderr
    *_, distance, shape = done.stdout.splitlines()
    assert shape == "(300, 3)"
    assert float(distance) < 1.5  # chance is above 2


def test_help_works_on_a_light_install_and_the_rest_says_what_it_needs(wheel, tmp_path):
    code = """
    from steinsdr.__main__ import main
    for arguments in (["--help"], ["fit", "--help"], ["run", "--help"]):
        try:
            main(arguments)
        except SystemExit as stop:
            assert stop.code == 0
    print(main(["run", "table1", "--results", "here"]))
    print(main(["fit", "my.csv", "--response", "y"]))
    """
    (tmp_path / "book" / "results").mkdir(parents=True)  # where the commands of the paper work
    done = python(wheel, code, tmp_path, refused=OPTIONAL)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line == "2"] == ["2", "2"]
    run, fit = done.stderr.splitlines()
    assert re.fullmatch(r"steinsdr: this command needs \w+; .* pip install '\.\[paper\]'", run)
    assert re.fullmatch(r"steinsdr: this command needs \w+; .* pip install '\.\[report\]'", fit)
    assert {path.name for path in tmp_path.rglob("*")} == {"book", "results"}


def test_fit_runs_from_the_wheel(wheel, tmp_path):
    code = """
    import numpy as np
    from steinsdr.__main__ import main
    from steinsdr.simulation import simulate
    data = simulate("isotropic", n=60, p=4)
    table = np.column_stack([data.X, data.Y[:, 0]])
    np.savetxt("my.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    code = main(["fit", "my.csv", "--response", "y", "--bootstrap", "10", "--quiet"])
    assert "steinsdr.report" in sys.modules
    assert "steinsdr.paper" not in sys.modules
    sys.exit(code)
    """
    paper = OPTIONAL - {"pandas", "matplotlib", "seaborn", "jinja2", "tqdm"}
    done = python(wheel, code, tmp_path, refused=paper - {"pyarrow"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report").is_dir()
    assert "written to report" in done.stdout
