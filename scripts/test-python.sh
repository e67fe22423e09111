#!/usr/bin/env bash
# Builds the wheel of crates/python, installs it in a fresh environment outside the tree, and tests it there.
# PYTHON names the interpreter (default python3, 3.9 or newer; 3.10 for the trainers); TORCH=1 installs torch too, for the
# tests that use it; TRAINERS=1 also the trainers that there are adapters for, verl in an environment of its own, several GB.
# Downloads maturin, numpy, pytest, mypy and what runs the notebook from PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
bin="$folder/venv/bin"
echo "pip: installing maturin, numpy, pytest, mypy and nbclient into $folder/venv"
"$bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' numpy pytest mypy nbclient ipykernel \
  matplotlib ${TORCH:+torch} \
  ${TRAINERS:+torch trl tinker}
"$bin/maturin" build --quiet -m crates/python/Cargo.toml --interpreter "$bin/python" --out "$folder/wheels"
wheel="$(ls "$folder"/wheels/entropy_rl-*.whl)"
"$bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"

echo "wheel: $(basename "$wheel")"
case "$wheel" in *-cp39-abi3-*) ;; *) echo "error: $wheel is not for the stable interface of 3.9" >&2; exit 1 ;; esac
version="$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)"
case "$wheel" in *entropy_rl-"$version"-*) ;; *) echo "error: $wheel has not the version $version of Cargo.toml" >&2; exit 1 ;; esac
# Read to its end: `grep -q` would leave the listing with a broken pipe.
"$bin/python" -m zipfile -l "$wheel" | grep 'entropy_rl/py.typed' > /dev/null || { echo "error: no py.typed in $wheel" >&2; exit 1; }

tests="$PWD/crates/python/tests"
# Outside the tree, so that only the installed package is found.
cd "$folder"
"$bin/python" -m pytest -q -rs -p no:cacheprovider "$tests"
"$bin/mypy" --strict --cache-dir "$folder/mypy" "$tests/typed.py"
"$bin/stubtest" entropy_rl._native
[ -n "${TRAINERS:-}" ] || exit 0

# Of its own: it asks for other versions of the same packages.
"$python" -m venv "$folder/verl"
echo "pip: installing verl into $folder/verl"
"$folder/verl/bin/pip" install --quiet --disable-pip-version-check 'verl>=0.9.1' pytest
"$folder/verl/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
"$folder/verl/bin/python" -m pytest -q -rs -p no:cacheprovider "$tests/test_verl.py"
