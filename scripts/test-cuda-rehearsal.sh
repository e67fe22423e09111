#!/usr/bin/env bash
# Rehearses CUDA without a GPU. Libraries are built from tests/cuda/ into target/cuda-rehearsal.
#
#   scripts/test-cuda-rehearsal.sh [emulated] [null]      both if none is given
#
# emulated  libtorch_cuda.so of our own: devices are memory of the host that the host cannot follow a pointer to, operators are the CPU's
#           after a device's checks, NCCL is Gloo, our kernels are compiled by the host's compiler. Runs must equal the CPU's.
# null      libtorch's own CUDA half on stubs of what it links to, made of the symbols that it asks for. Kernels are counted and compute
#           nothing; launches, copies and waits have budgets (tests/cuda/budgets.json), memory is compared with `plan`. NVRTC is NVIDIA's
#           (pip downloads 90 MB).
#
#           UPDATE_DOCS=1 writes its counts and the times modelled of them into docs/hardware.md.
#
# CUDA_REHEARSAL=DIR  where the libraries go (target/cuda-rehearsal)
# REHEARSED=PATTERN   only tests whose names have it
# LLM_TRAINER=PATH    the llm-trainer to test; built if not given, and so is LM_BENCH, the example
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

build_null() {
  local folder=$CUDA_REHEARSAL/null sources=crates/torch-ext/cuda
  mkdir -p "$folder"
  if newer "$folder/libcudart.so.13" tests/cuda/null/{runtime.cpp,stubs.py,notes.h}; then
    "${PYTHON:-python3}" tests/cuda/null/stubs.py "$LIBTORCH/lib" "$folder"
  fi
  if newer "$folder/libcuda.so.1" tests/cuda/null/{driver.cpp,notes.h}; then
    "${compiler[@]}" -shared -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1" tests/cuda/null/driver.cpp -ldl
  fi
  if newer "$folder/kernels.so" "$sources"/*; then
    # The kernels' files in the order of crates/torch-ext/src/kernels/source.rs, but for the emulation around them.
    (
      cat "$sources/emulation.h"
      sed -n 's/^ *file!("\(.*\.cu\)"),$/\1/p' crates/torch-ext/src/kernels/source.rs | sed "s|^|$sources/|" | xargs cat
      cat "$sources/emulation.cpp"
    ) >"$folder/kernels.cpp"
    "${compiler[@]}" -shared -fvisibility=hidden -ffp-contract=off -U_FORTIFY_SOURCE -o "$folder/kernels.so" "$folder/kernels.cpp"
  fi
  if newer "$folder/libnull_cuda.so" tests/cuda/null/{attention.cpp,operators.cpp,notes.h} tests/cuda/emulated/{attention.cpp,emulated.h}; then
    "${compiler[@]}" "${torch[@]}" -shared -o "$folder/libnull_cuda.so" tests/cuda/null/{attention,operators}.cpp "${linked[@]}" \
      -Wl,--no-as-needed -ltorch_cuda -Wl,--allow-shlib-undefined
  fi
  if newer "$folder/mistakes" tests/cuda/mistakes.cpp; then
    "${compiler[@]}" "${torch[@]}" -o "$folder/mistakes" tests/cuda/mistakes.cpp "${linked[@]}"
  fi
  if [[ ! -e $folder/nvidia/cu13/lib/libnvrtc.so.13 ]]; then
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --root-user-action=ignore \
      --only-binary=:all: --require-hashes --target "$folder" -r <(grep '^nvidia-cuda-nvrtc==' scripts/libtorch-cuda.txt)
  fi
  if [[ -z ${LM_BENCH:-} ]]; then
    "${CARGO:-cargo}" build --locked -p llm-trainer --example lm_bench
    LM_BENCH=${CARGO_TARGET_DIR:-target}/debug/examples/lm_bench
  fi
  LM_BENCH=$(realpath "$LM_BENCH")
  export LM_BENCH
}

if [[ -z ${LLM_TRAINER:-} ]]; then
  "${CARGO:-cargo}" build --locked -p llm-trainer --bin llm-trainer
  LLM_TRAINER=${CARGO_TARGET_DIR:-target}/debug/llm-trainer
fi
LLM_TRAINER=$(realpath "$LLM_TRAINER")
export LLM_TRAINER
(($# > 0)) || set -- emulated null
for rehearsal; do
  "build_$rehearsal"
  "${PYTHON:-python3}" "tests/cuda/test_$rehearsal.py" -v ${REHEARSED:+-k "$REHEARSED"}
done
