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
# The tests are of the CPU, on a machine with a GPU too.
export CUDA_VISIBLE_DEVICES=
# What a program prints is compared: it must not depend on whose shell this is.
export RUST_BACKTRACE=0
# A snapshot that differs must fail, not be written.
export INSTA_UPDATE=no
if [ -n "${LINT:-}" ]; then
  cargo fmt --all -- --check
  if command -v cargo-deny >/dev/null; then
    OFFLINE=1 scripts/check-dependencies.sh
  fi
  # Clippy compiles as rustc does: it looks at what is built for the tests anyway. `cargo clippy` and `cargo doc` would
  # compile every dependency once more.
  export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
  export RUSTDOC="$PWD/scripts/rustdoc-lints.sh"
  cargo test --workspace --locked --all-targets --no-run
fi
# Everything is compiled first, then the trainer's integration tests, which take longest, run beside all others: in both, many tests
# only wait, for a time-out or for a rank. The output of the others comes when the trainer's have ended.
cargo test --workspace --locked --tests --no-run
threads=${RUST_TEST_THREADS:-$(nproc)}
said=$(mktemp)
set -m # Its own process group, which an interrupted script can end.
{
  export RUST_TEST_THREADS=$((2 * threads))
  failed=0
  cargo test --workspace --locked --no-fail-fast --doc "$@" >"$said.doc" 2>&1 &
  cargo test --workspace --locked --no-fail-fast --lib --bins --test '[!t]*' "$@" || failed=1
  wait $! || failed=1
  cat "$said.doc"
  exit "$failed"
} </dev/null >"$said" 2>&1 &
others=$!
set +m
trap 'kill -- "-$others" 2>/dev/null || :; rm -f "$said" "$said.doc"' EXIT
failed=0
RUST_TEST_THREADS=$((4 * threads)) cargo test --workspace --locked --no-fail-fast --test 't*' "$@" || failed=1
wait "$others" || failed=1
cat "$said"
exit "$failed"
