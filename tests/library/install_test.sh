#!/usr/bin/env bash
# Programs of strangers build against the installed tree, shared and static, through CMake and
# through pkg-config, without a warning, and make byte for byte the plan that the command makes.
. "$(dirname "$0")/common.sh"

# A build of the command alone is refused before anything is copied, with the way out.
for missing in neuroshard.bash libengine.a; do
  sed "s/\"\([^\"]*\)$missing\"/\"\1missing-$missing\"/g" "$NEUROSHARD_BUILD/cmake_install.cmake" \
    > "$room/part.cmake"
  if cmake -DCMAKE_INSTALL_PREFIX="$room/part" -P "$room/part.cmake" > "$room/log" 2>&1; then
    fail "installed without $missing"
  fi
  tr -s '\n ' '  ' < "$room/log" > "$room/message"
  grep -q "missing-$missing is not built, nothing was installed: first run cmake --build" "$room/message" ||
    fail "without $missing: $(cat "$room/log")"
  [ ! -e "$room/part" ] || fail "half installed without $missing"
done

install_engine
tables=$NEUROSHARD_SOURCE/examples/dlrm_dcnv2.json
"$room/installed/bin/neuroshard" plan --tables "$tables" --devices 8 --device-memory 80GB \
  --algorithm neuroshard --output "$room/expected.json" > /dev/null

# run PROGRAM: it succeeds, prints nothing and writes the command's plan.
run() {
  local printed
  printed=$("$1" "$tables" "$room/plan.json" 2>&1) || fail "$1: $printed"
  [ -z "$printed" ] || fail "$1 printed: $printed"
  cmp "$room/expected.json" "$room/plan.json" || fail "$1 makes another plan than the command"
  rm "$room/plan.json"
}

# The tree may be moved after it was installed.
mv "$room/installed" "$room/moved"
# build FOLDER FLAG..: the consumer's programs in $room/FOLDER.
build() {
  local folder=$room/$1
  cmake -G Ninja -S "$NEUROSHARD_SOURCE/tests/library/consumer" -B "$folder" \
    -DCMAKE_PREFIX_PATH="$room/moved" -DCMAKE_C_COMPILER="$NEUROSHARD_CC" "${@:2}" \
    > "$room/log" 2>&1 || { tail -n 30 "$room/log"; fail "configure $1"; }
  cmake --build "$folder" > "$room/log" 2>&1 || { tail -n 30 "$room/log"; fail "build $1"; }
}
build consumer -DCMAKE_CXX_COMPILER="$NEUROSHARD_CXX"
for program in c_shared c_static c_default cpp_shared cpp_static cpp_default; do
  run "$room/consumer/$program"
done
build only_c -DONLY_C=ON
for program in c_shared c_static c_default; do run "$room/only_c/$program"; done
# needs FILE: the shared libraries it loads. (Into a variable: grep -q ends a pipe early.)
needs() { ldd "$1" || fail "ldd $1"; }
needed=$(needs "$room/consumer/cpp_static")
if grep -q libengine <<< "$needed"; then fail "cpp_static needs libengine.so"; fi
needed=$(needs "$room/consumer/c_default")
grep -q 'libengine\.so\.0 => ' <<< "$needed" || fail "c_default is not shared"
needed=$(needs "$room/moved/lib/libengine.so")
grep -q 'libc\.so' <<< "$needed" || fail "ldd shows nothing of libengine.so"
if grep -q boost <<< "$needed"; then fail "libengine.so needs Boost"; fi

# Each header compiles by itself.
for header in "$room"/moved/include/neuroshard/{,engine/}*.{h,hpp}; do
  compiler=("$NEUROSHARD_CC" -std=c11 -x c)
  [[ $header == *.h ]] || compiler=("$NEUROSHARD_CXX" -std=c++20 -x c++)
  "${compiler[@]}" -Wall -Wextra -Werror -pedantic -fsyntax-only -I "$room/moved/include" - \
    <<< "#include <${header#"$room/moved/include/"}>
typedef int any;" || fail "$header does not compile alone"
done

# The examples of docs/LIBRARY.md compile as they stand and print a plan.
for language in c cpp; do
  sed -n '/^```'"$language"'$/,/^```$/p' "$NEUROSHARD_SOURCE/docs/LIBRARY.md" | sed '1d;$d' \
    > "$room/example.$language"
  [ -s "$room/example.$language" ] || fail "docs/LIBRARY.md has no example in $language"
done
flags=(-Wall -Wextra -Werror -pedantic -I "$room/moved/include" -L "$room/moved/lib" -lengine
  "-Wl,-rpath,$room/moved/lib")
"$NEUROSHARD_CC" -std=c11 "$room/example.c" "${flags[@]}" -o "$room/example_c"
"$NEUROSHARD_CXX" -std=c++20 "$room/example.cpp" "${flags[@]}" -o "$room/example_cpp"
if "$NEUROSHARD_CXX" -std=c++17 "$room/example.cpp" "${flags[@]}" -o "$room/too_old" 2> "$room/log"; then
  fail "engine.hpp compiles as C++17"
fi
grep -m 1 'error:' "$room/log" > "$room/first"
grep -q 'neuroshard/engine.hpp needs C++20' "$room/first" || fail "C++17: $(cat "$room/first")"
"$room/example_c" > "$room/printed"
grep -Eq '^[0-9.]+ ms$' "$room/printed" || fail "the C example prints no cost"
grep -q '^table 1, rows 0 to [0-9]*, columns ' "$room/printed" || fail "the C example prints no shard"
"$room/example_cpp" "$tables" > "$room/printed"
grep -q '"format": "neuroshard-plan"' "$room/printed" || fail "the C++ example prints no plan"

for file in share/man/man1/neuroshard-plan.1 share/bash-completion/completions/neuroshard \
  share/neuroshard/models/h200_sim.safetensors share/doc/neuroshard/LICENSE; do
  [ -s "$room/moved/$file" ] || fail "$file is not installed"
done

# What the installed documents tell to run or import lies where they say, seen from their folder.
documents=$room/moved/share/doc/neuroshard
mentioned=$(grep -rohE '\bpython/[a-z_]+\.py' "$documents" --include=*.md | sort -u)
for file in python/convert_indices.py; do
  grep -qx "$file" <<< "$mentioned" || fail "no installed document mentions $file"
done
for file in $mentioned; do
  cmp "$NEUROSHARD_SOURCE/$file" "$documents/$file" || fail "$file is mentioned, not installed"
done

if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH=$room/moved/lib/pkgconfig
  pkg-config --exact-version="$(cat "$NEUROSHARD_SOURCE/VERSION")" neuroshard || fail "version of .pc"
  read -ra flags <<< "$(pkg-config --cflags --libs neuroshard)"
  read -ra static_flags <<< "$(pkg-config --cflags --static --libs neuroshard)"
  strict=(-std=c11 -O1 -Wall -Wextra -Werror -pedantic)
  sources=("$NEUROSHARD_SOURCE"/tests/library/consumer/{main,small}.c)
  "$NEUROSHARD_CC" "${strict[@]}" "${sources[@]}" "${flags[@]}" -o "$room/by_pkg_config"
  LD_LIBRARY_PATH=$room/moved/lib run "$room/by_pkg_config"
  rm "$room"/moved/lib/libengine.so*  # now -lengine can only mean the static one
  "$NEUROSHARD_CC" "${strict[@]}" "${sources[@]}" "${static_flags[@]}" -o "$room/static_by_pkg_config"
  run "$room/static_by_pkg_config"
else
  echo "no pkg-config here: neuroshard.pc is not tested"
fi
echo "every consumer makes the command's plan"
