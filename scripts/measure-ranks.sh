#!/usr/bin/env bash
# What two processes on this machine send each other and how long they wait, one way of sharing the work after the other:
#   scripts/measure-ranks.sh [MODEL]     a table; MODEL is a Hugging Face folder, models/SmolLM2-135M-Instruct if none is given
# Where the user may make a network of its own (root), the bytes that its loopback carried stand beside those that were counted.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${TRAINER:-}" ] || scripts/setup-libtorch.sh >&2
model=${1:-$PWD/models/SmolLM2-135M-Instruct}
trainer=${TRAINER:-${CARGO_TARGET_DIR:-target}/release/llm-trainer}
[ -n "${TRAINER:-}" ] || cargo build --release --locked --quiet -p llm-trainer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1

cat > "$folder/run.toml" <<TOML
name = "measure"
seed = 1
output_directory = "$folder/run"
model = { path = "$model", device = "cpu", threads = 1 }
data = { train = { arithmetic = { operations = ["add"], digits = [1, 1], count = 64, seed = 1 } }, prompt = { chat = false }, max_prompt_tokens = 32 }
rollout = { prompts_per_step = 4, group_size = 4, max_response_tokens = 16, rows = 16 }
# Something to learn whatever is answered.
reward = { values = { right = 1.0, wrong = 0.25, unparsed = 0.0 }, grading = { last_number = true } }
algorithm = { mini_batch_prompts = 2, policy_loss = { kl-cov = { fraction = 0.1, coefficient = 1.0 } } }
optimizer = { learning_rate = 1e-6 }
training = { steps = 2, micro_batch_tokens = 64 }
checkpoint = { every = 0 }
TOML

metric() { tail -n 1 "$folder/run/metrics.jsonl" | grep -o "\"$1\":[^,}]*" | cut -d : -f 2; }
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f", bytes / 1e6 }'; }
own_network() { unshare -n true 2>/dev/null; }

echo "| \`[parallel]\` | sent by a rank a step, MB | summed | gathered | to shards | step, s | waited, s | planning, s | counted / carried by loopback |"
echo "|---|---|---|---|---|---|---|---|---|"
for settings in "zero=0" "zero=1" "zero=2" "zero=3" "zero=3 overlap=false" ${TENSOR:+"tensor=2"}; do
  rm -rf "$folder/run"
  command=("$trainer" launch -n 2 -- "$trainer" train "$folder/run.toml")
  for setting in $settings; do command+=(--set "parallel.$setting"); done
  carried=""
  if own_network; then
    carried=$(unshare -n bash -c 'ip link set lo up; "$@" >/dev/null 2>&1; awk "/lo:/ { print \$10 }" /proc/net/dev' _ "${command[@]}")
  else
    "${command[@]}" >/dev/null 2>&1
  fi
  counted=$(grep -o '"parallel/bytes_sent":[0-9.]*' "$folder/run/metrics.jsonl" | awk -F : '{ sum += 2 * $2 } END { print sum }')
  share=${carried:+$(awk -v counted="$counted" -v carried="$carried" 'BEGIN { printf "%.3f", counted / carried }')}
  echo "| \`$settings\` | $(megabytes "$(metric parallel/bytes_sent)") | $(megabytes "$(metric parallel/all_reduce_bytes)") |" \
    "$(megabytes "$(metric parallel/all_gather_bytes)") | $(megabytes "$(metric parallel/reduce_scatter_bytes)") |" \
    "$(printf %.1f "$(metric timing_s/step)") | $(printf %.2f "$(metric parallel/wait_seconds)") |" \
    "$(printf %.3f "$(metric timing_s/plan)") | ${share:-–} |"
done
