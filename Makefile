# make demo and make test do all the set-up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
KERNELS := $(VENV)/.kernels
SOURCES := hatch_build.py $(wildcard rageval_batch/columnar/kernels/*.p[yx][xd])

.PHONY: demo test test-matrix soak soak-kernels bench docs screenshots notebooks fmt clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rageval-batch needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# What the demo needs: no tools of development, and the kernels compiled by the installation.
$(INSTALLED): pyproject.toml $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $(INSTALLED)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

# The installation has compiled the kernels; here those that were changed since are compiled again.
$(KERNELS): $(READY) $(SOURCES)
	$(BIN)/python hatch_build.py
	touch $(KERNELS) $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/rageval demo

# mypy runs beside pytest: it keeps one core busy, and pytest starts and ends on one.
test: $(KERNELS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy & types=$$!; $(BIN)/python -m pytest -n auto; tests=$$?; wait $$types && exit $$tests

# Each Python of this machine with the lowest and the newest versions of the dependencies.
test-matrix: $(READY)
	$(BIN)/python tests/matrix.py

# The long versions: ten times the examples that a property test says, new ones each time, and the tests marked soak.
soak: $(KERNELS) soak-kernels
	$(BIN)/python -m pytest -n auto --hypothesis-profile soak

# The tests of the kernels and of all that scores, with bounds checks in every access, then with the address sanitizer
# (of GCC; it must be loaded before Python, and Python's and Arrow's own pools of memory would hide errors from it).
# Not `python -m pytest`: that would find the package of the checkout first.
SOAKED := tests/columnar tests/profiles tests/inputs
VARIANT = RAGEVAL_KERNELS=$(1) PYTHONPATH=build/$(1):tests $(BIN)/pytest -p support.kernel_variant -n auto

soak-kernels: $(KERNELS)
	$(BIN)/python hatch_build.py checked
	$(call VARIANT,checked) $(SOAKED)
	$(BIN)/python hatch_build.py sanitized
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	ARROW_DEFAULT_MEMORY_POOL=system $(call VARIANT,sanitized) $(SOAKED)

# The pages of profiles, commands and views, written from the code (a test holds them to it), and the site of all pages.
docs: $(KERNELS)
	$(BIN)/python docs/write_pages.py
	$(BIN)/zensical build --strict

# The pictures of the README, as the tests of report and viewer see them.
screenshots: $(KERNELS)
	mkdir -p docs/images
	$(BIN)/python -m pytest -m browser -k 'opens_offline or walk' --screenshots docs/images tests/report tests/view

# The notebooks again, with their outputs.
notebooks: $(KERNELS)
	$(BIN)/python notebooks/execute.py

bench: $(KERNELS)
	$(BIN)/rageval bench --rows 500000

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
	rm -f $(addprefix rageval_batch/columnar/kernels/,*.c *.so *.pyd)
