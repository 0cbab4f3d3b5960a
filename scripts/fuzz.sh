#!/usr/bin/env bash
# Builds the fuzz targets (preset sanitize, clang) and runs each for SECONDS (default 20) from its seeds,
# as many at a time as there are cores. Fails on a finding; the input is kept in build/sanitize/findings/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

seconds=${1:-20}
need_packages clang libclang-rt-14-dev cmake ninja-build libboost1.81-dev \
  libboost-program-options1.81-dev libboost-test1.81-dev
build sanitize neuroshard_fuzz

mkdir -p build/sanitize/findings
# fuzz READER: inputs found in earlier runs are kept in build/ and searched further; seeds are only read.
fuzz() {
  local reader=$1 found=build/sanitize/corpus/$1
  mkdir -p "$found"
  quietly "${reader}_fuzz.log" "build/sanitize/tests/fuzz/${reader}_fuzz" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=2048 -max_len=65536 -dict=tests/fuzz/words.dict \
    -artifact_prefix="build/sanitize/findings/$reader-" "$found" "tests/fuzz/corpus/$reader"
  echo "$reader: $(grep -oE 'Done [0-9]+ runs' "build/${reader}_fuzz.log"), no finding"
}
export -f fuzz quietly
export seconds
for source in tests/fuzz/*_fuzz.cpp; do basename "$source" _fuzz.cpp; done |
  xargs -P "$(nproc)" -I '{}' bash -euo pipefail -c 'fuzz {}'
