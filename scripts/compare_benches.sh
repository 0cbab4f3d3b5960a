#!/usr/bin/env bash
# Two builds' search_bench taken in turns (old new old new ..), and a table of how much faster the new
# one is: the median over the rounds of old / new, its range, one line an operation.
#
#   scripts/compare_benches.sh OLD_BUILD NEW_BUILD [ROUNDS] [-- flags of search_bench]
#
# Builds are folders such as build/release. Both need to be quiet: nothing else should run.
set -euo pipefail
if (($# < 2)); then
  sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
old=$1 new=$2
shift 2
rounds=5
if (($# > 0)) && [[ $1 != -- ]]; then
  rounds=$1
  shift
fi
[[ ${1-} == -- ]] && shift
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "compare_benches: ROUNDS is \"$rounds\", expected 1 or more" >&2; exit 2; }
for build in "$old" "$new"; do
  [[ -x $build/bench/search_bench ]] || { echo "compare_benches: no $build/bench/search_bench" >&2; exit 2; }
done

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for ((round = 0; round < rounds; ++round)); do
  for side in old new; do
    "${!side}/bench/search_bench" --operations --threads 1 --repeat 5 "$@" \
      --json "$results/$side.$round.json" >"$results/log" || { cat "$results/log" >&2; exit 1; }
    echo "round $((round + 1)) of $rounds: $side" >&2
  done
done

python3 - "$results" "$rounds" <<'END'
import json, statistics, sys

folder, rounds = sys.argv[1], int(sys.argv[2])

def rows(side, k):
    with open(f"{folder}/{side}.{k}.json") as file:
        found = json.load(file)["rows"]
    return {(row["name"], row["isa"], row["threads"]): row["median"] for row in found}

pairs = [(rows("old", k), rows("new", k)) for k in range(rounds)]
print(f"{'':34} {'':6} {'old ns':>10} {'new ns':>10} {'old / new':>10}  range")
for key, _ in pairs[0][0].items():
    if any(key not in old or key not in new for old, new in pairs):
        continue
    ratios = [old[key] / new[key] for old, new in pairs]
    before = statistics.median(old[key] for old, _ in pairs)
    after = statistics.median(new[key] for _, new in pairs)
    print(f"{key[0]:34} {key[1]:6} {before:10.2f} {after:10.2f} {statistics.median(ratios):10.3f}"
          f"  {min(ratios):.3f}..{max(ratios):.3f}")
END
