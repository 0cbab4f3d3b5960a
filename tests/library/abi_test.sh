#!/usr/bin/env bash
# The binary interface is the one in libengine.abi beside this file: every declaration, constant and
# symbol version. `abi_test.sh --update` writes that file anew. Within a major version lines may be
# added, and fields at the end of structs that have a struct_size; nothing else may change.
. "$(dirname "$0")/common.sh"

snapshot=$NEUROSHARD_SOURCE/tests/library/libengine.abi
flags=(-std=c11 -E -I "$NEUROSHARD_SOURCE/include" -I "$NEUROSHARD_BUILD/include")
header=$NEUROSHARD_SOURCE/include/neuroshard/engine.h

# What the preprocessor leaves of our own headers, a declaration a line, in any order.
declarations() {
  "$NEUROSHARD_CC" "${flags[@]}" "$header" |
    awk '/^# [0-9]+ "/ { ours = $3 ~ /neuroshard\/engine(\/[a-z_]+)?\.h"$/; next } ours' |
    tr '\n' ' ' | sed -E 's/__attribute__\(\(visibility\("default"\)\)\)//g; s/[[:space:]]+/ /g; s/ ?([;,(){}=]) ?/\1/g; s/[,;{]/& /g' |
    awk 'BEGIN { RS = "" } { depth = 0
      for (i = 1; i <= length($0); ++i) {
        c = substr($0, i, 1); printf "%s", c
        if (c == "{") ++depth; if (c == "}") --depth
        if (c == ";" && depth == 0) printf "\n" } }' | sed -E 's/^ +//; s/ +$//; s/ +/ /g' | sed '/^$/d' | sort
}

{
  echo "# Written by abi_test.sh --update"
  declarations
  "$NEUROSHARD_CC" "${flags[@]}" -dM "$header" |
    grep '^#define NEUROSHARD_' | grep -Ev '_H_|_VERSION|_API' | sort
  echo "soname $(objdump -p "$NEUROSHARD_BUILD/lib/libengine.so" | awk '$1 == "SONAME" { print $2 }')"
  nm --dynamic --defined-only "$NEUROSHARD_BUILD/lib/libengine.so" | awk '$2 == "T" { print $3 }' | sort
} > "$room/now"
[ "$(grep -c '@@NEUROSHARD_' "$room/now")" -gt 30 ] || fail "nm shows hardly any symbol"
[ "$(grep -c '^neuroshard_status neuroshard_.*);$' "$room/now")" -gt 15 ] || fail "hardly any declaration"

if [ "${1:-}" = --update ]; then
  cp "$room/now" "$snapshot"
  exit
fi
diff -u "$snapshot" "$room/now" || fail "the binary interface is not that of libengine.abi"
echo "$(wc -l < "$snapshot") lines as they were"
