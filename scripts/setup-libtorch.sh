#!/usr/bin/env bash
# Puts libtorch 2.11.0 into .libtorch/ (from the PyPI wheel of torch; no Python code of it is ever run).
# Does nothing if it is there already, or if LIBTORCH names one of your own.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.11.0
complete() {
  [ -e .libtorch/torch/lib/libtorch_cpu.so ] && [ -e .libtorch/nvidia/cu13/lib/libcupti.so.13 ]
}

if [ -n "${LIBTORCH:-}" ] && [ "$LIBTORCH" != "$PWD/.libtorch/torch" ]; then
  if [ ! -e "$LIBTORCH/lib/libtorch_cpu.so" ]; then
    echo "error: LIBTORCH is $LIBTORCH, but $LIBTORCH/lib/libtorch_cpu.so does not exist" >&2
    exit 2
  fi
  echo "libtorch: yours, $LIBTORCH"
  exit 0
fi
if complete; then
  echo "libtorch: $version, in .libtorch/"
  exit 0
fi
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "error: no libtorch wheel for $(uname -sm) is known to this script; set LIBTORCH to a libtorch $version of your own" >&2
  exit 2
fi
python=${PYTHON:-python3}
if ! "$python" -m pip --version >/dev/null 2>&1; then
  echo "error: '$python -m pip' does not run; install Python 3 with pip (apt-get install python3-pip), or set LIBTORCH" >&2
  exit 2
fi

echo "libtorch: downloading $version from PyPI (543 MB: torch 531 MB, CUDA runtime 2 MB, CUPTI 11 MB; 1.2 GB on disk) into .libtorch/"
temporary=.libtorch.tmp.$$
trap 'rm -rf "$temporary"' EXIT
# The C++ libraries are the same in every wheel: where this Python has no torch of its own, CPython 3.12's serves.
install() {
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: \
    --root-user-action=ignore --target "$temporary" "$@" \
    "torch==$version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
}
if ! install 2>"$temporary.log"; then
  rm -rf "$temporary"
  if ! install --python-version 3.12 --implementation cp --abi cp312 \
    --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 2>>"$temporary.log"; then
    cat "$temporary.log" >&2
    rm -f "$temporary.log"
    echo "error: pip could not fetch torch==$version; set LIBTORCH to a libtorch $version of your own" >&2
    exit 2
  fi
fi
rm -f "$temporary.log"
rm -rf .libtorch
mv "$temporary" .libtorch
complete || { echo "error: the wheels did not hold the expected libraries" >&2; exit 2; }
echo "libtorch: $version, in .libtorch/"
