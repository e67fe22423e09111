# shellcheck shell=bash
# What a published run is started with, beside its preset: sourced by train-published.sh and published-job.sh.
#
# published_settings SIZE METHOD NODES sets the array `settings`. Of the settings only those of a single machine change the
# result of a run (said below); the others cost memory or time alone.
published_settings() {
  local size=$1 method=$2 nodes=$3
  settings=(
    --preset "qwen2.5-$size-$method"
    --set "model.path='$MODEL'"
    --set "data.train='$DATA'"
    # Blocks, gradients and moments cut over all ranks.
    --set parallel.zero=3
    # Rounded stochastically: half the memory of f32.
    --set optimizer.moments=bf16
    # Half a master weight beside each parameter, which is the other half: the same bits as a whole one.
    --set optimizer.master=split
  )
  if [[ -n ${EVALUATION:-} ]]; then
    settings+=(--set "data.evaluation='$EVALUATION'" --set evaluation.every=4)
  fi
  if [[ -n ${OUTPUT:-} ]]; then
    settings+=(--set "output_directory='$OUTPUT'")
  fi
  case $size in
    7b) settings+=(--set rollout.rows=64) ;;
    32b)
      settings+=(--set rollout.rows=16 --set training.micro_batch_tokens=10240)
      if ((nodes == 1)); then
        # Not the published run: on one machine responses are cut at 2048 tokens and an optimiser step takes 16 prompts.
        settings+=(--set rollout.max_response_tokens=2048 --set data.max_prompt_tokens=1024)
        settings+=(--set algorithm.mini_batch_prompts=16 --set training.micro_batch_tokens=4096)
      fi
      ;;
  esac
}
