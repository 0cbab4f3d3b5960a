#!/usr/bin/env bash
# Makes dist/neuroshard_engine-VERSION-py3-none-manylinux_2_28_x86_64.whl: the Python package of
# python/neuroshard_engine with libengine and the static command inside, for every Python from 3.8 on.
# Needs no network and, beside what builds the command, nothing but python3. The same source, compiler
# and libraries give the same bytes.
#   wheel.sh            makes it
#   wheel.sh --arm64    makes that of 64-bit Arm, ..manylinux_2_28_aarch64.whl, by a cross compiler, which
#                       it installs with an emulator, as it fetches Boost for Arm, where they are missing;
#                       scripts/arm64_check.sh wheel runs it
#   .. --verify         makes it twice, and compares
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/arm64.sh

machine=x86_64 preset=static tools="" c_compiler=${CC:-gcc} compiler=${CXX:-g++} verify=""
for word in "$@"; do
  case $word in
    --arm64)
      machine=aarch64 preset=arm64-static tools=aarch64-linux-gnu-
      c_compiler=${tools}gcc compiler=${tools}g++
      ;;
    --verify) verify=yes ;;
    *)
      echo "wheel.sh: found '$word', expected --arm64 or --verify" >&2
      exit 2
      ;;
  esac
done
if [ "$(uname -m)" != x86_64 ]; then
  echo "wheel.sh: found a machine of $(uname -m), expected x86_64: only there are wheels tried" >&2
  exit 2
fi
need_packages g++ cmake ninja-build python3 binutils libboost-program-options1.81-dev
[ $machine = x86_64 ] || need_arm64
export LC_ALL=C TZ=UTC
umask 022
build $preset neuroshard neuroshard_shared
built=build/$preset work=build/wheel-$machine loader=ld-linux-${machine/_/-}.so

# The tag's promise: systems with glibc 2.28 or newer, and libraries that every one of them has
# (PEP 600). So libengine is linked again, see scripts/wheel/older_glibc.c, and held against that.
glibc=2.28
link_library() {
  local out=$1 name wraps=() object=$1.older.o
  for name in exp exp2 log log2 pow pthread_create pthread_join pthread_mutex_trylock pthread_once \
    __pthread_key_create stat lstat fstat; do
    wraps+=("-Wl,--wrap=$name")
  done
  "$c_compiler" -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -c scripts/wheel/older_glibc.c -o "$object"
  local rooms=("$built"/{engine,cuda,io,search,nn,engine/core}/libneuroshard_*.a)
  "$compiler" -shared -o "$out" -Wl,-soname,libengine.so \
    "$built"/engine/api/CMakeFiles/neuroshard_c_api.dir/folders/*.o "$object" \
    -Wl,--start-group "${rooms[@]}" -Wl,--end-group -static-libstdc++ "${wraps[@]}" \
    -Wl,--version-script=engine/api/exports.map -Wl,--gc-sections -Wl,-z,defs -Wl,--build-id=none -s \
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -Wl,--pop-state
  rm "$object"
}

# Fails, naming them, where the library needs newer symbols or other libraries.
check_library() {
  local needs version others
  needs=$(${tools}objdump -p "$1")
  others=$(awk '$1 == "NEEDED" { print $2 }' <<< "$needs" |
    grep -vxE "lib(c|m|pthread|gcc_s)\.so\.[0-9]+|$loader\.[0-9]" || true)
  version=$(grep -oE 'GLIBC_[0-9.]+' <<< "$needs" | cut -d _ -f 2 | sort -V | tail -n 1)
  if [ -n "$others" ] || [ "$(printf '%s\n' "$version" $glibc | sort -V | tail -n 1)" != $glibc ]; then
    echo "wheel.sh: $1 needs glibc $version and '$others', expected at most glibc $glibc" >&2
    ${tools}objdump -T "$1" | grep -E "GLIBC_$version\b" >&2
    return 1
  fi
  echo "libengine needs glibc $version, the command none"
}

make_wheel() {
  mkdir -p "$1" "$work"
  link_library "$work/libengine.so"
  check_library "$work/libengine.so"
  if ${tools}objdump -p "$built/neuroshard" | grep -q NEEDED; then
    echo "wheel.sh: $built/neuroshard needs libraries" >&2
    return 1
  fi
  ${tools}strip -o "$work/neuroshard" "$built/neuroshard"
  python3 scripts/wheel/make_wheel.py . "$work/libengine.so" "$work/neuroshard" \
    "$(cat VERSION)" "$tag" "$1"
}

tag=py3-none-manylinux_${glibc/./_}_$machine
make_wheel dist
wheel=dist/neuroshard_engine-$(cat VERSION)-$tag.whl
bytes=$(stat -c %s "$wheel")
echo "$bytes bytes"
if [ "$bytes" -ge $((12 << 20)) ]; then
  echo "wheel.sh: $wheel has 12 MiB or more" >&2
  exit 1
fi
if [ "$verify" = yes ]; then
  make_wheel "$work/again" > /dev/null
  cmp "$wheel" "$work/again/$(basename "$wheel")"
  echo "the same bytes a second time"
fi
