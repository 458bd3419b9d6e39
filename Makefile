# make demo and make test do all the set-up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
KERNELS := $(VENV)/.kernels

.PHONY: demo test soak warm bench fmt clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rageval-batch needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

# The installation has compiled the kernels; here those that were changed since are compiled again.
$(KERNELS): $(READY) hatch_build.py $(wildcard rageval_batch/columnar/kernels/*.p[yx][xd])
	$(BIN)/python hatch_build.py
	touch $(KERNELS)

demo: $(KERNELS)
	$(BIN)/rageval demo

# Kernels are compiled once, on one core, while mypy has another; the workers of pytest load them from disk.
test: $(KERNELS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m rageval_batch.bench.warm & warm=$$!; $(BIN)/mypy; typed=$$?; wait $$warm && exit $$typed
	$(BIN)/python -m pytest -n auto

# The long versions: ten times the examples that a property test says, new ones each time, and the tests marked soak.
soak: warm
	$(BIN)/python -m pytest -n auto --hypothesis-profile soak

warm: $(KERNELS)
	$(BIN)/python -m rageval_batch.bench.warm

bench: $(KERNELS)
	$(BIN)/rageval bench --rows 500000

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
	rm -f $(addprefix rageval_batch/columnar/kernels/,*.c *.so *.pyd)
