#!/usr/bin/env bash
# A published run of arXiv:2505.22617 on several GPUs, one process a GPU, started by llm-trainer launch.
# Called by train-7b.sh and train-32b.sh:
#
#   scripts/train-published.sh SIZE METHOD [NODES] [-- ARGUMENT…]
#
# SIZE      7b or 32b
# METHOD    grpo, clip-higher, clip-cov or kl-cov
# NODES     machines; 1 if not given. Run the same command on each of them, with its NODE_RANK
# ARGUMENT  handed to llm-trainer train, after what is set here
#
# MODEL=DIR         Hugging Face directory of Qwen2.5-7B or Qwen2.5-32B (needed)
# DATA=FILE         questions to train on, .jsonl, .jsonl.zst, .json, .csv or .parquet (needed)
# EVALUATION=FILE   questions to evaluate on every 4 steps
# GPUS=8            GPUs of a machine
# GPU=h100          plan for this GPU: h200, h100 or a100 (that of this machine)
# GPU_MEMORY=80GB   plan for this memory of one (the GPU's)
# RENDEZVOUS=HOST:PORT   of the first machine; needed for several
# NODE_RANK=0       which of several machines this is; not needed with torchrun
# LAUNCHER=torchrun start by torchrun in place of llm-trainer launch: after a failure it starts the ranks again
# LLM_TRAINER=PATH  the program; target/release/llm-trainer, or that on the PATH
# OUTPUT=DIR        folder of the run, one that all machines see (runs/NAME)
# DRY_RUN=1         prints the command and does not run it
# PLAN=1            prints what the run needs, as llm-trainer train --dry-run says, and does not run it
set -euo pipefail

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}

size=${1-}
method=${2-}
[[ $size == 7b || $size == 32b ]] || usage
case $method in
  grpo | clip-higher | clip-cov | kl-cov) ;;
  *) usage ;;
esac
shift 2
nodes=1
if [[ ${1-} =~ ^[1-9][0-9]*$ ]]; then
  nodes=$1
  shift
fi
[[ ${1-} != -- ]] || shift

: "${MODEL:?is not set: give MODEL=DIR, a Hugging Face directory}"
: "${DATA:?is not set: give DATA=FILE, questions to train on}"
gpus=${GPUS:-8}
trainer=${LLM_TRAINER:-}
if [[ -z $trainer ]]; then
  trainer=$(dirname "${BASH_SOURCE[0]}")/../target/release/llm-trainer
  [[ -x $trainer ]] || trainer=llm-trainer
fi

# shellcheck source=scripts/published-settings.sh
source "$(dirname "${BASH_SOURCE[0]}")/published-settings.sh"
published_settings "$trainer" "$size" "$method" "$nodes" "$gpus" "$@"
arguments=(train "${settings[@]}" --resume auto "$@")

if [[ ${PLAN:-0} == 1 ]]; then
  plan=(--dry-run --ranks $((nodes * gpus)) --ranks-per-node "$gpus")
  exec "$trainer" "${arguments[@]}" "${plan[@]}" ${GPU:+--gpu "$GPU"} ${GPU_MEMORY:+--gpu-memory "$GPU_MEMORY"}
fi

if ((nodes > 1)); then
  : "${RENDEZVOUS:?is not set: give RENDEZVOUS=HOST:PORT of the first of $nodes machines}"
fi
case ${LAUNCHER:-launch} in
  launch)
    launch=("$trainer" launch -n "$gpus")
    if ((nodes > 1)); then
      : "${NODE_RANK:?is not set: give NODE_RANK, 0 on the first of $nodes machines}"
      launch+=(--nnodes "$nodes" --node-rank "$NODE_RANK")
      launch+=(--master-addr "${RENDEZVOUS%:*}" --master-port "${RENDEZVOUS##*:}")
    fi
    launch+=(--)
    ;;
  torchrun)
    launch=(torchrun --nnodes "$nodes" --nproc-per-node "$gpus" --max-restarts 3)
    if ((nodes > 1)); then
      launch+=(--rdzv-backend c10d --rdzv-endpoint "$RENDEZVOUS" --rdzv-id "qwen2.5-$size-$method")
    else
      launch+=(--standalone)
    fi
    launch+=(--no-python)
    ;;
  *)
    echo "LAUNCHER is $LAUNCHER, expected launch or torchrun" >&2
    exit 2
    ;;
esac
command=("${launch[@]}" "$trainer" "${arguments[@]}")
if [[ ${DRY_RUN:-0} == 1 ]]; then
  printf '%q ' "${command[@]}"
  echo
  exit
fi
exec "${command[@]}"
