#!/usr/bin/env bash
# What two processes on this machine send each other and how long they wait, one way of sharing the work after the other:
#   scripts/measure-ranks.sh [MODEL]     a table; MODEL is a Hugging Face folder, models/SmolLM2-135M-Instruct if none is given
# Where the user may make a network of its own (root), the bytes that its loopback carried stand beside those that were counted.
#
# LLM_TRAINER=PATH  the program, with its libtorch on LD_LIBRARY_PATH; built here if it is not given
# TENSOR=1          one row more, of one model over both processes, whose heads must be even in number (SmolLM2-135M has nine)
#
# The table of docs/distributed.md; below it, on standard error, are fractions of the step. Nothing else should run meanwhile: some five
# minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:-$PWD/models/SmolLM2-135M-Instruct}
trainer=${LLM_TRAINER:-}
if [ -z "$trainer" ]; then
  scripts/setup-libtorch.sh >&2
  cargo build --release --locked --quiet -p llm-trainer
  trainer=${CARGO_TARGET_DIR:-target}/release/llm-trainer
fi
[ -f "$model/config.json" ] || { echo "$model holds no model, expected a Hugging Face folder" >&2; exit 2; }
if [ -n "${TENSOR:-}" ] && ! "$trainer" plan --model "$model" --gpus 2 --tensor 2 --gpu-memory 80GB >/dev/null; then
  exit 2
fi
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

# The command's output is shown where it fails.
quietly() { "$@" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; exit 1; }; }
# shellcheck disable=SC2016
loopback='ip link set lo up; "$@" || exit; awk "/lo:/ { print \$10 }" /proc/net/dev > "$0"'

echo "| \`[parallel]\` | sent by a rank a step, MB | summed | gathered | to shards | step, s | waited, s | planning, s | counted / carried by loopback |"
echo "|---|---|---|---|---|---|---|---|---|"
for settings in "zero=0" "zero=1" "zero=2" "zero=3" "zero=3 overlap=false" ${TENSOR:+"tensor=2"}; do
  rm -rf "$folder/run"
  command=("$trainer" launch -n 2 -- "$trainer" train "$folder/run.toml")
  for setting in $settings; do command+=(--set "parallel.$setting"); done
  share="–"
  if own_network; then
    quietly unshare -n bash -c "$loopback" "$folder/carried" "${command[@]}"
    counted=$(grep -o '"parallel/bytes_sent":[0-9.]*' "$folder/run/metrics.jsonl" | awk -F : '{ sum += 2 * $2 } END { print sum }')
    share=$(awk -v counted="$counted" '{ printf "%.3f", counted / $1 }' "$folder/carried")
  else
    quietly "${command[@]}"
  fi
  echo "$settings $(metric timing_s/step) $(metric parallel/wait_seconds) $(metric timing_s/plan)" >> "$folder/times"
  echo "| \`$settings\` | $(megabytes "$(metric parallel/bytes_sent)") | $(megabytes "$(metric parallel/all_reduce_bytes)") |" \
    "$(megabytes "$(metric parallel/all_gather_bytes)") | $(megabytes "$(metric parallel/reduce_scatter_bytes)") |" \
    "$(printf %.1f "$(metric timing_s/step)") | $(printf %.2f "$(metric parallel/wait_seconds)") |" \
    "$(printf %.3f "$(metric timing_s/plan)") | $share |"
done
awk '
  { plan = $NF / $(NF - 2); if (NR == 1 || plan < least) least = plan; if (plan > most) most = plan }
  $1 == "zero=3" { if ($2 == "overlap=false") { waited = $(NF - 1) } else { hidden = $(NF - 1) } }
  END {
    printf "overlap takes a fraction of %.2f of the waiting at stage 3 away\n", 1 - hidden / waited
    printf "the selection over all ranks takes a fraction of %.4f to %.4f of a step\n", least, most
  }' "$folder/times" >&2
