#!/usr/bin/env bash
# Builds for 64-bit Arm and runs tests in an emulator (QEMU), on Debian of another architecture:
# that results are right, nothing about speed.
#
#   scripts/arm64_check.sh [ROOM...]   tests of these rooms, by default nn: two minutes
#   scripts/arm64_check.sh bench       the command, and the signature that it prints: much longer
#
# Boost for arm64 is unpacked into build/arm64-boost; of this machine only the cross compiler and the
# emulator are installed, where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

boost=build/arm64-boost

# With package lists of their own: this machine's know nothing of the other architecture.
unpack_boost() {
  local lists=$PWD/build/arm64-apt options
  rm -rf "$lists"
  mkdir -p "$lists/state/lists/partial" "$lists/cache/archives/partial"
  : > "$lists/status"
  options=(-o Dir::State="$lists/state" -o Dir::State::status="$lists/status"
    -o Dir::Cache="$lists/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o APT::Sandbox::User="$(id -un)")
  quietly arm64-apt.log apt-get "${options[@]}" update
  (
    cd "$lists"
    apt-get -q "${options[@]}" download libboost1.81-dev \
      libboost-{program-options,test}1.81{-dev,.0} > download.log 2>&1 || { cat download.log >&2; exit 1; }
  )
  local package
  for package in "$lists"/*.deb; do
    dpkg -x "$package" "$lists/root"
  done
  mv "$lists/root" "$boost"
  rm -r "$lists"
}

for room in "$@"; do
  [ "$room" = bench ] || [ -d "tests/$room" ] || { echo "found '$room', expected rooms of tests/ or bench" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- nn
need_packages cmake ninja-build g++-aarch64-linux-gnu qemu-user-static
[ -d $boost ] || unpack_boost
for room in "$@"; do
  if [ "$room" = bench ]; then
    build arm64 neuroshard
    qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm64/neuroshard bench
  else
    build arm64 "test_$room"
    ctest --test-dir build/arm64 --output-on-failure --no-tests=error -R "^$room\\."
  fi
done
