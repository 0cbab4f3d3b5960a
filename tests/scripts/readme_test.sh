#!/usr/bin/env bash
# The commands of the README's section "Use it" work as they stand, in their order, from the root of a
# clone that has been built. The README is one page.
set -euo pipefail
source=${NEUROSHARD_SOURCE:?}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "readme_test: $*" >&2
  exit 1
}

# commands_of FILE: the lines of the shell blocks of its section "Use it".
commands_of() {
  awk '/^## / { inside = $0 == "## Use it" }
       inside && $0 == "```" { shell = 0 }
       inside && shell { print }
       inside && $0 == "```sh" { shell = 1 }' "$1"
}

# run_section FILE NAME: runs them in a folder that has what a clone has after the quickstart.
run_section() {
  local room=$folder/$2
  mkdir -p "$room/build/static"
  cp -r "$source/examples" "$room/"
  ln -s "${NEUROSHARD_BUILD:?}/neuroshard" "$room/build/static/neuroshard"
  commands_of "$1" > "$room.sh"
  (cd "$room" && bash -euo pipefail "$room.sh") > "$room.out" 2> "$room.err" < /dev/null
}

# Links between the pages lead to files.
for page in "$source"/README.md "$source"/docs/*.md; do
  for link in $(grep -oE '\]\([^)# ]+[)#]' "$page" | sed 's/^..//; s/.$//' | grep -v '^https\?:' || true); do
    [ -e "$(dirname "$page")/$link" ] || fail "$page: no $link"
  done
done

[ "$(wc -l < "$source/README.md")" -le 130 ] || fail "README.md has more than 130 lines"
[ -x "$NEUROSHARD_BUILD/neuroshard" ] || fail "the command is not built"
count=$(commands_of "$source/README.md" | grep -c '^neuroshard ' || true)
[ "$count" -ge 10 ] || fail "found $count commands of neuroshard under 'Use it', expected 10 or more"
if ! run_section "$source/README.md" readme; then
  cat "$folder/readme.out" "$folder/readme.err" >&2
  fail "a command of README.md fails"
fi
# Every file that a command writes is there.
for file in $(commands_of "$source/README.md" | grep -oE -- '--output [^ ]+' | cut -d ' ' -f 2); do
  [ -s "$folder/readme/$file" ] || fail "no $file was written"
done

# What this test would not notice, it would not hold: one wrong file name must make it fail.
sed 's/simulate --tables my\.json/simulate --tables your.json/' "$source/README.md" > "$folder/broken.md"
if cmp --quiet "$source/README.md" "$folder/broken.md"; then fail "nothing to break in README.md"; fi
if run_section "$folder/broken.md" broken; then fail "a command that has no tables passes"; fi
grep -q 'your.json' "$folder/broken.err" || fail "another command failed: $(cat "$folder/broken.err")"
