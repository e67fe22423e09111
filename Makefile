# The two commands of the README, and what developers run. `make help` lists them.
CARGO ?= cargo

.PHONY: help setup demo reproduce test check test-python benchmarks clean-demo

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

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

benchmarks: setup ## measure this machine, write docs/benchmarks/*.json and docs/benchmarks.md; ONLY=losses one file, RUNS=3 ranges
	@python3 scripts/benchmarks.py; code=$$?; \
	UPDATE_DOCS=1 $(CARGO) test --locked --quiet -p workspace-tests --test it benchmarks::the_page && exit $$code

clean-demo: ## remove what `make demo` made, so that it starts from the warm-up again
	rm -rf runs/demo
