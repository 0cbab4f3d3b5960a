#!/usr/bin/env bash
# Builds for 64-bit Arm and runs tests in an emulator (QEMU), on Debian of another architecture:
# that results are right, nothing about speed.
#
#   scripts/arm64_check.sh [ROOM...]   tests of these rooms, by default nn: two minutes
#   scripts/arm64_check.sh bench       the command, and the signature that it prints: much longer
#   scripts/arm64_check.sh wheel       the package's tests, of the wheel of scripts/wheel.sh --arm64, by
#                                      Debian's Python for Arm: 12 minutes
#
# Boost and Python for arm64 are unpacked into build/; of this machine only the cross compiler and the
# emulator are installed, where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/arm64.sh

for room in "$@"; do
  [ "$room" = bench ] || [ "$room" = wheel ] || [ -d "tests/$room" ] ||
    { echo "found '$room', expected rooms of tests/, bench or wheel" >&2; exit 2; }
done

# run_arm NAME COMMAND..: a script NAME that runs the command in the emulator, for kernels that do not.
run_arm() {
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q' "$python" > "$1"
  printf ' %q' "${@:2}" >> "$1"
  echo ' "$@"' >> "$1"
  chmod +x "$1"
}

# The package's tests, from an empty folder, so that it can only be the wheel's.
check_wheel() {
  local root=$PWD python=$PWD/build/arm64-python wheel packages package
  wheel=$(echo dist/neuroshard_engine-"$(cat VERSION)"-*_aarch64.whl)
  [ -f "$wheel" ] || { echo "no wheel for Arm in dist/; scripts/wheel.sh --arm64 makes one" >&2; exit 2; }
  [ -d "$python" ] || unpack_arm64 "$python" {,lib}python3.11-minimal libpython3.11-stdlib libc6 \
    libgcc-s1 libexpat1 zlib1g libffi8 libcrypt1 libssl3
  packages=$python/usr/packages package=$packages/neuroshard_engine
  rm -rf "$packages"
  python3 -m zipfile -e "$wheel" "$packages"
  mv "$package/bin/neuroshard" "$package/bin/neuroshard.arm"
  chmod +x "$package/bin/neuroshard.arm"
  run_arm "$package/bin/neuroshard" "$package/bin/neuroshard.arm"
  run_arm "$python/usr/bin/neuroshard" "$python/usr/bin/python3.11" -c \
    'from neuroshard_engine.command import main; main()'
  mkdir -p "$python/empty"
  (
    cd "$python/empty"
    export NEUROSHARD_EXAMPLES=$root/examples PYTHONPATH=$packages:$root/tests/python PYTHONDONTWRITEBYTECODE=1
    qemu-aarch64-static -L "$python" "$python/usr/bin/python3.11" -W error -m unittest "$@"
  )
}

[ $# -gt 0 ] || set -- nn
need_arm64
for room in "$@"; do
  if [ "$room" = bench ]; then
    build arm64 neuroshard
    qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm64/neuroshard bench
  elif [ "$room" = wheel ]; then
    check_wheel test_arguments test_planning
  else
    build arm64 "test_$room"
    ctest --test-dir build/arm64 --output-on-failure --no-tests=error -R "^$room\\."
  fi
done
