#!/usr/bin/env bash
# docs/VALIDATION.md: that it is what this build says, that what it says was asked for is met, and that
# `neuroshard measure --backend sim` says the same of a published plan.
set -euo pipefail
program=${NEUROSHARD_BUILD:?}/bench/published_bench
source=${NEUROSHARD_SOURCE:?}
data=${NEUROSHARD_TEST_DATA:-}
if [ ! -x "$program" ] || ! command -v python3 > /dev/null; then
  echo "skipped: $program is not built, or there is no python3"
  exit 77
fi
if [ ! -e "$data/published/dreamshard_8_devices.json" ]; then
  echo "skipped: no published measurements in NEUROSHARD_TEST_DATA"
  exit 77
fi
python3 "$source/scripts/validation.py" --bench "$program" --command "$NEUROSHARD_BUILD/neuroshard" --data "$data" --check
# Two published steps are known to be far off, and the page says why.
known='^| each within 20 % | 8 x A40 of v3.0, batch 55,296 ([0-9]* %), 4 x H100 of v3.1, batch 32,768 ([0-9]* %) are not |'
if grep 'not met' "$source/docs/VALIDATION.md" | grep -vq "$known"; then
  echo "validation_test: docs/VALIDATION.md has a target that is not met" >&2
  exit 1
fi
python3 - "$source/scripts" "$program" "$data" "$NEUROSHARD_BUILD/neuroshard" <<'PYTHON'
import json
import os
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from published_cases import PublishedCases, load_json

with PublishedCases(*sys.argv[2:4]) as published:
    figure = next(one for one in published.figures if one.id == "dreamshard-40-8-lookup")
    figure.cases = figure.cases[:1]
    (expected,) = [ms for one, ms in zip(published.figures, published.simulate()) if one is figure]
    case = published.cases[figure.cases[0][0]]
    pool = load_json(case["tables"])
    tables = [{**pool["tables"][index], "name": str(place)} for place, index in enumerate(case["of"])]
    shards = [{"table": place, "rows": [0, table["rows"]], "columns": [0, 16], "device": device}
              for place, (table, device) in enumerate(zip(tables, case["device_of"]))]
    paths = [os.path.join(published.folder.name, name) for name in ("own_tables.json", "own_plan.json")]
    for path, document in zip(paths, ({**pool, "tables": tables},
                                      {"format": "neuroshard-plan", "version": 1, "devices": 8,
                                       "batch_size": 65536, "shards": shards})):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
    told = subprocess.run([sys.argv[4], "measure", "--backend", "sim", "--profile", case["profile"], "--tables",
                           paths[0], "--plan", paths[1], "--output", "-"], check=True, capture_output=True)
    cost = json.loads(told.stdout)["cost_ms"]
assert abs(cost - expected) < 1e-9 * expected, f"measure says {cost}, published_bench {expected}"
PYTHON
