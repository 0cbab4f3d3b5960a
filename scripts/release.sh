#!/usr/bin/env bash
# Makes build/release-files/neuroshard-VERSION-linux-MACHINE.tar.gz of the last commit, and its
# sha256: static command, libengine (static; shared, needing the C library alone), headers, models,
# manual pages, completion, licence, notices, checksums. Beside it, with their sha256 in one file: a .deb
# of the command, an OCI image of it alone, its SBOM (SPDX) and the notices of what is linked into it.
# The same commit, compiler and C library give the same bytes, wherever the tree lies.
#   release.sh            makes it
#   release.sh --arm64    makes that of 64-bit Arm, on another machine, by the cross compiler
#   .. --verify           makes it, makes it again in a clone elsewhere, and compares
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
. scripts/arm64.sh

machine=$(uname -m) preset=static verify="" emulator="" flags=()
for word in "$@"; do
  case $word in
    --arm64) machine=aarch64 preset=arm64-static emulator=qemu-aarch64-static flags=(--arm64) ;;
    --verify) verify=yes ;;
    *)
      echo "release.sh: found '$word', expected --arm64 or --verify" >&2
      exit 2
      ;;
  esac
done
need_packages g++ cmake ninja-build git python3 libboost-program-options1.81-dev
# New files, too: sources and models are found by pattern.
if [ -n "$(git status --porcelain)" ]; then
  echo "release.sh: the tree differs from its last commit; commit or stash first" >&2
  exit 1
fi
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
umask 022

[ -z "$emulator" ] || need_arm64
name=neuroshard-$(cat VERSION)-linux-$machine
files=build/release-files
mkdir -p "$files"
rm -rf "$files/$name"*
build $preset
quietly release.log cmake --install build/$preset --prefix "$files/$name" --strip

packages=$(scripts/release/packages.sh "$files/$name" "$(cat VERSION)" "$files" "$machine")
cp "$files/$name.third-party-notices.txt" "$files/$name/share/doc/neuroshard/THIRD_PARTY_NOTICES.txt"

# Checksums of all that is in it, checked by: sha256sum --check SHA256SUMS
(
  cd "$files/$name"
  find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum > SHA256SUMS
)
tar --create --directory "$files" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
  --numeric-owner --format=ustar "$name" | gzip --no-name -9 > "$files/$name.tar.gz"
(cd "$files" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
cat "$files/$name.tar.gz.sha256"
(cd "$files" && xargs sha256sum <<< "$packages" > "$name.packages.sha256")
cat "$files/$name.packages.sha256"
scripts/release/try_packages.sh "$files/$(grep '\.deb$' <<< "$packages")" "$files/$name.oci.tar" ${emulator:+"$emulator"}

if [ "$verify" = yes ]; then
  elsewhere=$(mktemp -d)
  trap 'rm -rf "$elsewhere"' EXIT
  quietly release.log git clone --no-hardlinks . "$elsewhere/a longer path/neuroshard"
  "$elsewhere/a longer path/neuroshard/scripts/release.sh" "${flags[@]}" > /dev/null
  cmp "$files/$name.tar.gz" "$elsewhere/a longer path/neuroshard/$files/$name.tar.gz"
  cmp "$files/$name.packages.sha256" "$elsewhere/a longer path/neuroshard/$files/$name.packages.sha256"
  tar --extract --gzip --file "$files/$name.tar.gz" --directory "$elsewhere"
  (cd "$elsewhere/$name" && sha256sum --check --quiet SHA256SUMS && $emulator bin/neuroshard --version)
  echo "the same bytes from a clone elsewhere, and the checksums inside hold"
fi
