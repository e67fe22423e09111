#!/usr/bin/env bash
# Qwen2.5-7B by one of the four recipes: scripts/train-7b.sh grpo|clip-higher|clip-cov|kl-cov [NODES] [-- ARGUMENT…]
# All that it reads is described in scripts/train-published.sh.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/train-published.sh" 7b "$@"
