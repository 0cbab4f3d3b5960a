# Shared by the tests beside it: sourced, never run. The caller (CTest) sets NEUROSHARD_SOURCE,
# NEUROSHARD_BUILD and NEUROSHARD_CC, NEUROSHARD_CXX.
set -euo pipefail
export LC_ALL=C
: "${NEUROSHARD_SOURCE:?}" "${NEUROSHARD_BUILD:?}" "${NEUROSHARD_CC:?}" "${NEUROSHARD_CXX:?}"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The installed tree at $room/installed.
install_engine() {
  cmake --install "$NEUROSHARD_BUILD" --prefix "$room/installed" > "$room/install.log" 2>&1 ||
    { cat "$room/install.log"; fail "cmake --install"; }
}
