# make demo and make test do all the set-up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
KERNELS := $(VENV)/.kernels
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
SPARK := $(VENV)/.spark
SOURCES := hatch_build.py $(wildcard rageval_batch/columnar/kernels/*.p[yx][xd])

# Two things at a time: kernels are compiled while packages are installed, and types are checked beside the tests.
MAKEFLAGS += --jobs=2

# Bytecode is kept, whatever the environment says: every command that a test starts would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test style types tests test-matrix soak soak-kernels soak-kills soak-writers fuzz bench docs screenshots notebooks fmt clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rageval-batch needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# No bytecode of what nobody imports; and the package is built with the tools of this environment, not with others of
# its own, and without its kernels: the makefile compiles those.
INSTALL := HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

$(TOOLS): pyproject.toml hatch_build.py | $(BIN)/python
	$(BIN)/python hatch_build.py requirements >$(VENV)/build-requirements.txt
	$(INSTALL) --requirement $(VENV)/build-requirements.txt
	touch $(TOOLS)

$(KERNELS): $(TOOLS) $(SOURCES)
	$(BIN)/python hatch_build.py
	touch $(KERNELS)

# What the demo needs: no tools of development.
$(INSTALLED): pyproject.toml $(TOOLS)
	$(INSTALL) --no-build-isolation --editable .
	touch $(INSTALLED)

$(READY): pyproject.toml $(TOOLS)
	$(INSTALL) --no-build-isolation --editable '.[dev]'
	touch $(INSTALLED) $(READY)

# PySpark is as large as all others together, and pip makes its wheel: that is done beside the others.
$(SPARK): pyproject.toml $(TOOLS)
	$(INSTALL) pyspark
	touch $(SPARK)

demo: $(INSTALLED) $(KERNELS)
	$(BIN)/rageval demo

test: style types tests

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) $(SPARK)
	$(BIN)/mypy

# Each worker takes a row of files, so that their fixtures are made once, and who is done takes from the others.
tests: $(READY) $(SPARK) $(KERNELS)
	$(BIN)/python -m pytest -n auto --dist worksteal

# Each Python of this machine with the lowest and the newest versions of the dependencies.
test-matrix: $(READY)
	$(BIN)/python tests/matrix.py

# The long versions: ten times the examples that a property test says, new ones each time, and the tests marked soak.
soak: $(READY) $(SPARK) $(KERNELS) soak-kernels
	$(BIN)/python -m pytest -n auto --hypothesis-profile soak

# Parts of it, each by itself, bounded in time, with their counts: 1,000 kills at random moments; four writers and four
# readers for ten minutes; every fuzzer for SECONDS.
SECONDS ?= 60
SOAK := $(BIN)/python -m pytest --hypothesis-profile soak -s tests/runs/test_soak.py

soak-kills: $(READY) $(KERNELS)
	$(SOAK) -k 'kills and 1000'

soak-writers: $(READY) $(KERNELS)
	$(SOAK) -k 'writers and 600'

fuzz: $(READY) $(KERNELS)
	$(BIN)/python tests/fuzz/long.py --seconds $(SECONDS)

# The tests of the kernels and of all that scores, with bounds checks in every access, then with the address sanitizer
# (of GCC; it must be loaded before Python, with the C++ library, whose exceptions DuckDB throws through it; and Python's
# and Arrow's own pools of memory would hide errors from it).
# Not `python -m pytest`: that would find the package of the checkout first.
SOAKED := tests/columnar tests/profiles tests/inputs
# pytrec_eval, which tests compare with, frees what it made by new[].
ASAN := detect_leaks=0:alloc_dealloc_mismatch=0
VARIANT = RAGEVAL_KERNELS=$(1) PYTHONPATH=build/$(1):tests $(BIN)/pytest -p support.kernel_variant -n auto

soak-kernels: $(READY) $(KERNELS)
	$(BIN)/python hatch_build.py checked
	$(call VARIANT,checked) $(SOAKED)
	$(BIN)/python hatch_build.py sanitized
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" ASAN_OPTIONS=$(ASAN) PYTHONMALLOC=malloc \
	ARROW_DEFAULT_MEMORY_POOL=system $(call VARIANT,sanitized) $(SOAKED)

# The pages of profiles, commands and views, written from the code (a test holds them to it), and the site of all pages.
docs: $(READY) $(KERNELS)
	$(BIN)/python docs/write_pages.py
	$(BIN)/zensical build --strict

# The pictures of the README, as the tests of report and viewer see them.
screenshots: $(READY) $(KERNELS)
	mkdir -p docs/images
	$(BIN)/python -m pytest -m browser -k 'opens_offline or walk' --screenshots docs/images tests/report tests/view

# The notebooks again, with their outputs.
notebooks: $(READY) $(KERNELS)
	$(BIN)/python notebooks/execute.py

bench: $(READY) $(KERNELS)
	$(BIN)/rageval bench --rows 500000

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
	rm -f $(addprefix rageval_batch/columnar/kernels/,*.c *.so *.pyd)
