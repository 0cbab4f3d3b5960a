#!/usr/bin/env bash
# Makes the shipped cost models, models/*.safetensors, from simulated hardware: same commit, same
# processor kind, same bytes. About 15 minutes on 2 cores. Arguments: names to make (default all).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

# name, profile of the ground truth, memory that a device's tables may take in training
recipes=("h200_sim H200-141G 139GiB" "a100_sim A100-80G 78GiB")

build release neuroshard
neuroshard=$PWD/build/release/neuroshard
work=build/pretrain
rm -rf "$work"
mkdir -p "$work" models
# Two pools: one shaped like a production model's 856 tables, and one with what that lacks: tables of
# 40 million rows, of a few rows, and of 100 lookups a sample.
"$neuroshard" tables generate --count 856 --seed 1 --output "$work/pool.json"

# collect_compute NAME PROFILE MEMORY: sets as the paper draws them, sets of the second pool, and sets
# as large as those of a device that holds a hundred shards.
collect_compute() {
  local collect=("$neuroshard" collect compute --backend sim --profile "$2" --max-memory "$3")
  "${collect[@]}" --tables "$work/pool.json" --max-tables 15 --samples 20000 --seed 1 \
    --output "$work/$1_paper"
  "${collect[@]}" --tables examples/dlrm_dcnv2.json --max-tables 12 --samples 15000 --seed 2 \
    --output "$work/$1_large"
  "${collect[@]}" --tables "$work/pool.json" --max-tables 120 --samples 5000 --seed 3 \
    --output "$work/$1_many"
}

for recipe in "${recipes[@]}"; do
  read -r name profile memory <<< "$recipe"
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  began=$SECONDS
  collect_compute "$name" "$profile" "$memory" > "$work/$name.log"
  comm=()
  for devices in 2 3 4 6 8 12 16 24 32 64 128; do
    for max_dim in 128 1024; do  # wide ones stand for devices that hold hundreds of tables
      data=$work/${name}_comm_${devices}_$max_dim
      # Eight devices a host behind one NVSwitch, hosts behind their network cards.
      "$neuroshard" collect comm --backend sim --profile "$profile+cluster" --devices "$devices" \
        --max-dim "$max_dim" --samples 1500 --seed "$devices" --output "$data" >> "$work/$name.log"
      comm+=(--data "$data")
    done
  done
  "$neuroshard" train compute --data "$work/${name}_paper" --data "$work/${name}_large" \
    --data "$work/${name}_many" --epochs 100 --output "$work/$name.safetensors" \
    --report "$work/${name}_compute.json" | tee -a "$work/$name.log"
  "$neuroshard" train comm "${comm[@]}" --epochs 40 --base "$work/$name.safetensors" \
    --output "models/$name.safetensors" --report "$work/${name}_comm.json" | tee -a "$work/$name.log"
  echo "models/$name.safetensors made in $((SECONDS - began)) s"
done
