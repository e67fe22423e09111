#!/usr/bin/env bash
# Runs every test of the workspace. libtorch must be set up (`make test` sees to it).
# With LINT=1 (`make check`) formatting, clippy and rustdoc are held too, in the same build.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo fetch --locked --offline --target x86_64-unknown-linux-gnu >/dev/null 2>&1; then
  echo "crates: downloading the Rust dependencies from crates.io (about 42 MB)"
fi
# One OpenMP thread: cargo runs tests in parallel threads already, and teams of spinning threads starve each other.
export OMP_NUM_THREADS=1
# Twice as many tests at a time as processors: some only wait, for a time-out or for a rank.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}
# The tests are of the CPU, on a machine with a GPU too.
export CUDA_VISIBLE_DEVICES=
# What a program prints is compared: it must not depend on whose shell this is.
export RUST_BACKTRACE=0
# A snapshot that differs must fail, not be written.
export INSTA_UPDATE=no
if [ -n "${LINT:-}" ]; then
  cargo fmt --all -- --check
  # Clippy compiles as rustc does: it looks at what is built for the tests anyway. `cargo clippy` and `cargo doc` would
  # compile every dependency once more.
  export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
  export RUSTDOC="$PWD/scripts/rustdoc-lints.sh"
  cargo test --workspace --locked --all-targets --no-run
fi
# Everything is compiled first, then two halves run beside each other, as in either tests wait for time-outs. What the first half
# says comes when the second has ended.
cargo test --workspace --locked --tests --no-run
said=$(mktemp)
set -m # Its own process group, which an interrupted script can end.
{
  cargo test --workspace --locked --no-fail-fast --lib --bins "$@"
  cargo test --workspace --locked --no-fail-fast --doc "$@"
} </dev/null >"$said" 2>&1 &
half=$!
set +m
trap 'kill -- "-$half" 2>/dev/null; rm -f "$said"' EXIT
failed=0
cargo test --workspace --locked --no-fail-fast --test '*' "$@" || failed=1
wait "$half" || failed=1
cat "$said"
exit "$failed"
