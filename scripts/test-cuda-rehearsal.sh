#!/usr/bin/env bash
# Rehearses CUDA without a GPU. Libraries are built from tests/cuda/ into target/cuda-rehearsal.
#
#   scripts/test-cuda-rehearsal.sh [emulated] [null]      both if none is given
#
# emulated  libtorch_cuda.so of our own: devices are memory of the host that the host cannot follow a pointer to, operators are the CPU's
#           after a device's checks, NCCL is Gloo, our kernels are compiled by the host's compiler. Runs must equal the CPU's.
#
# CUDA_REHEARSAL=DIR  where the libraries go (target/cuda-rehearsal)
# LLM_TRAINER=PATH    the llm-trainer to test; built if not given
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-libtorch.sh
export LIBTORCH="${LIBTORCH:-$PWD/.libtorch/torch}"
CUDA_REHEARSAL=$(realpath -m "${CUDA_REHEARSAL:-target/cuda-rehearsal}")
export CUDA_REHEARSAL
compiler=(nice "${CXX:-c++}" -std=c++17 -O1 -DNDEBUG -fPIC -w)
torch=(-I"$LIBTORCH/include" -I"$LIBTORCH/include/torch/csrc/api/include" -Icrates/torch-ext/cpp -DUSE_C10D_GLOO)
linked=(-L"$LIBTORCH/lib" -ltorch_cpu -lc10 -ldl)

# newer TARGET SOURCE… whether something must be built again.
newer() {
  local target=$1 source
  shift
  for source in "$@" scripts/test-cuda-rehearsal.sh; do
    [[ $target -nt $source ]] || return 0
  done
  return 1
}

build_emulated() {
  local folder=$CUDA_REHEARSAL/emulated source object objects=() rebuilt=
  mkdir -p "$folder/objects"
  for source in memory device operators attention collectives; do
    object=$folder/objects/$source.o
    objects+=("$object")
    if newer "$object" "tests/cuda/emulated/$source.cpp" tests/cuda/emulated/emulated.h; then
      "${compiler[@]}" "${torch[@]}" -c "tests/cuda/emulated/$source.cpp" -o "$object"
      rebuilt=yes
    fi
  done
  if [[ $rebuilt || ! -e $folder/libtorch_cuda.so ]]; then
    "${compiler[@]}" -shared -o "$folder/libtorch_cuda.so" "${objects[@]}" "${linked[@]}"
  fi
  if newer "$folder/libcuda.so.1" tests/cuda/emulated/driver.cpp; then
    "${compiler[@]}" -shared -o "$folder/libcuda.so.1" tests/cuda/emulated/driver.cpp -ldl
  fi
  ln -sf libcuda.so.1 "$folder/libnvrtc.so.13"
  if newer "$folder/mistakes" tests/cuda/mistakes.cpp; then
    "${compiler[@]}" "${torch[@]}" -o "$folder/mistakes" tests/cuda/mistakes.cpp "${linked[@]}"
  fi
}

if [[ -z ${LLM_TRAINER:-} ]]; then
  "${CARGO:-cargo}" build --locked -p llm-trainer --bin llm-trainer
  LLM_TRAINER=${CARGO_TARGET_DIR:-target}/debug/llm-trainer
fi
LLM_TRAINER=$(realpath "$LLM_TRAINER")
export LLM_TRAINER
for rehearsal in "${@:-emulated}"; do
  "build_$rehearsal"
  "${PYTHON:-python3}" "tests/cuda/test_$rehearsal.py" -v
done
