#!/usr/bin/env bash
# Has MLCommons' own package read the execution traces that `neuroshard export --format chakra` writes:
# what it decodes is held against the plan, and its tools for people have to take the files.
#
#   scripts/test-chakra.sh install   makes build/chakra-venv first (from the package index)
#   scripts/test-chakra.sh           uses the one there is; exit code 77 and "skipped" without
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

venv=build/chakra-venv
if [ "${1:-}" = install ]; then
  python3 -m venv $venv
  # Of what it says that it needs, the readers use these.
  quietly chakra-install.log $venv/bin/pip install --no-deps mlc-chakra==1.0.0 'protobuf>=6.31.1' \
    graphviz networkx pydot
elif [ $# -gt 0 ]; then
  echo "found '$1', expected nothing or install" >&2
  exit 2
fi
if ! [ -x $venv/bin/python ]; then
  echo "skipped: no environment in $venv; scripts/test-chakra.sh install makes one"
  exit 77
fi

neuroshard=build/release/neuroshard
[ -x $neuroshard ] || build release neuroshard
tables=examples/dlrm_dcnv2.json
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# read_back PLAN FLAG ..: exports it and reads it; the files have to be the same a second time.
read_back() {
  local plan=$1
  rm -rf "$work/traces" "$work/again"
  for folder in traces again; do
    $neuroshard export --tables $tables --plan "$work/$plan" --format chakra --output "$work/$folder" \
      "${@:2}"
  done
  diff -r "$work/traces" "$work/again"
  $venv/bin/python tests/chakra/read_traces.py "$work/traces" "$work/$plan" 65536 2
}

$neuroshard plan --tables $tables --devices 8 --device-memory 80GB --evaluations 20000 \
  --output "$work/plan.json" > "$work/log"
read_back plan.json --steps 2
read_back plan.json --steps 2 --dense-ms 4 --exchange-nodes pairs
# As many columns on each device: collectives.
python3 - $tables "$work/even.json" << 'PLAN'
import json, sys
tables = json.load(open(sys.argv[1]))["tables"]
shards = [{"table": index, "rows": [0, table["rows"]], "device": device,
           "columns": [16 * device, 16 * device + 16]}
          for index, table in enumerate(tables) for device in range(8)]
json.dump({"format": "neuroshard-plan", "version": 1, "devices": 8, "batch_size": 65536,
           "shards": shards}, open(sys.argv[2], "w"))
PLAN
$neuroshard simulate --tables $tables --plan "$work/even.json" --device-memory 80GB \
  --cost-model h200_sim --output "$work/even_costed.json" > "$work/log"
read_back even_costed.json --steps 2

for tool in jsonizer visualizer; do
  case $tool in
    jsonizer) output=rank0.json ;;
    visualizer) output=rank0.graphml ;;
  esac
  quietly chakra-$tool.log $venv/bin/chakra_$tool --input_filename "$work/traces/step.0.et" \
    --output_filename "$work/$output"
  [ -s "$work/$output" ]
done
echo "MLCommons' package reads the traces"
