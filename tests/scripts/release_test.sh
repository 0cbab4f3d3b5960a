#!/usr/bin/env bash
# A release holds what its commit holds: no tree with changes or new files is made into one.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tree/models"
printf '#!/bin/sh\necho install ok installed\n' > "$folder/bin/dpkg-query"
chmod +x "$folder/bin/dpkg-query"
cp -r "${NEUROSHARD_SOURCE:?}/scripts" "$folder/tree/"
cd "$folder/tree"
git init --quiet
git add .
git -c user.name=test -c user.email=test commit --quiet --message test

# refused WHAT: release.sh says that the tree is not its last commit's.
refused() {
  if PATH=$folder/bin:$PATH scripts/release.sh > "$folder/out" 2>&1; then
    echo "a release was made: $1"
    exit 1
  fi
  if ! grep --quiet 'the tree differs from its last commit' "$folder/out"; then
    echo "not refused: $1"
    cat "$folder/out"
    exit 1
  fi
}
touch models/mine.safetensors
refused "a model that is in no commit"
rm models/mine.safetensors
echo >> scripts/release.sh
refused "a changed file"
