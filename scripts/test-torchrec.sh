#!/usr/bin/env bash
# Runs exported plans, and the planner of neuroshard_engine.torchrec, on real TorchRec 1.9 and 1.4:
# EmbeddingBagCollections, and an EmbeddingCollection, in DistributedModelParallel on 2, 4 and 8 gloo
# ranks of this CPU, as one host or as two. Placement must be the plan's, outputs those of the unsharded
# model. What the package refuses is tried as well.
#
#   scripts/test-torchrec.sh install   makes both environments first (7 GB each, from the package index)
#   scripts/test-torchrec.sh           uses those there are; exit code 77 and "skipped" without any
#
# They are build/torchrec-1.9-venv and build/torchrec-venv; $NEUROSHARD_TORCHREC_VENV names one of your
# own instead.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

# install FOLDER TORCH TORCHREC FBGEMM: versions that belong together.
install() {
  echo "installing torch $2, torchrec $3 and fbgemm-gpu-cpu $4 into $1"
  python3 -m venv "$1"
  quietly torchrec-install.log "$1/bin/pip" install "torch==$2" -r scripts/torchrec-requirements.txt
  quietly torchrec-install.log "$1/bin/pip" install --no-deps "torchrec==$3" "fbgemm-gpu-cpu==$4"
}

if [ "${1:-}" = install ]; then
  install build/torchrec-1.9-venv 2.14.1 1.9.2 1.9.0
  install build/torchrec-venv 2.9.1 1.4.0 1.4.2
elif [ $# -gt 0 ]; then
  echo "found '$1', expected nothing or install" >&2
  exit 2
fi
if [ -z "${NEUROSHARD_TORCHREC_VENV:-}" ]; then
  found=0
  for each in build/torchrec-1.9-venv build/torchrec-venv; do
    [ -x $each/bin/python ] || continue
    NEUROSHARD_TORCHREC_VENV=$each "$0"
    found=1
  done
  [ $found = 1 ] && exit
fi
venv=${NEUROSHARD_TORCHREC_VENV:-build/torchrec-venv}
if ! [ -x "$venv/bin/python" ]; then
  echo "skipped: no environment in $venv; scripts/test-torchrec.sh install makes one"
  exit 77
fi

# The package as trainers have it: from the wheel.
scripts/wheel.sh > build/torchrec-wheel.log
quietly torchrec-wheel.log "$venv/bin/pip" install --no-index --no-deps --force-reinstall \
  dist/neuroshard_engine-"$(cat VERSION)"-*_"$(uname -m)".whl
"$venv/bin/python" -c 'from importlib.metadata import version
print("TorchRec", version("torchrec"), "with torch", version("torch"))'

neuroshard=build/release/neuroshard
[ -x $neuroshard ] || build release neuroshard
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# test_program NAME ARGUMENT ..: shows its lines, or why it failed.
test_program() {
  "$venv/bin/python" tests/torchrec/"$1" "${@:2}" > "$work/out" 2> "$work/log" || {
    tail -n 30 "$work/log" >&2
    return 1
  }
  grep '^torchrec[-_:]' "$work/out"  # the rest is Gloo's chatter
}

# run RANKS TABLES PLAN [TABLES PLAN ..] or flags of run_plans.py.
run() { test_program run_plans.py "$@"; }

# expect PLAN TYPE ..: fails unless the plan has tables of these sharding types, which it is to test.
expect() {
  local plan=$1 type
  for type in "${@:2}"; do
    grep -q "\"sharding_type\": \"$type\"" "$work/$plan" && continue
    echo "$plan has no $type table" >&2
    return 1
  done
}

"$venv/bin/python" - "$work" 2> "$work/log" << 'TABLES' || { cat "$work/log" >&2; exit 1; }
import json, sys
import torch
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from neuroshard_engine.torchrec import save_tables

# As uneven as real tables, small enough for a few copies on this machine.
work = sys.argv[1]
configs = [("user", 20000, 64, 40), ("item", 5000, 128, 80), ("ad", 700, 16, 2),
           ("country", 3, 4, 1), ("query", 9000, 32, 12), ("device", 50, 8, 1)]
collection = EmbeddingBagCollection(device=torch.device("meta"), tables=[
    EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim, feature_names=["f_" + name])
    for name, rows, dim, _ in configs])
save_tables(work + "/tables.json", collection, {"f_" + c[0]: c[3] for c in configs}, 65536)
tables = [{"name": c[0], "rows": c[1], "dim": c[2]} for c in configs]

# Written by hand: what no planner makes of these tables, but TorchRec takes.
def plan(ranks, held):
    shards = []
    for index, table in enumerate(tables):
        for rows, columns, device in held.get(index, [(None, None, index % ranks)]):
            shards.append({"table": index, "rows": rows or [0, table["rows"]],
                           "columns": columns or [0, table["dim"]], "device": device})
    return {"format": "neuroshard-plan", "version": 1, "devices": ranks, "batch_size": 65536,
            "shards": shards}

for ranks in 2, 4:
    # Unequal widths, two shards of a table on one rank, a replicated table.
    json.dump(plan(ranks, {0: [(None, [0, 32], 1), (None, [32, 48], 0), (None, [48, 64], 1)],
                           3: [(None, None, "all")]}), open(f"{work}/columns{ranks}.json", "w"))
    block = -(-20000 // ranks)
    json.dump(plan(ranks, {0: [([r * block, min(20000, (r + 1) * block)], None, r)
                               for r in range(ranks)]}), open(f"{work}/rows{ranks}.json", "w"))

def over_host(host, rows, columns=None):
    half = -(-rows // 2)
    return [([0, half], columns, 2 * host), ([half, rows], columns, 2 * host + 1)]

# On hosts of two: columns of unequal widths, two of three on one host, and a whole table.
json.dump(plan(4, {0: over_host(1, 20000, [0, 16]) + over_host(1, 20000, [16, 48])
                   + over_host(0, 20000, [48, 64]), 1: over_host(0, 5000)}),
          open(f"{work}/grid.json", "w"))
TABLES

# What the formula says of plans is what TorchRec says, with tables in host memory, too. Their kernels
# are for GPUs: no rank here can run them.
test_program formula.py "$work"
test_program offload.py "$work"
# And with exchanges in fewer bits.
test_program exchange.py "$work"
# So are the bytes of lookups and outputs.
test_program buffers.py "$work"

# One table is most of the work, so that the default search spreads its rows over all ranks.
cat > "$work/dear.json" << 'TABLES'
{"format": "neuroshard-tables", "version": 1, "batch_size": 65536, "tables": [
 {"name": "words", "rows": 40001, "dim": 64, "pooling_factor": 90},
 {"name": "user", "rows": 20000, "dim": 64, "pooling_factor": 3},
 {"name": "country", "rows": 3, "dim": 4, "pooling_factor": 1}]}
TABLES

for ranks in 2 4; do
  cases=()
  # Table-wise: a greedy baseline. Column-wise: the search, under a memory limit that forces splits.
  for algorithm in size-greedy neuroshard; do
    memory=6MB  # a table alone needs 5.12 MB
    [ $algorithm = size-greedy ] || memory=5MB
    $neuroshard plan --tables "$work/tables.json" --devices $ranks --device-memory $memory \
      --algorithm $algorithm --output "$work/$algorithm$ranks.json" > /dev/null
  done
  for plan in size-greedy neuroshard columns rows; do
    $neuroshard export --tables "$work/tables.json" --plan "$work/$plan$ranks.json" \
      --format torchrec --trainer-device cpu --output "$work/torchrec-$plan$ranks.json"
    $neuroshard check --tables "$work/tables.json" --plan "$work/torchrec-$plan$ranks.json" > /dev/null
    cases+=("$work/tables.json" "$work/torchrec-$plan$ranks.json")
  done
  # A plan near one of TorchRec's, whose row_wise table stays.
  $neuroshard replan --tables "$work/tables.json" --plan "$work/torchrec-rows$ranks.json" \
    --device-memory 1GB --move-limit 1MB --evaluations 2000 --format torchrec \
    --output "$work/torchrec-replanned$ranks.json" | grep -q ' cheaper, '
  expect torchrec-replanned$ranks.json row_wise
  cases+=("$work/tables.json" "$work/torchrec-replanned$ranks.json")
  $neuroshard plan --tables "$work/dear.json" --devices $ranks --device-memory 1GB --format torchrec \
    --evaluations 20000 --trainer-device cpu --output "$work/torchrec-refine-rows$ranks.json" > /dev/null
  expect torchrec-refine-rows$ranks.json row_wise
  run $ranks "${cases[@]}" "$work/dear.json" "$work/torchrec-refine-rows$ranks.json"
done

# Two hosts of two ranks each: tables, or columns of them, go over the ranks of one host.
cat > "$work/several.json" << 'TABLES'
{"format": "neuroshard-tables", "version": 1, "batch_size": 65536, "tables": [
 {"name": "words", "rows": 40001, "dim": 64, "pooling_factor": 90},
 {"name": "titles", "rows": 30003, "dim": 64, "pooling_factor": 80},
 {"name": "user", "rows": 20000, "dim": 32, "pooling_factor": 30},
 {"name": "country", "rows": 3, "dim": 4, "pooling_factor": 1}]}
TABLES
$neuroshard export --tables "$work/tables.json" --plan "$work/grid.json" --devices-per-host 2 \
  --format torchrec --trainer-device cpu --output "$work/torchrec-grid.json"
expect torchrec-grid.json table_row_wise grid_shard
cases=("$work/tables.json" "$work/torchrec-grid.json")
for tables in several dear; do
  plan=torchrec-refine-$tables.json
  $neuroshard plan --tables "$work/$tables.json" --devices 4 --devices-per-host 2 --device-memory 1GB \
    --cost-model torchrec --evaluations 20000 --format torchrec --trainer-device cpu \
    --output "$work/$plan" > /dev/null
  $neuroshard check --tables "$work/$tables.json" --plan "$work/$plan" --devices-per-host 2 > /dev/null
  cases+=("$work/$tables.json" "$work/$plan")
done
expect torchrec-refine-several.json table_row_wise
expect torchrec-refine-dear.json grid_shard
run 4 --ranks-per-host 2 "${cases[@]}"

# A part of a larger model, by its dotted name.
$neuroshard export --tables "$work/tables.json" --plan "$work/neuroshard2.json" --format torchrec \
  --trainer-device cpu --torchrec-module sparse.bags --output "$work/torchrec-module.json"
# Read and written again it is the same plan.
$neuroshard export --tables "$work/tables.json" --plan "$work/torchrec-module.json" \
  --format torchrec --output "$work/torchrec-again.json"
cmp "$work/torchrec-module.json" "$work/torchrec-again.json"
run 2 "$work/tables.json" "$work/torchrec-module.json"

# A model with two collections, planned together from its own description.
"$venv/bin/python" tests/torchrec/save_and_load.py tables "$work/towers.json"
$neuroshard plan --tables "$work/towers.json" --devices 2 --device-memory 5MB --algorithm neuroshard \
  --format torchrec --trainer-device cpu --output "$work/torchrec-towers.json" > /dev/null
$neuroshard check --tables "$work/towers.json" --plan "$work/torchrec-towers.json" > /dev/null
run 2 "$work/towers.json" "$work/torchrec-towers.json"
test_program save_and_load.py refusals "$work/torchrec-towers.json"
# Constraints of TorchRec's planner are saved with the tables, and a plan that breaks them is told.
"$venv/bin/python" tests/torchrec/save_and_load.py limited "$work/limited.json"
broken=0
$neuroshard check --tables "$work/limited.json" --plan "$work/torchrec-towers.json" \
  > "$work/out" 2>&1 || broken=$?
[ $broken = 2 ] && grep -q "its sharding allows whole" "$work/out" || { cat "$work/out" >&2; exit 1; }
$neuroshard plan --tables "$work/limited.json" --devices 2 --device-memory 6MB \
  --algorithm size-greedy --format torchrec --trainer-device cpu --output "$work/whole.json" > /dev/null
$neuroshard check --tables "$work/limited.json" --plan "$work/whole.json" > /dev/null
# Each table in the one kind of sharding, or on the one rank, that it may have.
"$venv/bin/python" tests/torchrec/save_and_load.py bound "$work/bound.json"
$neuroshard plan --tables "$work/bound.json" --devices 2 --device-memory 8MB --cost-model torchrec \
  --data-parallel on --evaluations 1000 --format torchrec --trainer-device cpu \
  --output "$work/torchrec-bound.json" > /dev/null
$neuroshard check --tables "$work/bound.json" --plan "$work/torchrec-bound.json" > /dev/null
expect torchrec-bound.json row_wise column_wise data_parallel table_wise
run 2 "$work/bound.json" "$work/torchrec-bound.json"
# A collection of bags and one of sequences.
"$venv/bin/python" tests/torchrec/save_and_load.py sequences "$work/sequences.json"
$neuroshard plan --tables "$work/sequences.json" --devices 2 --device-memory 5MB --cost-model torchrec \
  --evaluations 1000 --format torchrec --trainer-device cpu \
  --output "$work/torchrec-sequences.json" > /dev/null
$neuroshard check --tables "$work/sequences.json" --plan "$work/torchrec-sequences.json" > /dev/null
expect torchrec-sequences.json column_wise row_wise table_wise
run 2 "$work/sequences.json" "$work/torchrec-sequences.json"

# Sequences in more equal pieces than ranks: some ranks have several of a table.
cat > "$work/words.json" << 'TABLES'
{"format": "neuroshard-tables", "version": 1, "batch_size": 4096, "tables": [
 {"name": "words", "rows": 4000, "dim": 64, "pooling_factor": 9, "pooled": false},
 {"name": "titles", "rows": 3000, "dim": 64, "pooling_factor": 9, "pooled": false},
 {"name": "user", "rows": 20, "dim": 64, "pooling_factor": 0.5, "pooled": false}]}
TABLES
for ranks in 3 4; do
  $neuroshard plan --tables "$work/words.json" --devices $ranks --device-memory $((1840000 / ranks)) \
    --cost-model torchrec --row-splits off --evaluations 20000 --format torchrec --trainer-device cpu \
    --output "$work/torchrec-words$ranks.json" > /dev/null
  expect torchrec-words$ranks.json column_wise
  run $ranks "$work/words.json" "$work/torchrec-words$ranks.json"
done

# Planned by the ranks themselves: by the command, and in the place of TorchRec's planner.
test_program plan_in_trainer.py $neuroshard
test_program planner.py
test_program kernels.py
test_program provider.py
test_program managed_collisions.py
test_program lookup_statistics.py $neuroshard
# Hot rows on every rank, the rest sharded: outputs, training, checkpoints and bytes sent; of sequences,
# and of one-hot tables by the engine's plan.
test_program hot_rows.py
test_program hot_bags.py

# Benchmarks that run without the engine.
test_program benchmark.py $neuroshard

# MLPerf's 26 tables on 8 ranks: the real plan, rows cut to 1,000 when it is loaded, since 97 GiB of
# weights fit no test machine.
$neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 --device-memory 80GB \
  --format torchrec --trainer-device cpu --output "$work/torchrec-mlperf.json" > /dev/null
run 8 --cap-rows 1000 examples/dlrm_dcnv2.json "$work/torchrec-mlperf.json"
echo "TorchRec runs the plans as written"
