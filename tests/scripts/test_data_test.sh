#!/usr/bin/env bash
# Whether the tests on real data (the 856 DLRM tables, the reference's cost models, tasks and results)
# had any: reported as skipped where there is none, as their suites would pass without a word.
set -euo pipefail
data=${NEUROSHARD_TEST_DATA:-${NEUROSHARD_SOURCE:?}/../shared/data}
for file in tables/dlrm856_table_configs.json reference/tasks_4_devices.txt; do
  if [ ! -e "$data/$file" ]; then
    echo "skipped: no $file in the folder that NEUROSHARD_TEST_DATA names"
    exit 77
  fi
done
