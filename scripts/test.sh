#!/bin/bash
# Sets up and runs every test: native, sanitizers, fuzzers, wasm, page, source rules. Prints a time per step and
# ends with totals; exits with 1 if anything failed. Whole run: minutes; objects stay in ccache.
# usage: test.sh [--no-setup]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TOOLS=${PEAKLINE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/peakline-tools}
LOGS=build/test-logs
mkdir -p "$LOGS"
jobs=$(nproc)
total=0 failed=0 table=()

# Adds up what ctest ("0 tests failed out of 12") and node --test ("# tests 12") said.
count_tests() { # log
  local n bad
  while read -r bad n; do
    total=$((total + n)) failed=$((failed + bad))
  done < <(sed -nE 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$1")
}

# show: the whole log is worth reading. quiet: only a failure is.
step() { # name show|quiet command...
  local name=$1 mode=$2 log start=$SECONDS rc=0 result=ok
  shift 2
  log=$LOGS/${name// /-}.log
  echo "== $name"
  "$@" >"$log" 2>&1 || rc=$?
  local failed_before=$failed
  count_tests "$log"
  if [ $rc != 0 ]; then
    result="FAILED (exit $rc)"
    [ "$failed" != "$failed_before" ] || { total=$((total + 1)) failed=$((failed + 1)); }
    [ "$mode" = show ] || tail -60 "$log" | cut -c1-300
  fi
  [ "$mode" != show ] || cut -c1-300 "$log"
  table+=("$(printf '%-28s %5s s  %s' "$name" $((SECONDS - start)) "$result")")
  echo "== $name: $result, $((SECONDS - start)) s"
  return $rc
}

build() { # preset targets...
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}
}
build_wasm() { # the toolchain's environment must not leak into native builds
  # shellcheck disable=SC1091
  (. "$TOOLS/wasm-env.sh" && build wasm)
}
same_tree() { # tests leave the tree as they found it
  git status --porcelain | diff "$LOGS/tree-before" - && echo "the tree is as it was"
}

if [ "${1:-}" != --no-setup ]; then
  step setup show bash scripts/setup.sh || { echo "set-up failed, nothing was tested"; exit 1; }
fi
git status --porcelain >"$LOGS/tree-before" 2>/dev/null

step format show bash scripts/format.sh --check
if step "wasm build" quiet build_wasm; then
  step "wasm tests" show ctest --preset wasm
fi
if step "dev build" quiet build dev; then
  step "dev tests" show ctest --preset dev -j "$jobs"
fi
# The replies compared with the module's run whole training steps through the sanitizers.
if step "asan build" quiet build asan unit_tests error_tests call_core; then
  step "asan tests" quiet ctest --preset asan -L 'unit|errors|wasm' -j "$jobs"
fi
step "fuzzing, a taste" show bash scripts/fuzz.sh 6
step "run and fetch the page" show bash scripts/run.sh --check
step "clean tree" show same_tree

echo
printf '%s\n' "${table[@]}"
echo
echo "$((total ? (total - failed) * 100 / total : 0))% tests passed, $failed tests failed out of $total"
echo
echo "Total Test time (real) = $SECONDS sec"
[ "$failed" = 0 ] && [ "$total" -gt 0 ]
