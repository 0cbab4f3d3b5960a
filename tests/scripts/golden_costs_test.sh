#!/usr/bin/env bash
# The golden costs: that the checked-in table has a line for every setting, and that the program that
# holds plans against it notices when one has become dearer.
set -euo pipefail
program=${NEUROSHARD_BUILD:?}/bench/golden_costs_bench
golden=${NEUROSHARD_SOURCE:?}/bench/golden_costs.csv
table=$(mktemp)
trap 'rm -f "$table"' EXIT
if [ ! -x "$program" ]; then
  echo "skipped: $program is not built"
  exit 77
fi

fail() {
  echo "golden_costs_test: $1" >&2
  cat "$table" >&2
  exit 1
}

# expect CODE WORDS..: the exit code of one quick setting held against a table.
expect() {
  local expected=$1 code=0
  shift
  "$program" --setting formula_8 --tasks 1 "$@" > /dev/null 2>&1 || code=$?
  [ $code = "$expected" ] || fail "$*: exit code $code, expected $expected"
}

settings=$(sed -n 's/^ *GoldenSetting{ *\.name = "\([a-z0-9_]*\)".*/\1/p; s/^ *\.name = "\([a-z0-9_]*\)".*/\1/p' \
  "$NEUROSHARD_SOURCE/bench/golden_costs/settings.cpp")
[ "$settings" = "$(tail -n +2 "$golden" | cut -d , -f 1)" ] || fail "$golden has not the settings in order"

expect 0 --golden "$golden"  # which knows nothing of one task
cp "$golden" "$table"
expect 0 --golden "$table" --write "$table"
[ "$(wc -l < "$table")" = "$(wc -l < "$golden")" ] || fail "writing one setting lost others"
expect 0 --golden "$table"
awk -F , -v OFS=, '$1 == "formula_8" { $4 *= 0.998 } { print }' "$table" > "$table.dearer"
mv "$table.dearer" "$table"
expect 1 --golden "$table"
echo "nonsense" > "$table"
expect 2 --golden "$table"
