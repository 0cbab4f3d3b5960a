#!/usr/bin/env bash
# Builds everything (preset release) and runs every test; on Debian 12 as root it installs what is
# missing. Arguments go to ctest, e.g. -R io.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_packages g++ cmake ninja-build libboost-program-options1.81-dev \
  libboost-test1.81-dev pkgconf python3
build release
ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" "$@"
