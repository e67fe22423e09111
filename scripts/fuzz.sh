#!/usr/bin/env bash
# Attacks the parsers with edited files, MINUTES in all (10 without a number). A failing input is printed, as short as it can be.
set -euo pipefail
cd "$(dirname "$0")/.."
end=$((SECONDS + ${1:-10} * 60))
crates=(decoder gguf-import llm-trainer model-files question-data reward-math run-report softmax-sim training-run)
cargo test --release --locked --no-run "${crates[@]/#/--package=}"
# Every round has another seed.
while [ "$SECONDS" -lt "$end" ]; do
  PROPTEST_CASES=${PROPTEST_CASES:-4096} cargo test --release --locked --quiet "${crates[@]/#/--package=}" -- fuzz
done
