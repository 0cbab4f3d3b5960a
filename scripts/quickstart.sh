#!/usr/bin/env bash
# Builds the static command and plans MLPerf's DLRM-DCNv2 (26 tables) on 8 devices of 80 GB.
# On Debian 12 as root it installs what is missing; run again, it only plans.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_packages g++ cmake ninja-build libboost-program-options1.81-dev
[ -x build/static/neuroshard ] || echo "building: three to four minutes on 2 cores"
build static neuroshard
plan=(build/static/neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 --device-memory 80GB)
echo "\$ ${plan[*]}"
"${plan[@]}"
