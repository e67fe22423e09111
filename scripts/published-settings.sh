# shellcheck shell=bash
# What a published run is started with, beside its preset: sourced by train-published.sh and published-job.sh.
#
# published_settings TRAINER SIZE METHOD NODES GPUS [ARGUMENT…] sets the array `settings`. What is cut over the ranks, rows,
# micro-batches and offloading are chosen by `llm-trainer plan --choose` for the memory of this machine's GPUs, or of those that
# GPU and GPU_MEMORY name. These leave the result as it is but for rounding. Where nothing else fits, moments are kept in bf16,
# which rounds them at random: then plan says so. Of the ARGUMENTs those of --set count, and come last.
published_settings() {
  local trainer=$1 size=$2 method=$3 nodes=$4 gpus=$5
  shift 5
  settings=(
    --preset "qwen2.5-$size-$method"
    --set "model.path='$MODEL'"
    --set "data.train='$DATA'"
  )
  if [[ -n ${EVALUATION:-} ]]; then
    settings+=(--set "data.evaluation='$EVALUATION'" --set evaluation.every=4)
  fi
  if [[ -n ${OUTPUT:-} ]]; then
    settings+=(--set "output_directory='$OUTPUT'")
  fi
  if [[ $size == 32b && $nodes == 1 ]]; then
    # Not the published run: on one machine responses are cut at 2048 tokens and an optimiser step takes 16 prompts.
    settings+=(--set rollout.max_response_tokens=2048 --set data.max_prompt_tokens=1024)
    settings+=(--set algorithm.mini_batch_prompts=16)
  fi
  local planned=("${settings[@]}")
  while (($# > 0)); do
    case $1 in
      --set) planned+=(--set "$2"); shift ;;
      --set=*) planned+=("$1") ;;
    esac
    shift
  done
  planned+=(--nodes "$nodes" --gpus "$gpus")
  if [[ -n ${GPU:-} ]]; then
    planned+=(--gpu "$GPU")
  fi
  if [[ -n ${GPU_MEMORY:-} ]]; then
    planned+=(--gpu-memory "$GPU_MEMORY")
  fi
  local chosen setting
  chosen=$("$trainer" plan "${planned[@]}" --choose)
  for setting in $chosen; do
    settings+=(--set "$setting")
  done
}
