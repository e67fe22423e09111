# The two commands of the README, and what developers run. `make help` lists them.
CARGO ?= cargo
PYTHON ?= python3

.PHONY: help setup demo reproduce test check test-python test-engines test-environments test-cuda-rehearsal benchmarks docs docs-check clean-demo

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: ## fetch libtorch 2.11.0 into .libtorch/ unless it or LIBTORCH is there; CUDA=1 with what GPUs need, CUDA=0 without
	@scripts/setup-libtorch.sh

demo: setup ## check the theory, train a small model by GRPO, Clip-Cov and KL-Cov, write runs/demo/report.html
	@scripts/demo.sh

reproduce: ## run the findings of the paper on the CPU, write runs/reproduce/report.html; goes on where it was
	$(CARGO) run --release -p softmax-sim -- reproduce --png

test: setup ## the whole test suite, the trainer's included
	@scripts/test.sh

check: setup ## the same with formatting, clippy and rustdoc, in one build, as CI runs it
	@LINT=1 scripts/test.sh

test-python: ## build the Python wheel and test it in a fresh environment (pip downloads into it)
	@scripts/test-python.sh

test-engines: setup ## train with vLLM as the rollout engine on the CPU (pip downloads 3.5 GB into target/engines)
	@scripts/test-engines.sh

test-environments: setup ## train with environments of PyPI verifiers and openenv-core on the CPU (pip downloads into target/environments)
	@scripts/test-environments.sh

test-cuda-rehearsal: setup ## train on emulated CUDA and trace libtorch's own CUDA half on stubs; no GPU (pip downloads 90 MB)
	@scripts/test-cuda-rehearsal.sh

benchmarks: setup ## measure this machine, write docs/benchmarks/*.json and docs/benchmarks.md; ONLY=losses one file, RUNS=3 ranges
	@python3 scripts/benchmarks.py; code=$$?; \
	UPDATE_DOCS=1 $(CARGO) test --locked --quiet -p workspace-tests --test it benchmarks::the_page && exit $$code

docs: target/docs-venv/site ## make a website with search of docs/, target/site/index.html; the first time pip downloads what it takes
	@NO_MKDOCS_2_WARNING=1 target/docs-venv/bin/mkdocs build --strict --config-file site/mkdocs.yml
	@echo "target/site/index.html"

docs-check: docs target/docs-venv/check ## the same, then every page, link, formula and the search in headless Chromium
	@target/docs-venv/bin/python scripts/check-site.py

target/docs-venv/site: site/requirements.txt
	@rm -rf target/docs-venv
	@$(PYTHON) -m venv target/docs-venv
	@target/docs-venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

target/docs-venv/check: site/check-requirements.txt target/docs-venv/site
	@target/docs-venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

clean-demo: ## remove what `make demo` made, so that it starts from the warm-up again
	rm -rf runs/demo
