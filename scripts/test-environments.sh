#!/usr/bin/env bash
# Trains with environments of PyPI verifiers and openenv-core, on the CPU: some minutes, and 0.8 GB in ENVIRONMENTS_DIR the first time.
#
#   scripts/test-environments.sh [verifiers_environment] [openenv_environment]
#
# ENVIRONMENTS_DIR=DIR   the Python environment with both packages (target/environments)
# PYTHON=python3         an interpreter of 3.11 or newer
# LLM_TRAINER=PATH       the llm-trainer to test; built if not given
set -euo pipefail
cd "$(dirname "$0")/.."
verifiers=0.4.0
openenv=0.3.0
folder=$(realpath -m "${ENVIRONMENTS_DIR:-target/environments}")
installed="$folder/verifiers-$verifiers-openenv-core-$openenv"
if [ ! -e "$installed" ]; then
  rm -rf "$folder"
  "${PYTHON:-python3}" -m venv "$folder"
  echo "pip: installing verifiers $verifiers and openenv-core $openenv into $folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "verifiers==$verifiers" "openenv-core==$openenv"
  touch "$installed"
fi
if [ -z "${LLM_TRAINER:-}" ]; then
  scripts/setup-libtorch.sh
  export LIBTORCH="${LIBTORCH:-$PWD/.libtorch/torch}"
  "${CARGO:-cargo}" build --locked --release -p llm-trainer
  LLM_TRAINER="${CARGO_TARGET_DIR:-target}/release/llm-trainer"
fi
[ $# -gt 0 ] || set -- verifiers_environment openenv_environment
LLM_TRAINER=$(realpath "$LLM_TRAINER")
LLM_TRAINER=$LLM_TRAINER PYTHONPATH=tests/environments exec "$folder/bin/python" -m unittest -v "$@"
