#!/usr/bin/env bash
# Builds the program, packs it for a GPU machine that has no Rust and no network, and measures it there, or here.
#
#   scripts/gpu-check.sh                       builds, packs, and runs every section here; then, in a checkout,
#   scripts/benchmarks.py gpu-check-results/gpu-check.json                 puts the numbers into docs/benchmarks/gpu.json
#   scripts/gpu-check.sh pack                  builds and packs only: target/gpu-check.tar.gz, at most 64 MiB
#   tar xzf gpu-check.tar.gz && gpu-check/gpu-check.sh run [OPTION…]       on the other machine
#
#   --sections LIST   of doctor,parity,runs,step,rollout,update,grpo,peer; all of them if not given
#   --deadline SECONDS  ends before then, with what was measured so far (900)
#   --model SIZE      shape of the random model of grpo, rollout and update: tiny, 0.5b … 72b [7b with CUDA, else tiny]
#   --out DIR         where gpu-check.json and the logs go [gpu-check-results]
#
# doctor   libtorch, devices, self-tests of arithmetic and of the attention kernels and our own: which are used, and why not the others
# parity   log-probabilities and entropies: device against CPU in f32
# runs     training of a tiny model against the CPU's numbers, and resumed against whole runs
# step     whole training steps of a recorded model by the program itself
# rollout  decoding behind prompts, with the kernels that decode (gen) and by plain operators alone (plain)
# update   the time of a launch (docs/hardware.md counts those of an update); log-probability pass; forward, backward and optimiser
# grpo     whole training steps of a random model on one device: times, and the memory beside the plan's
# peer     PEER=FILE.py [--deadline S --device D --tiny], measured by python3 with the same deadline, where it is given
#
# LIBTORCH_LIB=DIR  libtorch 2.11's lib folder [that of python3's torch, else where the program was linked]
# Each section stands alone: one that fails or finds no time says so and leaves the others as they are. Without CUDA the
# same runs on the CPU with a tiny model, and every row says so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sections=doctor,parity,runs,step,rollout,update,grpo,peer
deadline=900
model=
out=gpu-check-results

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}

pack() {
  cd "$here/.."
  scripts/setup-libtorch.sh
  cargo build --release --locked -p llm-trainer --bin llm-trainer --example lm_bench
  local built=${CARGO_TARGET_DIR:-target} folder
  folder=$(mktemp -d)
  mkdir "$folder/gpu-check"
  cp "$built/release/llm-trainer" "$built/release/examples/lm_bench" "$folder/gpu-check/"
  strip "$folder/gpu-check/llm-trainer" "$folder/gpu-check/lm_bench"
  cp -r crates/llm-trainer/tests/fixtures "$folder/gpu-check/"
  cp -r configs "$folder/gpu-check/"
  cp scripts/gpu-check.sh scripts/gpu-check-table.py tests/cuda/runs.py tests/cuda/test_device.py "$folder/gpu-check/"
  (git describe --always --dirty --abbrev=7 --exclude='*' 2>/dev/null || echo unknown) >"$folder/gpu-check/commit"
  tar czf "$built/gpu-check.tar.gz" -C "$folder" gpu-check
  local bytes
  bytes=$(stat -c %s "$built/gpu-check.tar.gz")
  echo "packed: $built/gpu-check.tar.gz, $bytes bytes"
  if ((bytes > 64 << 20)); then
    echo "error: more than 64 MiB" >&2
    exit 2
  fi
  packed=$folder/gpu-check
}

# left LIMIT prints the seconds that something may take: LIMIT, or what is left of the deadline.
left() {
  local rest=$((deadline - SECONDS))
  echo $((rest < $1 ? rest : $1))
}

# section NAME LIMIT COMMAND… runs a part within its time and notes how it ended; its rows are the JSON lines in NAME.jsonl.
section() {
  local name=$1 limit status=ok began=$SECONDS
  limit=$(left "$2")
  shift 2
  [[ ,$sections, == *,$name,* ]] || return 0
  if ((limit < 5)); then
    echo "$name: no time left"
    printf '{"section":"%s","status":"no time"}\n' "$name" >>"$out/sections.jsonl"
    return
  fi
  echo "$name: at most $limit s"
  export -f "${1?}"
  timeout --signal=TERM --kill-after=5 "$limit" bash -c "set -euo pipefail; $1" >"$out/$name.log" 2>&1 || status="exit $?"
  [[ $status == "exit 124" ]] && status="cut at $limit s"
  printf '{"section":"%s","status":"%s","seconds":%d}\n' "$name" "$status" $((SECONDS - began)) >>"$out/sections.jsonl"
  [[ $status == ok ]] || { echo "$name: $status; the end of $out/$name.log:"; tail -n 3 "$out/$name.log"; }
}

doctor() {
  "$bin/llm-trainer" doctor | tee "$out/doctor.txt"
  python3 "$bin/gpu-check-table.py" doctor "$out" >"$out/doctor.jsonl"
}

parity() {
  local name kind scored=()
  score() {
    printf '%s\n' '{"text": "What is 2 + 3? \\boxed{5} and then some more text to read."}' |
      "$bin/llm-trainer" score --model "$fixtures/$1" --input - --device "$2" --dtype "$3"
  }
  for name in tiny_qwen2_tied tiny_qwen2_untied tiny_qwen3 tiny_qwen3_moe tiny_mistral tiny_qwen2_long; do
    score $name cpu f32 >"$out/parity-$name-cpu-f32.json" &
    scored+=($!)
    for kind in f32 bf16; do
      score $name "$device" $kind >"$out/parity-$name-$kind.json" &
      scored+=($!)
    done
  done
  for name in "${scored[@]}"; do
    wait "$name"
  done
  python3 "$bin/gpu-check-table.py" parity "$out" "$device" >"$out/parity.jsonl"
}

# measure FILE MEASUREMENTS adds one JSON line a measurement; one that fails (a model that does not fit) leaves the others.
measure() {
  local file=$1 failed=0 one
  # Of all lines.
  for one in $2; do
    LM_BENCH_DEVICE=${device%%:*} "$bin/lm_bench" "$one" | tee -a "$file" || failed=1
  done
  return $failed
}

rollout() {
  measure "$out/rollout.jsonl" "$rollout_measurements"
}

update() {
  measure "$out/update.jsonl" "$update_measurements"
}

# planned NAME leaves the plan of NAME.toml beside it, and the place of the run empty.
planned() {
  rm -rf "$out/run/$1"
  "$bin/llm-trainer" plan --config "$out/$1.toml" --json >"$out/$1-plan.json" || true
}

# measured_steps NAME MODEL leaves the times of a run's last step and its memory beside the plan's in NAME.jsonl.
measured_steps() {
  python3 "$bin/gpu-check-table.py" step "$out" "$1" "$2" >"$out/$1.jsonl"
}

runs() {
  if [[ $device == cpu ]]; then
    echo "a device other than the CPU is needed"
    return
  fi
  LLM_TRAINER=$bin/llm-trainer LIBTORCH=${LIBTORCH_LIB:+$(dirname "$LIBTORCH_LIB")} FIXTURES=$fixtures python3 "$bin/test_device.py"
}

step() {
  planned step
  "$bin/llm-trainer" train "$out/step.toml" --resume never
  measured_steps step tiny_qwen2_tied
}

grpo() {
  # 15 GB at 7b.
  trap 'rm -rf "$out/model"' EXIT
  LM_BENCH_SAVE=$out/model LM_BENCH_TOKENIZER=$fixtures/tiny_qwen2_tied LM_BENCH_DEVICE=${device%%:*} "$bin/lm_bench" "$model:bf16:save"
  planned grpo
  # Its checkpoint would take 76 GB at 7b: two of three steps are measured.
  local run metrics=$out/run/grpo/metrics.jsonl
  "$bin/llm-trainer" train "$out/grpo.toml" --resume never &
  run=$!
  while kill -0 $run 2>/dev/null && ! { [[ -e $metrics ]] && (($(wc -l <"$metrics") > 1)); }; do sleep 0.1; done
  kill -KILL $run 2>/dev/null || wait $run
  measured_steps grpo "$model"
}

peer() {
  local small=()
  [[ $device != cpu ]] || small=(--tiny)
  OUT=$out python3 "$PEER" --deadline "$(left 520)" --device "${device%%:*}" "${small[@]}"
}

run() {
  bin=${packed:-$here}
  fixtures=$bin/fixtures
  if [[ -z ${LIBTORCH_LIB:-} ]]; then
    LIBTORCH_LIB=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0] + "/lib")' \
      2>/dev/null || true)
  fi
  [[ -z $LIBTORCH_LIB ]] || export LD_LIBRARY_PATH=$LIBTORCH_LIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  rm -f "$out"/*.jsonl
  device=cpu
  # Read to its end: `grep -q` would leave doctor with a broken pipe. A device whose self-test fails is still the one to measure.
  if { "$bin/llm-trainer" doctor 2>/dev/null || true; } | grep '^CUDA *yes' >/dev/null; then device=cuda:0; fi
  if [[ $device == cpu ]]; then
    model=${model:-tiny}
    echo "no CUDA: everything below runs on the CPU with the model $model and says nothing about a GPU"
    rollout_measurements="$model:f32:gen1 $model:bf16:gen8 $model:bf16:plain8"
    update_measurements="tiny:bf16:launch $model:f32:fwd $model:bf16:fwd $model:f32:train $model:bf16:train $model:bf16:train-split:8x512:0B"
    response_tokens=16
  else
    model=${model:-7b}
    rollout_measurements="$model:bf16:gen1:512+64 $model:bf16:gen64:512+256 $model:bf16:plain64:512+256
      $model:bf16:gen256:512+256 $model:bf16:plain256:512+256"
    # A row that keeps 48 GB of what blocks compute takes 109 GiB, one with master weights in f32 88 GiB.
    local mebibytes
    mebibytes=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2>/dev/null | head -n 1 || true)
    response_tokens=1024
    update_measurements="tiny:bf16:launch $model:bf16:fwd:8x4096 $model:bf16:train-split:8x2048:0B $model:bf16:train-split:8x4096:0B
      $model:bf16:train-split:1x8192:0B"
    if ((${mebibytes:-0} > 120000)); then
      update_measurements+=" $model:bf16:train-split:8x2048:48GB $model:bf16:train:2x4096"
    fi
  fi
  cat >"$out/step.toml" <<TOML
name = "step"
output_directory = "$out/run/step"
model = { path = "$fixtures/tiny_qwen2_tied", device = "$device" }
data = { train = { arithmetic = { operations = ["add"], digits = [1, 1], count = 30 } }, prompt = { chat = false } }
rollout = { prompts_per_step = 8, group_size = 4, max_response_tokens = 16 }
reward = { grading = { last_number = true }, values = { right = 1.0, wrong = 0.25, unparsed = 0.0 } }
algorithm = { mini_batch_prompts = 4 }
training = { steps = 3 }
TOML
  # A random model's tokens say nothing: half of the responses are rewarded, by their letters.
  cat >"$out/grpo.toml" <<TOML
name = "grpo"
output_directory = "$out/run/grpo"
model = { path = "$out/model", device = "$device", dtype = "bf16" }
data = { train = { arithmetic = { operations = ["add"], digits = [1, 1], count = 30 } }, prompt = { chat = false }, max_prompt_tokens = 16 }
rollout = { prompts_per_step = 8, group_size = 8, max_response_tokens = $response_tokens }
reward = { custom = { command = ["python3", "-uc", "import sys, zlib\nfor line in sys.stdin: print(zlib.crc32(line.encode()) % 2)"] } }
algorithm = { mini_batch_prompts = 4 }
optimizer = { master = "split", moments = "bf16" }
training = { steps = 3, activation_bytes = 0 }
checkpoint = { every = 0 }
TOML
  export LIBTORCH_LIB bin fixtures out device model rollout_measurements update_measurements deadline
  export -f measure left planned measured_steps
  section doctor 60 doctor
  section parity 120 parity
  section runs 240 runs
  section step 90 step
  section rollout 400 rollout
  section update 300 update
  section grpo 240 grpo
  if [[ -n ${PEER:-} ]]; then
    section peer 520 peer
  elif [[ ,$sections, == *,peer,* ]]; then
    echo '{"section":"peer","status":"not given: PEER=FILE.py"}' >>"$out/sections.jsonl"
  fi
  local commit gpu
  commit=$(cat "$bin/commit" 2>/dev/null || echo unknown)
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
  python3 "$bin/gpu-check-table.py" table "$out" "$device" "$model" "$commit" "$gpu"
}

command=all
case ${1-} in
  pack | run)
    command=$1
    shift
    ;;
esac
while (($# > 0)); do
  case $1 in
    --sections) sections=${2:?} ;;
    --deadline) deadline=${2:?} ;;
    --model) model=${2:?} ;;
    --out) out=${2:?} ;;
    *) usage ;;
  esac
  shift 2
done
for name in ${sections//,/ }; do
  [[ ,doctor,parity,runs,step,rollout,update,grpo,peer, == *,$name,* ]] || usage
done
packed=
[[ $command == run ]] || pack
if [[ $command != pack ]]; then
  # Building is not part of the time.
  SECONDS=0
  run
fi
