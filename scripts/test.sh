#!/usr/bin/env bash
# Everything that has to hold: format, lints, all tests with the real OpenCode among them, docs.
# The last line is the number of tests that passed.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$1"; }

step "Prerequisites"
scripts/need-cc.sh
for tool in cargo node npm git; do
    command -v "$tool" >/dev/null || { echo "$tool is needed and was not found" >&2; exit 1; }
done
for packages in integrations/opencode integrations/exports integrations/http web; do
    (cd "$packages" && npm ci --no-audit --no-fund --loglevel=error)
done
export CALLSTACK_REQUIRE_SPEEDSCOPE=1
# A test that skips for want of OpenCode is a failure here: it has just been installed.
export CALLSTACK_REQUIRE_OPENCODE=1
# The same cases of every property at each run, so that a change is what fails here. `cargo nextest run` alone
# draws new ones.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}

step "Format"
cargo fmt --all -- --check

step "Lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0

step "Plugin"
(cd integrations/opencode && npm run --silent check && npm test --silent) | tee "$log"
plugin=$(sed -n 's/^# pass \([0-9]*\)$/\1/p; s/^ℹ pass \([0-9]*\)$/\1/p' "$log" | tail -n 1)
[ "${plugin:-0}" -gt 0 ] || { echo "no test of the plugin ran" >&2; exit 1; }
passed=$((passed + plugin))

step "Tests"
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --locked 2>&1 | tee "$log"
    ran=$(sed -n 's/.*tests run: \([0-9]*\) passed.*/\1/p' "$log" | tail -n 1)
else
    cargo test --workspace --locked --lib --bins --tests 2>&1 | tee "$log"
    ran=$(awk '/^test result:/ { sum += $4 } END { print sum + 0 }' "$log")
fi
[ "${ran:-0}" -gt 0 ] || { echo "no test ran" >&2; exit 1; }
passed=$((passed + ran))

step "Page"
(cd web && npm run --silent check && npm run --silent build -- --check)
(cd web && npm test --silent) | tee "$log"
# Without a Chromium on this computer none runs, and it says so.
ran=$(sed -n 's/^ *\([0-9]*\) passed.*/\1/p' "$log" | tail -n 1)
passed=$((passed + ${ran:-0}))

step "Examples in docs"
cargo test --workspace --locked --doc --quiet

step "Docs"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

printf '\n%s passed, 0 failed\n' "$passed"
