#!/usr/bin/env bash
# Makes build/release-files/neuroshard-VERSION-linux-MACHINE.tar.gz of the last commit, and its
# sha256: static command, libengine (static; shared, needing the C library alone), headers, models,
# manual pages, completion, licence, notices, checksums. Beside it, with their sha256 in one file: a .deb
# of the command, an OCI image of it alone, its SBOM (SPDX) and the notices of what is linked into it.
# The same commit, compiler and C library give the same bytes, wherever the tree lies.
#   release.sh            makes it
#   release.sh --verify   makes it, makes it again in a clone elsewhere, and compares
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

verify=${1:-}
if [ $# -gt 1 ] || { [ -n "$verify" ] && [ "$verify" != --verify ]; }; then
  echo "release.sh: found '$*', expected nothing or --verify" >&2
  exit 2
fi
need_packages g++ cmake ninja-build git python3 libboost-program-options1.81-dev
# New files, too: sources and models are found by pattern.
if [ -n "$(git status --porcelain)" ]; then
  echo "release.sh: the tree differs from its last commit; commit or stash first" >&2
  exit 1
fi
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
umask 022

name=neuroshard-$(cat VERSION)-linux-$(uname -m)
files=build/release-files
rm -rf "$files"
mkdir -p "$files"
build static
quietly release.log cmake --install build/static --prefix "$files/$name" --strip

packages=$(scripts/release/packages.sh "$files/$name" "$(cat VERSION)" "$files")
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
scripts/release/try_packages.sh "$files"/neuroshard_*.deb "$files/$name.oci.tar"

if [ "$verify" = --verify ]; then
  elsewhere=$(mktemp -d)
  trap 'rm -rf "$elsewhere"' EXIT
  quietly release.log git clone --no-hardlinks . "$elsewhere/a longer path/neuroshard"
  "$elsewhere/a longer path/neuroshard/scripts/release.sh" > /dev/null
  cmp "$files/$name.tar.gz" "$elsewhere/a longer path/neuroshard/$files/$name.tar.gz"
  cmp "$files/$name.packages.sha256" "$elsewhere/a longer path/neuroshard/$files/$name.packages.sha256"
  tar --extract --gzip --file "$files/$name.tar.gz" --directory "$elsewhere"
  (cd "$elsewhere/$name" && sha256sum --check --quiet SHA256SUMS && bin/neuroshard --version)
  echo "the same bytes from a clone elsewhere, and the checksums inside hold"
fi
