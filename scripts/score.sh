#!/bin/bash
# Measures what the project promises and prints it as one table; exits with 1 if a target is missed.
# --docs also writes the table, its date and the sample answers into README.md and docs/accuracy.md.
# Times mean something on a quiet machine only: --wait waits up to 20 minutes for one, and --docs writes
# no times of a busy one unless that wait was in vain.
# usage: score.sh [--docs] [--wait] [--no-build]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TOOLS=${PEAKLINE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/peakline-tools}
BUILD=${PEAKLINE_SCORE_BUILD:-build/score}
QUIET=1.5 # load average above which a time is not to be trusted
CONFIG=tests/bench/data/decoder_32_layers.json
WANTED=(tinyllama-full-simplest qwen3-0.6b-full-ckpt qwen2.5-0.5b-full-foreach
  qwen3-0.6b-full-fp32master-accum2 llama3.2-3b-lora-all tinyllama-lora-liger mistral7b-qlora-ckpt)
docs= wait= build=yes waited_in_vain= noisy=
for word in "$@"; do
  case $word in
    --docs) docs=yes ;;
    --wait) wait=yes ;;
    --no-build) build= ;;
    *) echo "usage: score.sh [--docs] [--wait] [--no-build]" >&2; exit 64 ;;
  esac
done
export PEAKLINE_SHARED=${PEAKLINE_SHARED:-../shared}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '[score %4ss] %s\n' "$SECONDS" "$*" >&2; }
stop() { echo "$*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { tail -40 "$work/log" | cut -c1-300 >&2; return 1; }; }

# release's flags with the tests built; a folder of its own, so that build/release stays without them.
build_native() {
  cmake --preset release -B "$BUILD" -DPEAKLINE_DEVELOPER=ON &&
    cmake --build "$BUILD" -j "$(nproc)" \
      --target peakline accuracy event_equality outcomes speed error_tests
}
build_wasm() {
  # shellcheck disable=SC1091
  (. "$TOOLS/wasm-env.sh" && cmake --preset wasm && cmake --build --preset wasm -j "$(nproc)" --target peakline_wasm)
}

load() { cut -d' ' -f1 /proc/loadavg; }
below() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a <= b)}'; }
await_quiet() {
  local i
  for i in $(seq 120); do
    below "$(load)" $QUIET && return 0
    [ "$((i % 12))" = 1 ] && say "load $(load), waiting for less than $QUIET"
    sleep 10
  done
  say "still busy"
  waited_in_vain=yes
}
# Times of a busy machine are printed, and written only after a wait that found no better one.
may_write() { below "$(load)" $QUIET || [ -n "$waited_in_vain" ]; }
busy() { stop "load $(load) is above $QUIET: --docs writes no times of a busy machine; try later, or with --wait"; }

table=() missed=0 skipped=0
row() { # check | target | measured, then met, missed or SKIPPED
  table+=("| $1 | $2 | $3 | $4 |")
  case $4 in
    missed) missed=$((missed + 1)) ;;
    SKIPPED) skipped=$((skipped + 1)) ;;
  esac
}
met() { if "$@"; then echo met; else echo missed; fi; }

score_timelines() {
  local name equal=0 events=0 n all verdict
  local check
  check="timelines $(printf '%s, ' "${WANTED[@]}" | sed 's/, $//')"
  "$BUILD/tests/bench/event_equality" >"$work/timelines" ||
    say "a timeline differs: $(grep -m1 DIFFERS "$work/timelines")"
  for name in "${WANTED[@]}"; do
    n=$(sed -nE "s/^$name +event-equal, ([0-9]+) events$/\1/p" "$work/timelines")
    if [ -n "$n" ]; then equal=$((equal + 1)) events=$((events + n)); fi
  done
  all=$(grep -c 'event-equal,' "$work/timelines")
  verdict=$(met [ $equal = ${#WANTED[@]} ])
  if grep -q ^SKIPPED "$work/timelines"; then verdict=SKIPPED; fi
  if grep -q DIFFERS "$work/timelines"; then verdict=missed; fi
  row "$check" event-equal "$equal of ${#WANTED[@]}, $events events; $((all - equal)) others" "$verdict"
}

score_accuracy() {
  local check='`tensor_peak_bytes` against `peak_allocated`, recorded rows of these shapes and settings'
  local target='median <= 0.1 %, p95 <= 1 %, never under by more than 1 %' line
  if [ ! -f "$PEAKLINE_SHARED/data/truth.jsonl" ]; then
    row "$check" "$target" "no recorded rows here: set PEAKLINE_SHARED" SKIPPED
    return
  fi
  line=$("$BUILD/tests/bench/accuracy" --brief)
  row "$check" "$target" "$line" "$(met [ $? = 0 ])"
}

score_outcomes() {
  local line
  line=$("$BUILD/tests/bench/outcomes" --brief)
  row "12 runs at the edge of a T4" "no false \"fits\", at most 1 false \"does not fit\", at most 4 \"too close\"" \
    "$line" "$(met [ $? = 0 ])"
}

slowest() { sed -nE 's/^slowest median ([0-9.]+) ms$/\1/p' "$1"; }
fit_times() { # median wall time of 20 answers from a local file, in ms
  local i begin
  for i in $(seq 22); do
    begin=$EPOCHREALTIME
    "$BUILD/agent/peakline" fit $CONFIG --gpu "A100 80GB" --method qlora --ckpt --max-length 2048 >/dev/null
    [ $? -le 2 ] || stop "peakline fit failed"
    echo "$begin $EPOCHREALTIME"
  done | tail -20 | awk '{printf "%.2f\n", ($2 - $1) * 1000}' | sort -n | sed -n 10p
}
score_speed() {
  local native without wasm cli note=
  "$BUILD/tests/bench/speed" >"$work/native" || stop "speed failed: $(cat "$work/native")"
  node tests/bench/speed.mjs >"$work/wasm" || stop "speed.mjs failed: $(cat "$work/wasm")"
  cli=$(fit_times)
  [ -n "$cli" ] || stop "no times of peakline fit"
  native=$(slowest "$work/native") wasm=$(slowest "$work/wasm")
  without=$(sed -nE 's/^slowest median without replay ([0-9.]+) ms$/\1/p' "$work/native")
  cat "$work/native" "$work/wasm" >&2
  below "$(load)" $QUIET || noisy=yes note=" (load $(load): not a quiet machine)"
  row "full report, 32 layers, native" "<= 6 ms" "$native ms$note" "$(met below "$native" 6)"
  row "the same without the allocator's replay" "<= 4 ms" "$without ms$note" "$(met below "$without" 4)"
  row "full report, 32 layers, wasm in Node $(node --version)" "<= 15 ms" "$wasm ms$note" "$(met below "$wasm" 15)"
  row '`peakline fit` on a local file' "<= 40 ms" "$cli ms$note" "$(met below "$cli" 40)"
}

score_size() {
  local sizes rc=0
  sizes=$(node tests/wasm/size.mjs site/wasm/peakline.wasm --brief) || rc=1
  row "core wasm, compressed (brotli)" "<= 150 KB" "$sizes" "$(met [ $rc = 0 ])"
  rc=0
  sizes=$(node scripts/build_site.mjs | tail -1) || rc=1
  row "the whole page, compressed (brotli)" "<= 200 KB" "${sizes%%; *}" "$(met [ $rc = 0 ])"
}

score_errors() {
  local files rc=0
  files=$(find tests/errors -name 'bad-*.json' | wc -l)
  "$BUILD/tests/errors/error_tests" >"$work/errors" 2>&1 || { rc=1; tail -20 "$work/errors" >&2; }
  row "garbage, empty, truncated, wrong-type config" "a clear error with place and hint" \
    "$([ $rc = 0 ] && echo "$files of $files inputs give exactly the errors written down for them" ||
      echo "wrong errors for some of $files inputs")" "$(met [ $rc = 0 ])"
}

# Replaces what stands between <!-- NAME --> and <!-- /NAME --> by standard input.
fill() { # file name
  python3 -c '
import pathlib, sys
path, name = pathlib.Path(sys.argv[1]), sys.argv[2]
begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
text = path.read_text(encoding="utf-8")
if text.count(begin) != 1 or text.count(end) != 1:
    sys.exit(f"{path}: expected one block {name}")
head, rest = text.split(begin)
path.write_text(head + begin + sys.stdin.read().strip() + "\n" + end + rest.split(end)[1], encoding="utf-8")
' "$1" "$2" || stop "$1 not written"
}

machine() {
  printf '%s, %d-core VM (%s), Node %s, load %s.\n' "$(date -u +%F)" "$(nproc)" \
    "$(sed -nE 's/^model name\s*: //p' /proc/cpuinfo | head -1)" "$(node --version)" "$(load)"
}
sample() { # the answer that run.sh gives, without what it rests on
  local ask='fit scripts/sample/config.json --gpu "RTX 3060 12GB" --method qlora --max-length 1024'
  printf '```\n$ build/release/agent/peakline %s\n' "$ask"
  eval "COLUMNS=96 \"$BUILD/agent/peakline\" $ask" | sed -e '/^The largest tensors then/,$d'
  printf '...\n```\n'
}
write_docs() {
  [ -z "$noisy" ] || [ -n "$waited_in_vain" ] || busy
  { print_table; echo; machine; } | fill README.md score
  sample | fill README.md sample
  if [ $skipped != 0 ]; then
    say "docs/accuracy.md is left as it is: recorded data is missing"
    return
  fi
  "$BUILD/tests/bench/outcomes" --markdown | fill docs/accuracy.md outcomes
  "$BUILD/tests/bench/event_equality" --markdown | fill docs/accuracy.md timelines
  "$BUILD/tests/bench/accuracy" --markdown | fill docs/accuracy.md rows
  say "README.md and docs/accuracy.md written"
}
print_table() {
  printf '%s\n' "| check | target | measured | |" "|---|---|---|---|" "${table[@]}"
}

if [ -n "$build" ]; then
  mkdir -p "$(dirname "$BUILD")"
  say "building ($BUILD, site/wasm)"
  quietly build_native || exit 1
  quietly build_wasm || exit 1
fi
[ -z "$wait" ] || await_quiet
[ -z "$docs" ] || may_write || busy
score_timelines
score_accuracy
score_outcomes
score_speed
score_size
score_errors
print_table
[ -z "$docs" ] || write_docs
[ $skipped = 0 ] || echo "SKIPPED $skipped of ${#table[@]} checks: no recorded data (PEAKLINE_SHARED)"
[ $missed = 0 ] || { echo "$missed of ${#table[@]} targets missed"; exit 1; }
