#!/usr/bin/env bash
# Nothing but the functions of engine.h can be seen in the libraries, and nothing in them prints,
# exits or aborts. The rules are tried on a library that breaks them; without nm, or when nm shows
# nothing, the test fails.
. "$(dirname "$0")/common.sh"

nm=$(command -v nm) || fail "no nm here"
headers=$NEUROSHARD_SOURCE/include/neuroshard/engine
cat "$headers"/*.h | grep -v '^ *[/ ]\*' | grep -o 'neuroshard_[a-z0-9_]*(' | tr -d '(' | sort -u > "$room/declared"
[ -s "$room/declared" ] || fail "no functions found in $headers"

# Output, input from the terminal, and ends of the process: C functions with their fortified forms,
# and the C++ streams of the process. A process ends by std::terminate only when the engine is broken.
forbidden='^(_*(f|v|vf|d|vd)?printf(_chk)?|_*f?puts(_unlocked)?|_*putchar(_unlocked)?|_*f?putc(_unlocked)?|fwrite(_unlocked)?|perror|psignal|syslog|getchar|gets|_*(quick_)?exit|_Exit|abort|raise|kill|_*assert_fail|std(in|out|err)|_ZSt[34](cin|cout|cerr|clog)|_ZSt4(cout|cerr|clog)|_ZNSt8ios_base4InitC[12]Ev)(@.*)?$'

# check_symbols LIBRARY FLAGS..: lists what is wrong, nothing when all is well.
check_symbols() {
  local library=$1
  shift
  "$nm" "$@" --defined-only "$library" > "$room/defined"
  "$nm" "$@" --undefined-only "$library" > "$room/undefined"
  [ -s "$room/defined" ] && [ -s "$room/undefined" ] || fail "nm shows nothing of $library"
  # Of the C++ runtime a few "unique" objects stay visible, the same ones in every C++ program.
  awk 'NF == 3 && $2 != "A" && !($2 == "u" && $3 ~ /^_ZZ?NK?St/) { sub(/@.*/, "", $3); print $3 }' \
    "$room/defined" | sort -u > "$room/exported"
  comm -13 "$room/declared" "$room/exported" | sed 's/^/exported, not in engine.h: /'
  comm -23 "$room/declared" "$room/exported" | sed 's/^/in engine.h, not exported: /'
  awk '{ print $NF }' "$room/undefined" | grep -E "$forbidden" | sed 's/^/used: /' || true
}

for library in libengine.so libengine.a; do
  flags=(--extern-only)
  [ $library = libengine.a ] || flags+=(--dynamic)
  wrong=$(check_symbols "$NEUROSHARD_BUILD/lib/$library" "${flags[@]}")
  [ -z "$wrong" ] || fail "$library: $wrong"
  echo "$library: $(wc -l < "$room/exported") functions, no other symbol"
done

# The check itself can fail.
cat > "$room/bad.cpp" << 'END'
#include <cstdio>
#include <cstdlib>
#include <iostream>
extern "C" void neuroshard_not_declared() { std::puts("x"); }
void stray() { std::cout << 1; std::printf("%d", std::rand()); std::abort(); }
void leave() { std::exit(1); }
END
"$NEUROSHARD_CXX" -shared -fPIC "$room/bad.cpp" -o "$room/bad.so"
wrong=$(check_symbols "$room/bad.so" --extern-only --dynamic)
for expected in 'engine.h: neuroshard_not_declared' 'engine.h: _Z5strayv' 'not exported: neuroshard_plan_create' \
  'used: puts' 'used: printf' 'used: _ZSt4cout' 'used: abort' 'used: exit'; do
  grep -q "$expected" <<< "$wrong" || fail "the check does not see '$expected' in: $wrong"
done
