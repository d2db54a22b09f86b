# Two commands: `make book` builds the site, `make test` runs every test. Both install what they
# need into .venv from pyproject.toml and requirements.lock; only Python 3.11+ and make are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
SITE   := book/_build/html

# One thread a process: results are then the same from run to run, and workers don't compete.
export OMP_NUM_THREADS ?= 1
# A kernel of the same name in the user's home must not win over ours.
export JUPYTER_PREFER_ENV_PATH = 1

.PHONY: help book test lint serve notebooks release-check lock clean

help:
	@echo "make book           build and execute the book into $(SITE)"
	@echo "make test           run all tests (BROWSER=no leaves out those that need Chromium)"
	@echo "make serve          build, then serve the site on http://127.0.0.1:8000"
	@echo "make notebooks      write every chapter as .ipynb into notebooks/"
	@echo "make lint           ruff and mypy"
	@echo "make release-check  the long checks, before a release"

book: $(STAMP)
	@$(BIN)/jupyter-book build . --path-output book -W --keep-going \
	  || { rm -rf book/_build/.doctrees; \
	       echo "make book: failed; each WARNING or ERROR above names its page and cell" >&2; exit 1; }
	@echo "The book is built. Open file://$(CURDIR)/$(SITE)/index.html"

# `book` first: a page that is missing or stale is built before it is looked at.
test: book
	@$(BIN)/python tests/book/chromium.py --browser "$(BROWSER)"
	@$(BIN)/python -m pytest $(if $(filter no,$(BROWSER)),-m "not browser")

lint: $(STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

serve: book
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) 8000

notebooks: $(STAMP)
	@$(BIN)/python book/_ext/plain_notebook.py chapters notebooks

release-check: $(STAMP)
	@$(BIN)/python -m pytest -v tests/release_check.py

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "make: Python 3.11 or newer is needed, found $$($(PYTHON) --version 2>&1); try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null \
	  || { echo "make: $(PYTHON) cannot create a virtual environment (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo "Installing into $(VENV) (some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --constraint requirements.lock --editable ".[book,test,dev]" \
	  || { echo "make: installation failed; if a package above has no wheel for this Python, use Python 3.11, 3.12 or 3.13 (make PYTHON=…)" >&2; exit 1; }
	@touch $@

# Rewrites the lock from what pyproject.toml allows today.
lock:
	@rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --editable ".[book,test,dev]"
	@$(VENV)/lock/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > requirements.lock
	@rm -rf $(VENV)/lock

clean:
	rm -rf book/_build notebooks
