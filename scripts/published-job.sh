# shellcheck shell=bash
# The job of train-7b.sbatch and train-32b.sbatch, sourced by them in the repository's folder.
# shellcheck source=scripts/published-settings.sh
source "$(dirname "${BASH_SOURCE[0]}")/published-settings.sh"

# published_job SIZE runs METHOD on the machines of this job.
published_job() {
  local size=$1 nodes=${SLURM_JOB_NUM_NODES:-4} trainer=${LLM_TRAINER:-target/release/llm-trainer}
  : "${MODEL:?is not set: give MODEL=DIR, a Hugging Face directory}"
  : "${DATA:?is not set: give DATA=FILE, questions to train on}"
  local settings=()
  published_settings "$size" "${METHOD:-kl-cov}" "$nodes"
  local command=(srun --kill-on-bad-exit=1 "$trainer" train "${settings[@]}" --resume auto)
  # Saves and ends before Slurm ends the job.
  if [[ -n ${SLURM_JOB_END_TIME:-} ]]; then
    command+=(--deadline "@$SLURM_JOB_END_TIME")
  fi
  if [[ ${DRY_RUN:-0} == 1 ]]; then
    printf '%q ' "${command[@]}"
    echo
    return
  fi
  "${command[@]}"
}
