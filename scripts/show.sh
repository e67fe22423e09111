#!/usr/bin/env bash
# A real language model, SmolLM2-135M-Instruct, trained on sums by GRPO, Clip-Cov and KL-Cov on the CPU: same seed and budget.
# Needs models/SmolLM2-135M-Instruct (scripts/fetch-smollm2.sh). Finished runs are not done again; an interrupted one goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup-libtorch.sh
cargo build --release --locked --quiet -p llm-trainer
trainer=${CARGO_TARGET_DIR:-target}/release/llm-trainer

train() {
  "$trainer" train configs/smollm2-sums.toml --set "name=$1" --set "algorithm.policy_loss = $2"
}
train GRPO '{ ppo-clip = {} }'
train Clip-Cov '{ clip-cov = { fraction = 0.02, covariance_low = 1.0, covariance_high = 5.0, semantics = "verl" } }'
train KL-Cov '{ kl-cov = { fraction = 0.05, coefficient = 1.0, semantics = "verl" } }'
"$trainer" report runs/show/GRPO runs/show/Clip-Cov runs/show/KL-Cov \
  --title "GRPO, Clip-Cov and KL-Cov: SmolLM2-135M on sums" --output runs/show/report.html --command "scripts/show.sh"
