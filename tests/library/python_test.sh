#!/usr/bin/env bash
# The example for Python prints the cost and every shard of the command's plan. Skipped (77) where
# there is no Python.
. "$(dirname "$0")/common.sh"

command -v python3 > /dev/null || { echo "skipped: no python3 here"; exit 77; }
tables=$NEUROSHARD_SOURCE/examples/dlrm_dcnv2.json
"$NEUROSHARD_BUILD/neuroshard" plan --tables "$tables" --devices 8 --device-memory 80GB \
  --algorithm neuroshard --output - > "$room/plan.json"
python3 - "$room/plan.json" > "$room/expected" << 'END'
import json, sys
plan = json.load(open(sys.argv[1]))
print(f"plan cost {plan['cost_ms']:.3f} ms, {len(plan['shards'])} shards")
for s in plan["shards"]:
    print(f"table {s['table']}: rows {s['rows'][0]}..{s['rows'][1]}, "
          f"columns {s['columns'][0]}..{s['columns'][1]} on device {s['device']}")
END
example=$NEUROSHARD_SOURCE/examples/library/plan.py
python3 "$example" "$NEUROSHARD_BUILD/lib/libengine.so" "$tables" 8 80000000000 neuroshard > "$room/printed"
diff "$room/expected" "$room/printed" || fail "the example prints another plan"
message=$(python3 "$example" "$NEUROSHARD_BUILD/lib/libengine.so" /nowhere 8 1 refine 2>&1) && fail "no error"
grep -q '^plan.py: /nowhere: ' <<< "$message" || fail "unhelpful: $message"
