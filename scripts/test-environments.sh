#!/usr/bin/env bash
# Trains with an environment of PyPI verifiers, on the CPU: some minutes, and 0.6 GB in ENVIRONMENTS_DIR the first time.
#
#   scripts/test-environments.sh
#
# ENVIRONMENTS_DIR=DIR   the Python environment with verifiers (target/environments)
# PYTHON=python3         an interpreter of 3.11 or newer
# LLM_TRAINER=PATH       the llm-trainer to test; built if not given
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.4.0
folder=$(realpath -m "${ENVIRONMENTS_DIR:-target/environments}")
if [ ! -e "$folder/verifiers-$version" ]; then
  rm -rf "$folder"
  "${PYTHON:-python3}" -m venv "$folder"
  echo "pip: installing verifiers $version into $folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "verifiers==$version"
  touch "$folder/verifiers-$version"
fi
if [ -z "${LLM_TRAINER:-}" ]; then
  scripts/setup-libtorch.sh
  export LIBTORCH="${LIBTORCH:-$PWD/.libtorch/torch}"
  "${CARGO:-cargo}" build --locked --release -p llm-trainer
  LLM_TRAINER="${CARGO_TARGET_DIR:-target}/release/llm-trainer"
fi
LLM_TRAINER=$(realpath "$LLM_TRAINER") exec "$folder/bin/python" tests/environments/verifiers_environment.py -v "$@"
