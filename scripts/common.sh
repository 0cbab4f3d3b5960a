# Shared by the scripts beside it and by .ci/run: sourced, never run.
# REQUIRES bash with set -euo pipefail, and the root of the source tree as working directory.

# need_packages PACKAGE...: installs the Debian packages that are missing. As root, or through sudo;
# otherwise says what to install. Elsewhere than on Debian the build says itself what it misses.
need_packages() {
  command -v dpkg-query > /dev/null || return 0
  local package missing=() as_root=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q '^install ok installed$' ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
      echo "missing packages; as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing ${missing[*]}"
  quietly apt.log "${as_root[@]}" apt-get update
  quietly apt.log "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# quietly LOG COMMAND...: runs the command with its output in build/LOG; shows it only on failure.
quietly() {
  local log=build/$1
  shift
  mkdir -p build
  if ! "$@" > "$log" 2>&1 < /dev/null; then
    echo "failed: $* (all of it in $log)" >&2
    tail -n 40 "$log" >&2
    return 1
  fi
}

# build PRESET [TARGET...]: configures and builds into build/PRESET, everything when no target is named.
# NEUROSHARD_JOIN_FOLDERS, when it is set, stands for the preset's.
build() {
  local preset=$1 began=$SECONDS targets=() options=()
  shift
  [ $# -eq 0 ] || targets=(--target "$@")
  [ -z "${NEUROSHARD_JOIN_FOLDERS:-}" ] || options=("-DNEUROSHARD_JOIN_FOLDERS=$NEUROSHARD_JOIN_FOLDERS")
  quietly "$preset.log" cmake --preset "$preset" "${options[@]}"
  quietly "$preset.log" cmake --build "build/$preset" "${targets[@]}"
  echo "built build/$preset in $((SECONDS - began)) s"
}
