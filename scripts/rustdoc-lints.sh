#!/usr/bin/env bash
# rustdoc for `cargo test --doc` that also builds the crate's pages, and fails on their warnings. `cargo doc` would compile
# every dependency a second time for it.
set -euo pipefail
if [[ " $* " == *" --test "* ]]; then
  pages=()
  while [ $# -gt 0 ]; do
    case $1 in
      --test | --no-run) shift ;;
      --test-run-directory | --test-args | --test-builder | --test-runtool) shift 2 ;;
      *) pages+=("$1"); shift ;;
    esac
  done
  rustdoc "${pages[@]}" --out-dir "${CARGO_TARGET_DIR:-$(dirname "$0")/../target}/doc-lints" -D warnings
  exit
fi
exec rustdoc "$@"
