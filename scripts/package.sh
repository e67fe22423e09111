#!/usr/bin/env bash
# Packs what a release publishes and checks it; publishes nothing. Crates go to target/package/, the Python source to target/package/python/.
# PYTHON names an interpreter with maturin and twine (default python3); OFFLINE=1 asks no registry; ALLOW_DIRTY=1 packs what is not committed.
# Then a maintainer runs the two commands that it prints, with accounts of both registries.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
# Each after what it depends on.
crates=(entropy-core rl-losses command-pages reward-math entropy-messages whole-file entropy-figures softmax-sim)
chosen=()
for crate in "${crates[@]}"; do chosen+=(-p "$crate"); done
"${CARGO:-cargo}" package --locked --no-verify ${OFFLINE:+--offline} ${ALLOW_DIRTY:+--allow-dirty} "${chosen[@]}"
out=target/package/python
rm -rf "$out"
"$python" -m maturin sdist -m crates/python/Cargo.toml --out "$out"
"$python" -m twine check --strict "$out"/*
echo "to publish: cargo publish --locked ${chosen[*]}"
echo "            $python -m twine upload $out/* and the wheels"
