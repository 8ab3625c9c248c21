# steinsdr: `make help` lists what can be made. Everything runs inside .venv.

PYTHON      ?= python3
JOBS        ?= 2
PYTEST_ARGS ?=
BROWSER_ARGS ?=
VENV        := .venv
BIN         := $(VENV)/bin
STAMP       := $(VENV)/.installed

# One thread per process: the same numbers everywhere, and no fight between workers.
test book notebooks results lab bench: export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install test book notebooks results lab smoke paper bench lint format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## Create .venv with the locked versions (again when the lock changes)
	@:

# The build backend comes from the lock too, hence two steps and no build isolation. An empty LOCK
# takes the newest versions instead.
LOCK        ?= constraints.txt
PIP_INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check $(LOCK:%=-c %)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing $(if $(LOCK),the locked,the newest) versions into $(VENV): a few minutes, once."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) setuptools wheel
	@$(PIP_INSTALL) --no-build-isolation -e '.[dev]'
	@touch $@

test: install  ## Run the tests, the doctests and the notebooks
	$(BIN)/python -m pytest -n $(JOBS) --dist loadscope $(PYTEST_ARGS)

# Executed notebooks are cached, but the cache does not see a change of package, results or lock:
# drop it then. Old pages are removed each time, or stale numbers and warnings would survive.
CACHE_KEY = $(shell find steinsdr book/results book/paper constraints.txt $(STEINSDR_DATA) -type f \
	-not -name '*.pyc' 2>/dev/null | LC_ALL=C sort | xargs cksum | cksum | tr ' ' -)

book: install  ## Execute the notebooks, build the book in _build/html and check its pages
	@mkdir -p _build
	@test "$$(cat _build/.cache-key 2>/dev/null)" = "$(CACHE_KEY)" || rm -rf _build/.jupyter_cache
	@echo "$(CACHE_KEY)" > _build/.cache-key
	@rm -rf _build/html _build/.doctrees _build/jupyter_execute _build/screenshots
	$(BIN)/jupyter-book build . -W -n --keep-going
	$(BIN)/python tests/check_html.py _build/html
	$(BIN)/python tests/check_browser.py _build/html --screenshots _build/screenshots $(BROWSER_ARGS)

notebooks: install  ## Execute all notebooks in place, after results or code changed
	$(BIN)/steinsdr notebooks

results: install  ## Bring ledger, claims and notebooks up to date, after new rows
	$(BIN)/steinsdr ledger
	$(BIN)/steinsdr claims
	$(BIN)/steinsdr notebooks

lab: install  ## Open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks/01_quickstart.ipynb

smoke: install  ## Execute all notebooks in small, copies in _build/batch/smoke
	$(BIN)/steinsdr notebooks --profile smoke --jobs $(JOBS)

paper: install  ## Execute all notebooks at full size, copies in _build/batch/paper (go on after a stop)
	$(BIN)/steinsdr notebooks --profile paper --jobs $(JOBS) --resume

bench: install  ## Measure speed and memory against bare matrix products and other methods
	$(BIN)/python tests/bench/run.py

lint: install  ## Check style, docstrings, types and which module imports which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the book and all caches, but not .venv
	rm -rf _build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
