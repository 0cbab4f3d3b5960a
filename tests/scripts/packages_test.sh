#!/usr/bin/env bash
# Packages of a program in the command's place: what is in them, that they run, that the same tree gives
# the same bytes at another time and elsewhere, and that a changed image is told.
set -euo pipefail
for tool in dpkg-deb python3 gcc; do
  command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
scripts=${NEUROSHARD_SOURCE:?}/scripts/release
for file in /usr/include/boost/version.hpp "$(readlink -f "$(g++ -print-file-name=libstdc++.a)")"; do
  dpkg-query -S "$file" > /dev/null 2>&1 || { echo "skipped: no package has $file"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$1" >&2; exit 1; }

tree=$folder/tree
mkdir -p "$tree"/{bin,share/man/man1,share/bash-completion/completions,share/doc/neuroshard,share/neuroshard/models}
echo 'int puts(const char*); int main(void) { return puts("neuroshard 1.2.3") < 0; }' > "$folder/say.c"
gcc -static "$folder/say.c" -o "$tree/bin/neuroshard"
echo .TH > "$tree/share/man/man1/neuroshard.1"
echo "complete" > "$tree/share/bash-completion/completions/neuroshard"
echo "MIT License" > "$tree/share/doc/neuroshard/LICENSE"
echo "a model" > "$tree/share/neuroshard/models/some_sim.safetensors"
cp -r "$tree" "$folder/other tree"
mkdir "$folder/a" "$folder/b"
export SOURCE_DATE_EPOCH=1700000000
"$scripts/packages.sh" "$tree" 1.2.3 "$folder/a" > "$folder/made"
touch "$folder/other tree/bin/neuroshard"
"$scripts/packages.sh" "$folder/other tree" 1.2.3 "$folder/b" > /dev/null
[ "$(wc -l < "$folder/made")" = 4 ] || fail "expected 4 files"
while read -r file; do
  cmp "$folder/a/$file" "$folder/b/$file"
done < "$folder/made"

deb=$(echo "$folder"/a/*.deb) image=$(echo "$folder"/a/*.oci.tar)
"$scripts/try_packages.sh" "$deb" "$image" | grep -q 'run: neuroshard 1.2.3'
held=$(dpkg-deb --contents "$deb" | awk '{ print $6 }')
for path in bin/neuroshard share/man/man1/neuroshard.1.gz share/bash-completion/completions/neuroshard \
  share/doc/neuroshard/copyright share/doc/neuroshard/neuroshard.spdx.json; do
  grep -qx "./usr/$path" <<< "$held" || fail "the .deb has no $path"
done
[ -z "$(dpkg-deb --field "$deb" Depends)" ] || fail "the .deb depends on something"

python3 - "$folder/a"/*.spdx.json "$tree" << 'CHECK'
import hashlib, json, sys
found = json.load(open(sys.argv[1]))
assert found["spdxVersion"] == "SPDX-2.3" and found["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
packages = {each["name"]: each for each in found["packages"]}
assert set(packages) == {"neuroshard", "boost", "libstdc++", "libgcc", "glibc", "some_sim.safetensors"}
for name, path in ("neuroshard", "bin/neuroshard"), ("some_sim.safetensors", "share/neuroshard/models/some_sim.safetensors"):
    digest = hashlib.sha256(open(f"{sys.argv[2]}/{path}", "rb").read()).hexdigest()
    assert packages[name]["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}], name
ids = {each["SPDXID"] for each in found["packages"]} | {"SPDXRef-DOCUMENT"}
assert len(ids) == len(found["packages"]) + 1
assert all(each[end] in ids for each in found["relationships"] for end in ("spdxElementId", "relatedSpdxElement"))
CHECK
# Each licence's own words, and none of the two megabytes of Boost's authors.
for words in 'Boost Software License - Version 1.0' 'GCC RUNTIME LIBRARY EXCEPTION' 'GNU LESSER GENERAL PUBLIC LICENSE' \
  'Section 6'; do
  grep -q "$words" "$folder"/a/*notices.txt || fail "the notices do not hold: $words"
done
[ "$(stat -c %s "$folder"/a/*notices.txt)" -lt 300000 ] || fail "notices of 300,000 bytes or more"

# A bit of the program turned in the image.
sed 's/neuroshard 1\.2\.3/neuroshard 1.2.4/' "$image" > "$folder/changed.tar"
! "$scripts/try_packages.sh" "$deb" "$folder/changed.tar" > "$folder/out" 2>&1 || fail "a changed image was taken"
grep -q 'FAILED' "$folder/out" || fail "a changed image failed for another reason"
