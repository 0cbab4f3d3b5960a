#!/usr/bin/env bash
# Makes dist/neuroshard_engine-VERSION-py3-none-manylinux_2_28_x86_64.whl: the Python package of
# python/neuroshard_engine with libengine and the static command inside, for every Python from 3.8 on.
# Needs no network and, beside what builds the command, nothing but python3. The same source, compiler
# and libraries give the same bytes.
#   wheel.sh            makes it
#   wheel.sh --verify   makes it twice, and compares
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

if [ $# -gt 1 ] || { [ $# -eq 1 ] && [ "$1" != --verify ]; }; then
  echo "wheel.sh: found '$*', expected nothing or --verify" >&2
  exit 2
fi
if [ "$(uname -m)" != x86_64 ]; then
  echo "wheel.sh: found a machine of $(uname -m), expected x86_64: only there is the wheel tried" >&2
  exit 2
fi
need_packages g++ cmake ninja-build python3 binutils libboost-program-options1.81-dev
export LC_ALL=C TZ=UTC
umask 022
build static neuroshard neuroshard_shared

# The tag's promise: systems with glibc 2.28 or newer, and libraries that every one of them has
# (PEP 600). So libengine is linked again, see scripts/wheel/older_glibc.c, and held against that.
glibc=2.28
link_library() {
  local out=$1 name wraps=() object=$1.older.o
  for name in exp exp2 log log2 pow pthread_create pthread_join pthread_mutex_trylock pthread_once \
    __pthread_key_create stat lstat fstat; do
    wraps+=("-Wl,--wrap=$name")
  done
  "${CC:-gcc}" -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -c scripts/wheel/older_glibc.c -o "$object"
  local rooms=(build/static/{engine,cuda,io,search,nn,engine/core}/libneuroshard_*.a)
  "${CXX:-g++}" -shared -o "$out" -Wl,-soname,libengine.so \
    build/static/engine/api/CMakeFiles/neuroshard_c_api.dir/folders/*.o "$object" \
    -Wl,--start-group "${rooms[@]}" -Wl,--end-group -static-libstdc++ "${wraps[@]}" \
    -Wl,--version-script=engine/api/exports.map -Wl,--gc-sections -Wl,-z,defs -Wl,--build-id=none -s \
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -Wl,--pop-state
  rm "$object"
}

# Fails, naming them, where the library needs newer symbols or other libraries.
check_library() {
  local needs version others
  needs=$(objdump -p "$1")
  others=$(awk '$1 == "NEEDED" { print $2 }' <<< "$needs" |
    grep -vxE 'lib(c|m|pthread|gcc_s)\.so\.[0-9]+|ld-linux-x86-64\.so\.2' || true)
  version=$(grep -oE 'GLIBC_[0-9.]+' <<< "$needs" | cut -d _ -f 2 | sort -V | tail -n 1)
  if [ -n "$others" ] || [ "$(printf '%s\n' "$version" $glibc | sort -V | tail -n 1)" != $glibc ]; then
    echo "wheel.sh: $1 needs glibc $version and '$others', expected at most glibc $glibc" >&2
    objdump -T "$1" | grep -E "GLIBC_$version\b" >&2
    return 1
  fi
  echo "libengine needs glibc $version, the command none"
}

make_wheel() {
  mkdir -p "$1" build/wheel
  link_library build/wheel/libengine.so
  check_library build/wheel/libengine.so
  if objdump -p build/static/neuroshard | grep -q NEEDED; then
    echo "wheel.sh: build/static/neuroshard needs libraries" >&2
    return 1
  fi
  strip -o build/wheel/neuroshard build/static/neuroshard
  python3 scripts/wheel/make_wheel.py . build/wheel/libengine.so build/wheel/neuroshard \
    "$(cat VERSION)" "py3-none-manylinux_${glibc/./_}_x86_64" "$1"
}

make_wheel dist
wheel=dist/neuroshard_engine-$(cat VERSION)-py3-none-manylinux_${glibc/./_}_x86_64.whl
bytes=$(stat -c %s "$wheel")
echo "$bytes bytes"
if [ "$bytes" -ge $((12 << 20)) ]; then
  echo "wheel.sh: $wheel has 12 MiB or more" >&2
  exit 1
fi
if [ "${1:-}" = --verify ]; then
  make_wheel build/wheel/again > /dev/null
  cmp "$wheel" "build/wheel/again/$(basename "$wheel")"
  echo "the same bytes a second time"
fi
