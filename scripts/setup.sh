#!/bin/bash
# Installs what the project builds and tests with; a second run does nothing. No host is named here:
# packages come from the machine's own apt sources, pip and npm as they are set up.
# usage: setup.sh [base wasm check browser torch tidy]      (default: base wasm check browser torch)
set -euo pipefail

TOOLS=${PEAKLINE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/peakline-tools}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROJECT=$(dirname "$HERE")
CLANG_FORMAT=14.0.6 # the tree is formatted with exactly this version
WASM_MIN=3.1.69     # first Emscripten whose library has what core uses
CATCH2_MIN=3.4
TORCH=2.13.0

mkdir -p "$TOOLS"
# shellcheck disable=SC1091
. /etc/os-release
SUDO=
[ "$(id -u)" = 0 ] || SUDO=sudo
export DEBIAN_FRONTEND=noninteractive

say() { printf '[setup %4ss] %s\n' "$SECONDS" "$*"; }
done_already() { [ -f "$TOOLS/.stamp-$1" ] && [ "$(cat "$TOOLS/.stamp-$1")" = "$2" ]; }
stamp() { printf '%s' "$2" >"$TOOLS/.stamp-$1"; }
candidate() { apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" {print $2}'; }
at_least() { dpkg --compare-versions "${1:-0}" ge "$2"; }

apt_update() {
  [ -n "${APT_UPDATED:-}" ] && return 0
  say "apt-get update"
  $SUDO apt-get -qq update
  APT_UPDATED=1
}

apt_install() { # only what is missing
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} = 0 ] && return 0
  apt_update
  say "apt-get install ${missing[*]}"
  $SUDO apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" \
    >"$TOOLS/apt.log" 2>&1 || { tail -20 "$TOOLS/apt.log" >&2; return 1; }
}

own_source() { # prints "URI KEY" of the apt source that this machine's release comes from
  local f uri key
  for f in /etc/apt/sources.list.d/*.sources; do
    [ -f "$f" ] || continue
    uri=$(awk -v c="$VERSION_CODENAME" 'BEGIN { RS = "" }
      $0 ~ "Suites:[^\n]*" c "([ \n]|$)" {
        n = split($0, lines, "\n")
        for (i = 1; i <= n; i++) if (lines[i] ~ /^URIs:/) { split(lines[i], u, " "); print u[2]; exit }
      }' "$f")
    key=$(awk '/^Signed-By:/ { print $2; exit }' "$f")
    [ -n "$uri" ] && { echo "$uri $key"; return; }
  done
  sed -nE "s/^deb (\[[^]]*\] )?([^ ]+) $VERSION_CODENAME .*/\2/p" \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -1
}

# A private apt view of another suite on the same mirror; the system's own sources stay as they are.
suite_view() { # suite
  local suite=$1 view=$TOOLS/apt-$1 uri key components=main
  [ "$ID" = ubuntu ] && components="main universe"
  read -r uri key <<<"$(own_source)"
  [ -n "$uri" ] || { echo "no apt source for $VERSION_CODENAME found in /etc/apt" >&2; return 1; }
  [ -n "$key" ] || key=/usr/share/keyrings/$ID-archive-keyring.gpg
  say "reading the package list of $suite"
  mkdir -p "$view/lists/partial" "$view/cache/archives/partial" "$view/parts"
  : >"$view/status"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n' \
    "$uri" "$suite" "$components" "$key" >"$view/suite.sources"
  cat >"$view/apt.conf" <<C
Dir::Etc::sourcelist "$view/suite.sources";
Dir::Etc::sourceparts "$view/parts";
Dir::Etc::preferencesparts "$view/parts";
Dir::State::lists "$view/lists";
Dir::State::status "$view/status";
Dir::Cache "$view/cache";
APT::Sandbox::User "";
C
  APT_CONFIG="$view/apt.conf" apt-get -qq update
}
from_suite() { # suite packages...
  local suite=$1
  shift
  (export APT_CONFIG="$TOOLS/apt-$suite/apt.conf"; apt-get -qq download "$@")
}

step_base() { # what the program itself is built from
  apt_install g++ cmake ninja-build ccache pkg-config git ca-certificates python3 python3-venv \
    nlohmann-json3-dev libcli11-dev libcpp-httplib-dev libcurl4-openssl-dev zlib1g-dev
}

step_wasm() {
  command -v node >/dev/null || apt_install nodejs
  if [ -z "$(candidate emscripten)" ]; then apt_update; fi
  local version
  version=$(candidate emscripten)
  if at_least "${version%%+*}" "$WASM_MIN"; then # Debian 13 and later
    apt_install emscripten
    printf 'export EMSCRIPTEN_ROOT=%s\nexport NODE_PATH=%s\n' \
      /usr/share/emscripten /usr/share/nodejs >"$TOOLS/wasm-env.sh"
    return 0
  fi
  apt_install clang-19 lld-19 llvm-19
  done_already wasm "$WASM_MIN-2" || unpack_emscripten
}

# The next suite's Emscripten beside the system's own clang 19.
unpack_emscripten() {
  local suite r=$TOOLS/wasm t d b loader libraries
  case $ID in
    debian) suite=trixie ;;
    ubuntu) suite=questing ;;
    *) echo "no way to Emscripten $WASM_MIN known for $ID" >&2; return 1 ;;
  esac
  suite_view "$suite"
  say "unpacking Emscripten from $suite"
  t=$(mktemp -d)
  rm -rf "$r"
  mkdir -p "$r/wrap/bin"
  (cd "$t" && from_suite "$suite" emscripten binaryen node-acorn libc6 libstdc++6 libgcc-s1)
  for d in "$t"/*.deb; do # without threads, workers, sanitizers, position-independent code
    dpkg-deb --fsys-tarfile "$d" | tar -x -C "$r" --exclude='*/emscripten/test/*' \
      --exclude='*/lto-pic/*' --exclude='*/wasm32-emscripten/pic/*' --exclude='*-mt*.a' \
      --exclude='*-ww*.a' --exclude='*san*_rt*.a' --exclude='*/usr/share/doc/*' \
      --exclude='*/usr/share/locale/*'
  done
  rm -rf "$t"
  libraries=$r/usr/lib/x86_64-linux-gnu
  loader=$libraries/ld-linux-x86-64.so.2
  for b in "$r"/usr/bin/wasm-* "$r"/usr/bin/wasm2js; do # built for a newer C library: its own loader
    printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 "$0" "%s" "$@"\n' \
      "$loader" "$libraries" "$b" >"$r/wrap/bin/${b##*/}"
    chmod +x "$r/wrap/bin/${b##*/}"
  done
  ln -sfn ../nodejs "$r/usr/share/emscripten/node_modules"
  # A "type": "module" further up the tree would break Emscripten's own scripts.
  echo '{"type":"commonjs"}' >"$r/package.json"
  cat >"$r/emscripten.cfg" <<C
LLVM_ROOT = '/usr/bin'
BINARYEN_ROOT = '$r/wrap'
NODE_JS = '$(command -v node)'
FROZEN_CACHE = True
LLVM_ADD_VERSION = '19'
CLANG_ADD_VERSION = '19'
C
  printf 'export EM_CONFIG=%q\nexport EMSCRIPTEN_ROOT=%q\nexport PATH=%q:$PATH\n' \
    "$r/emscripten.cfg" "$r/usr/share/emscripten" "$r/usr/share/emscripten" >"$TOOLS/wasm-env.sh"
  stamp wasm "$WASM_MIN-2"
}

step_check() { # Catch2, the sanitizers' runtime, the formatter
  apt_install clang-19 libclang-rt-19-dev
  install_catch2
  done_already clang-format "$CLANG_FORMAT" && return 0
  say "pip install clang-format==$CLANG_FORMAT"
  [ -x "$TOOLS/venv-tools/bin/python" ] || python3 -m venv "$TOOLS/venv-tools"
  "$TOOLS/venv-tools/bin/pip" install -q --disable-pip-version-check "clang-format==$CLANG_FORMAT"
  stamp clang-format "$CLANG_FORMAT"
}

install_catch2() {
  local have t
  have=$(dpkg-query -W -f='${db:Status-Abbrev} ${Version}\n' libcatch2-dev catch2 2>/dev/null |
    awk '$1 == "ii" {print $2}' | sort -V | tail -1 || true)
  at_least "$have" "$CATCH2_MIN" && return 0
  if [ -z "$(candidate catch2)" ]; then apt_update; fi
  if at_least "$(candidate catch2)" "$CATCH2_MIN"; then
    apt_install catch2
    return 0
  fi
  suite_view "$VERSION_CODENAME-backports"
  say "installing Catch2 from $VERSION_CODENAME-backports"
  t=$(mktemp -d)
  (cd "$t" && from_suite "$VERSION_CODENAME-backports" libcatch2-dev)
  chmod 755 "$t"
  $SUDO apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "$t"/libcatch2-dev_*.deb \
    >"$TOOLS/apt.log" 2>&1 || { tail -20 "$TOOLS/apt.log" >&2; return 1; }
  rm -rf "$t"
}

step_browser() { # a real Chromium and the packages that drive it
  command -v node >/dev/null || apt_install nodejs
  command -v npm >/dev/null || apt_install npm
  if [ "$ID" = debian ]; then apt_install chromium; fi
  local page=$PROJECT/tests/page
  [ -f "$page/package-lock.json" ] || return 0
  cmp -s "$page/package-lock.json" "$page/node_modules/.installed" && return 0
  say "npm ci in tests/page"
  (cd "$page" && npm ci --no-audit --no-fund --silent && cp package-lock.json node_modules/.installed)
}

# The LibTorch of a wheel, for the engine that computes. Where PyPI has CUDA builds only, it is one.
step_torch() {
  done_already torch "$TORCH" && return 0
  say "pip install torch==$TORCH"
  python3 -m venv "$TOOLS/venv-torch"
  "$TOOLS/venv-torch/bin/pip" install -q --disable-pip-version-check "torch==$TORCH"
  stamp torch "$TORCH"
}

step_tidy() { apt_install clang-tidy-19 clang-19; }

[ $# -gt 0 ] || set -- base wasm check browser torch
for step in "$@"; do
  declare -F "step_$step" >/dev/null || { echo "no step '$step'; steps: base wasm check browser torch tidy" >&2; exit 64; }
done
for step in "$@"; do
  say "$step"
  "step_$step"
done
say "done; tools in $TOOLS"
