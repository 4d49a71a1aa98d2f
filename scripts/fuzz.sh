#!/bin/bash
# Feeds the readers and the JSON door with mutated input under the address and undefined behaviour
# sanitizers. What was found lies in build/fuzz/found; the corpus grows from run to run.
# usage: fuzz.sh [SECONDS]      (default: 60, shared by the three doors)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: fuzz.sh [SECONDS]" >&2; exit 64; }
ROOT=build/fuzz/run
FOUND=build/fuzz/found
doors=(config setup call)

mkdir -p "$ROOT" "$FOUND"
{ cmake --preset fuzz && cmake --build --preset fuzz -j "$(nproc)"; } >"$ROOT/build.log" 2>&1 ||
  { tail -40 "$ROOT/build.log" | cut -c1-300 >&2; exit 1; }
python3 tests/fuzz/make_seeds.py "$ROOT/seeds" || exit 1

statistic() { sed -nE "s/^stat::$1: *([0-9]+)/\1/p" "$2" | tail -1; }
each=$(((seconds + ${#doors[@]} - 1) / ${#doors[@]}))
failed=0
for door in "${doors[@]}"; do
  corpus=$ROOT/corpus-$door log=$ROOT/$door.log rc=0
  mkdir -p "$corpus"
  # In the project's root a sanitizer's report shows the sources' own paths.
  build/fuzz/tests/fuzz/"fuzz_$door" "$corpus" "$ROOT/seeds/$door" -dict="$ROOT/seeds/words.dict" \
    -max_total_time="$each" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -use_value_profile=1 \
    -artifact_prefix="$FOUND/$door-" -print_final_stats=1 >"$log" 2>&1 || rc=$?
  runs=$(statistic number_of_executed_units "$log")
  printf '%-7s %9s executions in %s s, %s inputs kept' "$door" "${runs:-0}" "$each" \
    "$(find "$corpus" -type f | wc -l)"
  if [ $rc = 0 ] && [ "${runs:-0}" -gt 0 ]; then
    echo ": nothing found"
    continue
  fi
  failed=1
  echo ": FAILED (exit $rc)"
  grep -aE '^broken:|^got:|ERROR:|runtime error|SUMMARY|Test unit written' "$log" | cut -c1-400
done
exit $failed
