# shellcheck shell=bash
# The job of train-7b.sbatch and train-32b.sbatch, sourced by them in the repository's folder.
# shellcheck source=scripts/published-settings.sh
source "$(dirname "${BASH_SOURCE[0]}")/published-settings.sh"

# job_end prints when this job ends, in seconds since 1970; nothing where it may run for ever. Older versions of Slurm, 22.05
# for one, tell no SLURM_JOB_END_TIME.
job_end() {
  if [[ -n ${SLURM_JOB_END_TIME:-} ]]; then
    echo "$SLURM_JOB_END_TIME"
  elif [[ -n ${SLURM_JOB_ID:-} ]]; then
    local end
    end=$(squeue --noheader --jobs "$SLURM_JOB_ID" --format %e || true)
    if [[ $end == ????-??-??T* ]]; then
      date --date "$end" +%s
    fi
  fi
}

# published_job SIZE runs METHOD on the machines of this job.
published_job() {
  local size=$1 nodes=${SLURM_JOB_NUM_NODES:-4} trainer=${LLM_TRAINER:-target/release/llm-trainer}
  : "${MODEL:?is not set: give MODEL=DIR, a Hugging Face directory}"
  : "${DATA:?is not set: give DATA=FILE, questions to train on}"
  local settings=()
  published_settings "$trainer" "$size" "${METHOD:-kl-cov}" "$nodes" 8
  local command=(srun --kill-on-bad-exit=1 "$trainer" train "${settings[@]}" --resume auto)
  # Saves and ends before Slurm ends the job.
  local end
  end=$(job_end)
  if [[ -n $end ]]; then
    command+=(--deadline "@$end")
  fi
  if [[ ${DRY_RUN:-0} == 1 ]]; then
    printf '%q ' "${command[@]}"
    echo
    return
  fi
  "${command[@]}"
}
