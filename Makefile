# OneMQ's habits. `make` lists them; each does its own set-up, and the second time that takes no time.

# The Python to build .venv with; unless named, scripts/python finds a quick one.
PYTHON ?=
SEEDS  ?= 2000
JOBS   ?= 2
BIN    := .venv/bin
# A virtual environment carries its own path inside: named after the folder, so that a moved or copied
# checkout builds its own instead of running another one's code.
STAMP  := .venv/ready-$(shell pwd | cksum | cut -d' ' -f1)

.PHONY: help setup native packages serve demo test spark kafka plain check bench soak fuzz lock clean

help:   ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' Makefile

setup: native  ## build .venv with the locked dependencies and the onemq command, and compile what is hot

$(STAMP): pyproject.toml requirements.lock
	@python="$(PYTHON)"; python=$${python:-$$(scripts/python)}; \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "OneMQ needs Python 3.11 or newer, but $$python is: $$($$python --version 2>&1)." \
	       "Name another one: make setup PYTHON=python3.12" >&2; exit 1; }; \
	test -e $@ || { echo "building .venv"; $$python -m venv --clear .venv; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes \
	  -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

native: $(STAMP)
	@$(BIN)/python scripts/native.py || echo "OneMQ runs as plain Python: it was not compiled, the reason stands above"

serve: setup  ## run a broker; options in ARGS, e.g. ARGS="--data /tmp/onemq"
	$(BIN)/onemq serve $(ARGS)

demo: $(STAMP)  ## an evening in a shop: a broker, services, kills, Spark, and books that balance; options in ARGS
	@if home=$$(scripts/java); then export JAVA_HOME="$$home"; fi; $(BIN)/python examples/demo $(ARGS)

test:   ## check, all tests but the long ones, and the simulation over SEEDS=2000 seeds
	@$(MAKE) --no-print-directory -j 3 native check packages
	@JAVA_HOME=$$(scripts/java) && export JAVA_HOME && BIN=$(BIN) SEEDS=$(SEEDS) JOBS=$(JOBS) scripts/test

spark: setup  ## all tests with Spark: pipelines, the page about them, the demo, and kills on a cluster; ten minutes
	@JAVA_HOME=$$(scripts/java) && export JAVA_HOME && $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup tests/spark

kafka: setup  ## all tests with Kafka's clients, its Java tools, Spark's source, and beside Apache Kafka; ten minutes, or some in TESTS
	@scripts/system-packages
	@scripts/kafka >/dev/null
	@JAVA_HOME=$$(scripts/java) && export JAVA_HOME && \
	  $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -rs $(or $(TESTS),tests/interop/kafka)

plain: setup  ## the unit tests with all modules as plain Python
	ONEMQ_PLAIN=1 $(BIN)/python -m pytest -n $(JOBS) tests/unit

packages:
	@scripts/system-packages
	@scripts/node-client

check: $(STAMP)  ## lint and strict types
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src

bench: setup  ## measure and compare with the targets; options in ARGS
	@scripts/system-packages
	@scripts/kafka >/dev/null
	@JAVA_HOME=$$(scripts/java) && export JAVA_HOME && $(BIN)/python -m bench $(ARGS)

soak: setup  ## the simulation with fresh seeds until interrupted; options in ARGS
	$(BIN)/python -m tests.sim --forever $(ARGS)

fuzz: setup  ## feed the parsers what confuses them until interrupted; options in ARGS
	$(BIN)/python -m tests.fuzz $(ARGS)

lock:   ## refresh requirements.lock to the newest versions that pyproject.toml allows
	@tools=$$(mktemp -d) && trap 'rm -rf "$$tools"' EXIT && \
	"$(or $(PYTHON),python3)" -m venv "$$tools" && "$$tools/bin/pip" install --quiet --disable-pip-version-check uv && \
	"$$tools/bin/uv" pip compile pyproject.toml --extra dev --output-file requirements.lock --upgrade \
	  --universal --python-version 3.11 --generate-hashes --quiet --custom-compile-command 'make lock'

clean:  ## remove .venv, caches and build results; data folders stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist src/onemq.egg-info src/onemq/_native
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
