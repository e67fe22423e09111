#!/usr/bin/env bash
# Puts libtorch 2.11.0 into .libtorch/ (from the PyPI wheel of torch; no Python code of it is ever run), and on a machine
# with an NVIDIA GPU the CUDA libraries that it needs there. Fetches only what is missing, and checks it by its hash.
#
#   CUDA=1      with the CUDA libraries, CUDA=0 without [with them where a device or a driver of NVIDIA is found]
#   PYTHON=P    the Python whose pip downloads [python3]
#   LIBTORCH=D  takes that libtorch and fetches nothing
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.11.0
# For tests: another folder to look for NVIDIA's files in.
root=${LLM_TRAINER_NVIDIA_ROOT:-}

# prints what tells that this is a machine with a GPU; crates/ranks/src/device/machine.rs looks at the same files
nvidia() {
  local path
  for path in dev/nvidia0 dev/nvidiactl proc/driver/nvidia/version usr/lib/x86_64-linux-gnu/libcuda.so.1 \
    usr/lib64/libcuda.so.1 usr/lib/wsl/lib/libcuda.so.1; do
    if [ -e "$root/$path" ]; then
      echo "/$path"
      return
    fi
  done
  if [ -z "$root" ] && nvidia-smi -L 2>/dev/null | grep '^GPU' >/dev/null; then
    echo nvidia-smi
  fi
}

# The wheels of a list, `NAME==VERSION` each, of which .libtorch/ does not hold the last file that is put there.
missing() {
  local wheel name
  while read -r wheel _; do
    name=${wheel%%==*}
    [ -e ".libtorch/${name//-/_}-${wheel##*==}.dist-info/RECORD" ] || echo "$wheel"
  done < <(grep '==' "$1")
}

# The lines of the lists for the given wheels, each with the comment above it.
lines_of() {
  local wheel
  for wheel in "$@"; do
    grep -h -B 1 "^$wheel " scripts/libtorch-cpu.txt scripts/libtorch-cuda.txt
  done
}

if [ -n "${LIBTORCH:-}" ] && [ "$LIBTORCH" != "$PWD/.libtorch/torch" ]; then
  if [ ! -e "$LIBTORCH/lib/libtorch_cpu.so" ]; then
    echo "error: LIBTORCH is $LIBTORCH, but $LIBTORCH/lib/libtorch_cpu.so does not exist" >&2
    exit 2
  fi
  echo "libtorch: yours, $LIBTORCH"
  exit 0
fi

case ${CUDA:-} in
  1) because="CUDA is 1" ;;
  0) because= ;;
  "") because=$(nvidia) && because=${because:+"$because is here"} ;;
  *)
    echo "error: CUDA is $CUDA, expected 1 or 0" >&2
    exit 2
    ;;
esac
what="$version"
lists=(scripts/libtorch-cpu.txt)
if [ -n "$because" ]; then
  what="$version with CUDA's libraries"
  lists+=(scripts/libtorch-cuda.txt)
fi
mapfile -t wheels < <(for list in "${lists[@]}"; do missing "$list"; done)
if [ ${#wheels[@]} -eq 0 ]; then
  echo "libtorch: $what, in .libtorch/"
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
sizes=$(lines_of "${wheels[@]}" | awk '/ MB on disk/ { download += $2; disk += $4 } END { print download " MB, " disk " MB on disk" }')
echo "libtorch: downloading from PyPI ($sizes) into .libtorch/: ${wheels[*]}"
if [ -n "$because" ]; then
  echo "libtorch: with CUDA's libraries, as $because; CUDA=0 leaves them out"
fi

# In .libtorch/, so that what has arrived needs no copy.
temporary=.libtorch/.tmp.$$
trap 'rm -rf "$temporary"' EXIT
mkdir -p "$temporary"
lines_of "${wheels[@]}" >"$temporary/wheels.txt"
if ! "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary=:all: --require-hashes \
  --root-user-action=ignore --python-version 3.12 --implementation cp --abi cp312 --abi abi3 --abi none \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
  --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
  --platform manylinux2010_x86_64 --target "$temporary/site" -r "$temporary/wheels.txt" 2>"$temporary/log"; then
  cat "$temporary/log" >&2
  echo "error: pip could not fetch ${wheels[*]}; set LIBTORCH to a libtorch $version of your own" >&2
  exit 2
fi
# What says that a wheel is there comes last: a script that is ended before fetches the wheel again.
find "$temporary/site" -mindepth 1 -maxdepth 1 ! -name '*.dist-info' -exec cp -alf {} .libtorch/ \;
for folder in "$temporary/site"/*.dist-info; do
  rm -rf ".libtorch/${folder##*/}"
  mv "$folder" .libtorch/
done
if [ ! -e .libtorch/torch/lib/libtorch_cpu.so ] || [ -n "$(for list in "${lists[@]}"; do missing "$list"; done)" ]; then
  echo "error: the wheels did not hold the expected libraries" >&2
  exit 2
fi
echo "libtorch: $what, in .libtorch/"
