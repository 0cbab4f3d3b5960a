#!/usr/bin/env bash
# Programs of strangers build against the installed tree, shared and static, through CMake and
# through pkg-config, without a warning, and make byte for byte the plan that the command makes.
. "$(dirname "$0")/common.sh"

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
cmake -S "$NEUROSHARD_SOURCE/tests/library/consumer" -B "$room/consumer" \
  -DCMAKE_PREFIX_PATH="$room/moved" -DCMAKE_C_COMPILER="$NEUROSHARD_CC" \
  -DCMAKE_CXX_COMPILER="$NEUROSHARD_CXX" > "$room/log" 2>&1 || { tail -n 30 "$room/log"; fail "configure"; }
cmake --build "$room/consumer" > "$room/log" 2>&1 || { tail -n 30 "$room/log"; fail "build"; }
for program in c_shared c_static c_default cpp_shared cpp_static; do
  run "$room/consumer/$program"
done
if ldd "$room/consumer/cpp_static" | grep -q libengine; then fail "cpp_static needs libengine.so"; fi
ldd "$room/consumer/c_default" | grep -q 'libengine\.so\.0 => ' || fail "c_default is not shared"
if ldd "$room/moved/lib/libengine.so" | grep -q boost; then fail "libengine.so needs Boost"; fi

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
