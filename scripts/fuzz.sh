#!/usr/bin/env bash
# Builds the fuzz targets (preset sanitize, clang) and runs each for SECONDS (default 20) from its seeds.
# Fails on the first finding; the input is kept in build/sanitize/findings/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-20}
need_packages clang libclang-rt-14-dev cmake ninja-build libboost1.81-dev \
  libboost-program-options1.81-dev libboost-test1.81-dev
build sanitize neuroshard_fuzz

mkdir -p build/sanitize/findings
for source in tests/fuzz/*_fuzz.cpp; do
  target=$(basename "$source" .cpp)
  reader=${target%_fuzz}
  found=build/sanitize/corpus/$reader
  mkdir -p "$found"
  # Inputs found in earlier runs are kept in build/ and searched further; seeds are only read.
  quietly "$target.log" "build/sanitize/tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -max_len=65536 -dict=tests/fuzz/words.dict \
    -artifact_prefix="build/sanitize/findings/$reader-" "$found" "tests/fuzz/corpus/$reader"
  echo "$reader: $(grep -oE 'Done [0-9]+ runs' "build/$target.log"), no finding"
done
