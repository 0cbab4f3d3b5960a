#!/usr/bin/env bash
# Runs the command of a .deb and of an OCI image: unpacks both, checks every digest of the image, and, as
# root, runs its layer in a root that holds nothing else. Fails where one does not say its version.
#
#   try_packages.sh DEB OCI_TAR [EMULATOR]
#
# EMULATOR: a static program that runs commands of another machine.
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "try_packages.sh: found '$*', expected DEB OCI_TAR [EMULATOR]" >&2
  exit 2
fi
emulator=()
[ $# -eq 2 ] || emulator=("$(command -v "$3")")
# in_root ROOT COMMAND..: as on a machine that has nothing else, but for the emulator.
in_root() {
  local root=$1
  shift
  if [ ${#emulator[@]} -gt 0 ]; then
    cp "${emulator[0]}" "$root/emulator"
    set -- /emulator "$@"
  fi
  env -i "$(command -v chroot)" "$root" "$@"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(dpkg-deb --field "$1" Version)

dpkg-deb --extract "$1" "$work/deb"
dpkg-deb --control "$1" "$work/control"
(cd "$work/deb" && md5sum --check --quiet "$work/control/md5sums")
said=$(env -i "${emulator[@]}" "$work/deb/usr/bin/neuroshard" --version | head -n 1)
[[ $said == *"$version"* ]] || { echo "try_packages.sh: the .deb says '$said', expected $version" >&2; exit 1; }
if [ "$(id -u)" -eq 0 ]; then
  # As on a machine without any other package, so that a dependency would be missed.
  mkdir -p "$work/system/var/lib/dpkg"/{info,updates,triggers}
  touch "$work/system/var/lib/dpkg"/{status,available}
  dpkg --root="$work/system" --log=/dev/null --force-architecture --install "$1" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  in_root "$work/system" /usr/bin/neuroshard --version > /dev/null
fi

mkdir "$work/layout" "$work/image"
tar --extract --file "$2" --directory "$work/layout"
for blob in "$work"/layout/blobs/sha256/*; do
  echo "$(basename "$blob")  $blob" | sha256sum --check --quiet
done
# From index to manifest to layer, as whoever runs the image finds it.
digest() { python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]: value = value[int(key) if key.isdigit() else key]
print(value.split(":")[-1])' "$@"; }
blobs=$work/layout/blobs/sha256
manifest=$(digest "$work/layout/index.json" manifests 0 digest)
config=$(digest "$blobs/$manifest" config digest)
layer=$(digest "$blobs/$manifest" layers 0 digest)
entrypoint=$(digest "$blobs/$config" config Entrypoint 0)
tar --extract --file "$blobs/$layer" --directory "$work/image"
if [ "$(id -u)" -eq 0 ]; then
  said=$(in_root "$work/image" "$entrypoint" --version | head -n 1)
else
  said=$(env -i "${emulator[@]}" "$work/image$entrypoint" --version | head -n 1)
fi
[[ $said == *"$version"* ]] || { echo "try_packages.sh: the image says '$said', expected $version" >&2; exit 1; }
echo "the .deb and the image run: $said"
