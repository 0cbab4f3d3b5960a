#!/usr/bin/env bash
# Packages of an installed static build, for containers: a .deb, an OCI image, an SBOM and notices of
# what is linked. Needs dpkg-deb and python3, no root and no network. The same tree and
# $SOURCE_DATE_EPOCH give the same bytes.
#
#   packages.sh TREE VERSION OUTPUT_FOLDER [MACHINE]    prints what it made, a file a line
#
# MACHINE: aarch64 for what a cross compiler made, with Boost of build/arm64-boost; else that of this machine.
set -euo pipefail
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
  echo "packages.sh: found '$*', expected TREE VERSION OUTPUT_FOLDER [MACHINE]" >&2
  exit 2
fi
: "${SOURCE_DATE_EPOCH:?packages.sh: not set, expected the time of the commit}"
tree=$1 version=$2 output=$3 here=$(dirname "$0")
. "$here/linked.sh"
for tool in dpkg-deb dpkg-query python3; do
  command -v $tool > /dev/null || { echo "packages.sh: no $tool; packages are made on Debian" >&2; exit 1; }
done
machine=${4:-$(uname -m)} architecture=$(dpkg --print-architecture) tools="" boost=""
if [ "$machine" != "$(uname -m)" ]; then
  [ "$machine" = aarch64 ] || { echo "packages.sh: found machine '$machine', expected aarch64" >&2; exit 2; }
  architecture=arm64 tools=aarch64-linux-gnu- boost=$here/../../build/arm64-boost
fi
name=neuroshard-$version-linux-$machine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

write_notices "$output/$name.third-party-notices.txt"
linked_packages > "$work/libraries"
python3 "$here/sbom.py" "$tree/bin/neuroshard" "$version" "$tree/share/neuroshard/models" \
  "$output/$name.spdx.json" < "$work/libraries"
python3 "$here/oci_image.py" "$tree/bin/neuroshard" "$version" "$architecture" "$output/$name.oci.tar"

root=$work/root
documents=$root/usr/share/doc/neuroshard
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/man" "$documents"
cp "$tree/bin/neuroshard" "$root/usr/bin/"
cp -r "$tree/share/man/man1" "$root/usr/share/man/"
gzip --no-name -9 "$root"/usr/share/man/man1/*.1
cp -r "$tree/share/bash-completion" "$root/usr/share/"
{
  cat "$tree/share/doc/neuroshard/LICENSE"
  echo
  cat "$output/$name.third-party-notices.txt"
} > "$documents/copyright"
cp "$output/$name.spdx.json" "$documents/neuroshard.spdx.json"
cat > "$root/DEBIAN/control" << CONTROL
Package: neuroshard
Version: $version
Architecture: $architecture
Maintainer: The NeuroShard engine authors
Section: science
Priority: optional
Installed-Size: $(($(find "$root/usr" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') / 1024))
Description: decides which part of which embedding table goes on which GPU
 One static program. It plans the embedding tables of a recommendation model
 over GPUs, and needs neither a GPU nor any other package.
CONTROL
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
deb=neuroshard_${version}_$architecture.deb
# gzip: dpkg of every age reads it.
dpkg-deb --root-owner-group -Zgzip --build "$root" "$output/$deb" > /dev/null
printf '%s\n' "$deb" "$name.oci.tar" "$name.spdx.json" "$name.third-party-notices.txt"
