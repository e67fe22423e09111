#!/usr/bin/env bash
# Checks every crate of Cargo.lock by deny.toml: licences, sources, duplicates, and advisories of RustSec where the network is there.
# Takes `cargo deny` as it is installed (`cargo install --locked cargo-deny`).
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v cargo-deny >/dev/null; then
  echo "check-dependencies: cargo-deny is not installed: cargo install --locked cargo-deny" >&2
  exit 2
fi
cargo deny --offline check licenses bans sources
[ "${OFFLINE:-0}" = 1 ] || cargo deny check advisories
