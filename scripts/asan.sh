#!/usr/bin/env bash
# torch-ext, its C++ half and its tests under AddressSanitizer: scripts/asan.sh [ARGUMENT of cargo test…]
# The C++ half and torch-sys are compiled by the C++ compiler with -fsanitize=address, the Rust by rustc's own sanitizer, whose run
# time both use. That option of rustc is a nightly one: a nightly toolchain is needed, of which nothing else is built.
#
# TOOLCHAIN=nightly   the toolchain
#
# libtorch itself is not instrumented: what it does to its own memory is not seen, but all that it allocates is watched where the
# instrumented halves touch it. Leaks are not looked for, as libtorch frees its registries never.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=x86_64-unknown-linux-gnu
toolchain=${TOOLCHAIN:-nightly}
if ! rustc "+$toolchain" --version >/dev/null 2>&1; then
  echo "error: there is no toolchain \`$toolchain\`, expected one that knows -Zsanitizer: rustup toolchain install nightly" >&2
  exit 2
fi
# With --target, build scripts and procedural macros are built without these flags.
export "CXXFLAGS_${target//-/_}=-fsanitize=address -fno-omit-frame-pointer -g1"
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/asan
export ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=0
export OMP_NUM_THREADS=1
exec "${CARGO:-cargo}" "+$toolchain" test --package torch-ext --target "$target" --lib --tests "$@"
