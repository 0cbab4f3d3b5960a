#!/usr/bin/env bash
# The programs of bench/: what they do not know, and numbers that they cannot use, end them at once,
# with exit code 2 and one line that names the flag.
set -euo pipefail
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# refuses FLAG PROGRAM ARGUMENTS..
refuses() {
  local flag=$1 code=0
  shift
  timeout 60 "$@" > /dev/null 2> "$errors" || code=$?
  if [ $code != 2 ] || [ "$(wc -l < "$errors")" != 1 ] || ! grep -q -- "$flag" "$errors"; then
    echo "bench_flags_test: $*: exit code $code, expected 2 and one line about $flag" >&2
    cat "$errors" >&2
    exit 1
  fi
}

programs=("${NEUROSHARD_BUILD:?}"/bench/*_bench)
if [ ! -x "${programs[0]}" ]; then
  echo "skipped: no program of bench/ is built"
  exit 77
fi
for program in "${programs[@]}"; do
  refuses --nonsense "$program" --nonsense
  numbers=$("$program" --help | sed -n 's/^  --\([a-z]*\) N .*/\1/p')
  [ -n "$numbers" ] || { echo "bench_flags_test: no flags in the help of $program" >&2; exit 1; }
  for flag in $numbers; do
    refuses "--$flag" "$program" --"$flag" -1
    [ "$flag" = evaluations ] || refuses "--$flag" "$program" --"$flag" 0
  done
done
