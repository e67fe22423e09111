#!/usr/bin/env bash
# The whole path in one command: theory checked, a small model warmed up and trained by GRPO, Clip-Cov and KL-Cov
# with the same seeds and budget, and a report. Finished parts are not done again; an interrupted one goes on.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo fetch --locked --offline --target x86_64-unknown-linux-gnu >/dev/null 2>&1; then
  echo "crates: downloading the Rust dependencies from crates.io (about 42 MB)"
fi
echo "build: softmax-sim and llm-trainer (several minutes the first time)"
cargo build --release --locked --quiet -p softmax-sim -p llm-trainer -p code-sandbox
target=${CARGO_TARGET_DIR:-target}/release

started=$SECONDS
mkdir -p runs/demo
echo
echo "1/4  theory: the paper's Lemma, Proposition and Theorems on random policies"
"$target/softmax-sim" verify --json runs/demo/verification.json
echo
echo "2/4  warm-up: a small Qwen2-architecture model learns a habit: which operation makes 20?3=17, by guessing"
"$target/llm-trainer" warmup configs/demo-warmup.toml
echo
echo "3/4  reinforcement learning on new questions: three losses, three seeds each, one budget"
runs=()
# Name of the first seed's run, and the loss.
train() {
  for seed in 1 2 3; do
    name=$1
    [ "$seed" = 1 ] || name=$1-$seed
    "$target/llm-trainer" train configs/demo.toml --set "name=$name" --set "seed=$seed" \
      --set "algorithm.policy_loss = $2"
    runs+=("runs/demo/$name")
  done
}
train GRPO '{ ppo-clip = {} }'
train Clip-Cov '{ clip-cov = { fraction = 0.02, covariance_low = 1.0, covariance_high = 50.0, semantics = "verl" } }'
train KL-Cov '{ kl-cov = { fraction = 0.5, coefficient = 1.0, semantics = "verl" } }'
echo
echo "4/4  report"
"$target/llm-trainer" report "${runs[@]}" \
  --title "GRPO, Clip-Cov and KL-Cov: which operation makes 20?3=17" \
  --verification runs/demo/verification.json --output runs/demo/report.html --command "make demo"
echo "took $((SECONDS - started)) s after the build"
