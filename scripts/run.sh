#!/bin/bash
# Installs what is missing, builds, answers one real question in the terminal, then serves the page on a
# free loopback port until Ctrl-C. --check fetches the page once and ends.
# usage: run.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TOOLS=${PEAKLINE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/peakline-tools}
LOG=build/run.log
SAMPLE=scripts/sample/config.json
case ${1:-} in
  "" | --check) ;;
  *) echo "usage: run.sh [--check]" >&2; exit 64 ;;
esac

say() { printf '[run %4ss] %s\n' "$SECONDS" "$*"; }
quietly() { # command...
  "$@" >"$LOG" 2>&1 || { tail -40 "$LOG" | cut -c1-300 >&2; return 1; }
}
build() { cmake --preset "$1" && cmake --build --preset "$1" -j "$(nproc)"; }
build_wasm() {
  # shellcheck disable=SC1091
  (. "$TOOLS/wasm-env.sh" && build wasm)
}

bash scripts/setup.sh base wasm
mkdir -p build
say "building the program (build/release)"
quietly build release
say "building the module of the page (site/wasm)"
quietly build_wasm
PEAKLINE=build/release/agent/peakline

say "a 7B model, its adapter trained over 4-bit weights, on a card with 12 GB:"
question=(fit "$SAMPLE" --gpu "RTX 3060 12GB" --method qlora --max-length 1024)
echo "\$ $PEAKLINE fit $SAMPLE --gpu \"RTX 3060 12GB\" --method qlora --max-length 1024"
rc=0
"$PEAKLINE" "${question[@]}" || rc=$?
case $rc in
  0 | 1 | 2) ;; # fits, does not, too close: answers all
  *) echo "peakline fit failed with exit code $rc" >&2; exit 1 ;;
esac

if [ "${1:-}" != --check ]; then
  say "serving the page; Ctrl-C ends it"
  exec "$PEAKLINE" serve
fi

said=$(mktemp)
"$PEAKLINE" serve >"$said" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true; rm -f "$said"' EXIT
address=
for _ in $(seq 100); do
  address=$(grep -oE -m1 'http://127\.0\.0\.1:[0-9]+' "$said" || true)
  if [ -n "$address" ] || ! kill -0 $server 2>/dev/null; then break; fi
  sleep 0.1
done
[ -n "$address" ] || { echo "peakline serve printed no address:" >&2; cat "$said" >&2; exit 1; }
python3 - "$address" <<'PY'
import sys
import urllib.request

for path, mark in [("/", b"<title>"), ("/wasm/peakline.mjs", b"export"), ("/wasm/peakline.wasm", b"\0asm")]:
    with urllib.request.urlopen(sys.argv[1] + path, timeout=10) as answer:
        body = answer.read()
    if answer.status != 200 or mark not in body:
        sys.exit(f"{path}: status {answer.status}, {len(body)} bytes, without {mark!r}")
    print(f"fetched {path}: {len(body)} bytes")
PY
say "the page is served at $address/ and complete"
