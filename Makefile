# The project's tasks. `make` lists them; each one first makes what it needs.

PYTHON ?= python3
PORT ?= 8000
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
BIN := .venv/bin
PAGES := $(patsubst book/%.md,_build/html/%.html,$(shell find book -name '*.md' ! -path '*/[_.]*'))

ifneq ($(words $(CURDIR)),1)
$(error make cannot work in a folder whose path contains a space: $(CURDIR))
endif

.PHONY: help book book-next lab serve dist check test nightly lint bench peers gpu records exercises clean chromium FORCE
.DELETE_ON_ERROR:

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

book: _build/html/.built ## run the chapters and build the book's pages
	@echo "The book: file://$(CURDIR)/_build/html/index.html (or run: make serve)"

lab: book .venv/lab.stamp ## open the chapters as notebooks, in JupyterLab
	cd _build/html && $(CURDIR)/$(BIN)/jupyter lab ch01_one_round.ipynb

.venv/lab.stamp: .venv/dev.stamp
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[lab]'
	@touch $@

serve: book ## show the book in a browser
	@echo "The book: http://127.0.0.1:$(PORT)/ (Ctrl-C stops it; another port: make serve PORT=8001)"
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
	  (sleep 1; $(BIN)/python -m webbrowser http://127.0.0.1:$(PORT)/) >/dev/null 2>&1 & \
	fi; exec $(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

# A file of tests stays with one process, which makes what its tests share once. Where tests wait
# for other processes, there is one more than cores.
PYTEST = $(BIN)/pytest --dist loadfile --no-loadscope-reorder -n

check: .venv/dev.stamp ## run the quick tests: those of the algorithms
	$(PYTEST) $(JOBS) -m "not (long or processes or nightly or book or grader)"

test: .venv/dev.stamp chromium ## run all tests, those of the built pages in a browser too
	@$(MAKE) --no-print-directory book
	$(PYTEST) $$(($(JOBS) + 1)) --durations=20

nightly: .venv/dev.stamp chromium ## run all tests, the longest simulations too
	@$(MAKE) --no-print-directory book
	FUZZ_EXAMPLES=10000 $(PYTEST) $$(($(JOBS) + 1)) --durations=20 -m ""

lint: .venv/dev.stamp ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/dev.stamp ## measure speed
	$(BIN)/python -m benchmarks

peers: .venv-peers/.stamp ## measure a round beside other packages
	.venv-peers/bin/python -m benchmarks.peers

# Other packages want other versions than the project's, hence an environment and constraints of their own.
.venv-peers/.stamp: pyproject.toml benchmarks/peers/constraints.txt | $(BIN)/python
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet -c benchmarks/peers/constraints.txt -e '.[peers]'
	@touch $@

# A rehearsal for the day when Jupyter Book 1 runs no more; its cache is of its own.
book-next: .venv-next/.stamp node_modules/.stamp ## build the book on current Sphinx, without Jupyter Book
	OMP_NUM_THREADS=1 TQDM_DISABLE=1 .venv-next/bin/sphinx-build -W -n --keep-going -c book/_next \
	  -D nb_execution_cache_path=$(CURDIR)/_build/next/.jupyter_cache book _build/next/html

.venv-next/.stamp: pyproject.toml constraints-next.txt | $(BIN)/python
	@$(PYTHON) -m venv .venv-next
	@.venv-next/bin/python -m pip install --quiet -c constraints-next.txt -e '.[next]'
	@touch $@

gpu: .venv/dev.stamp ## run the tests that need a GPU, and measure its speed
	$(BIN)/pytest tests/test_devices.py -m cuda
	$(BIN)/python -m benchmarks --device cuda

records: .venv/dev.stamp ## make a run of each record again, and compare (20 minutes)
	$(BIN)/fedlab-edu records --folder book/records
	$(BIN)/fedlab-edu records --folder book/records/curves

exercises: .venv/dev.stamp ## write exercises/ from solutions/
	$(BIN)/python -m fedlab_grade.release

dist: .venv/dev.stamp ## make the wheel, the sdist and the book as a zip, in dist/
	@$(MAKE) --no-print-directory book
	rm -rf dist
	$(BIN)/hatchling build -d dist
	cd _build/html && $(CURDIR)/$(BIN)/python -m zipfile -c ../../dist/fedlab_edu-book.zip *

clean: ## remove what was built, and all caches; keep .venv and node_modules
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . \( -name .venv -o -name node_modules \) -prune -o -name __pycache__ -exec rm -rf {} +

# The tools.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed. Name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "Making .venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# Matplotlib looks for fonts once, and says so; in a chapter that would count as a warning.
.venv/book.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the package and the book's tools into .venv; the first time takes minutes"
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[book]'
	@$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@

.venv/dev.stamp: .venv/book.stamp
	@echo "Installing the tools of tests and style into .venv"
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

node_modules/.stamp: package.json package-lock.json | .venv/book.stamp
	@echo "Fetching the scripts that the pages carry into node_modules"
	@$$(command -v npm || echo $(BIN)/npm) ci --ignore-scripts --loglevel=error
	@touch $@

chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do \
	  command -v "$$name" >/dev/null 2>&1 && exit 0; \
	done; \
	if ! command -v apt-get >/dev/null; then sudo=false; \
	elif [ "$$(id -u)" = 0 ]; then sudo=; \
	else sudo="sudo -n"; fi; \
	{ $$sudo apt-get update && $$sudo apt-get install -y chromium; } || { \
	  echo "The tests of the pages need Chromium or Chrome: install one, or set CHROMIUM to its path" >&2; exit 1; }

# The book. A page's outputs come from a cache that knows the chapter's cells but neither the package
# that they import nor the records that they read, so the cache goes when one of these or a pinned
# version changes. The pages are always written anew: Sphinx does not repeat the warnings of a page
# that it left alone. One thread for each operation: more of them spin, and crawl where other programs
# want the cores.

SUMS = -type f ! -path '*/__pycache__/*' ! -path '*/.*' -exec cksum {} + | LC_ALL=C sort >$@.new

_build/code.sum: FORCE
	@mkdir -p _build
	@find fedlab_edu fedlab_grade book/records constraints.txt $(SUMS)
	@if cmp -s $@.new $@; then rm $@.new; else rm -rf _build/.jupyter_cache; mv $@.new $@; fi

_build/text.sum: FORCE
	@mkdir -p _build
	@find book exercises solutions _config.yml $(SUMS)
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

_build/html/.built: _build/code.sum _build/text.sum .venv/book.stamp node_modules/.stamp
	@rm -rf _build/html _build/failed _build/.doctrees
	@trap 'test -e $@ || mv _build/html _build/failed 2>/dev/null' EXIT; trap 'exit 1' INT TERM; \
	if ! OMP_NUM_THREADS=1 TQDM_DISABLE=1 $(BIN)/jupyter-book build book --config _config.yml --path-output . -W -n --keep-going; then \
	  echo "The book was not built: see the first warning or error above." >&2; exit 1; \
	fi; \
	for page in $(PAGES); do \
	  test -e $$page || { echo "$$page is missing: is the chapter in book/_toc.yml?" >&2; exit 1; }; \
	done; \
	touch $@
