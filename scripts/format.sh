#!/bin/bash
# Formats C++ sources with the pinned clang-format; --check only lists the files that differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TOOLS=${PEAKLINE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/peakline-tools}
FORMATTER=$TOOLS/venv-tools/bin/clang-format
[ -x "$FORMATTER" ] || { echo "no $FORMATTER: run scripts/setup.sh check" >&2; exit 69; }

mapfile -t sources < <(find core web agent tests -name node_modules -prune -o \
  \( -name '*.h' -o -name '*.cpp' \) -print 2>/dev/null | sort)
if [ "${1:-}" != --check ]; then
  "$FORMATTER" -i "${sources[@]}"
  exit 0
fi
bad=0
for source in "${sources[@]}"; do
  if ! "$FORMATTER" "$source" | cmp -s - "$source"; then
    bad=$((bad + 1))
    [ $bad -gt 10 ] || echo "$source: not formatted; scripts/format.sh does it"
  fi
done
echo "${#sources[@]} files, $bad not formatted"
[ "$bad" = 0 ]
