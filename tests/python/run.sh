#!/usr/bin/env bash
# The wheel in dist/, as strangers have it: installed without a network into an empty environment of
# every Python from 3.8 on that this machine has, where tests/python/test_*.py run. Where there is a C
# compiler, the structs are held against the header's; where there is mypy ($NEUROSHARD_MYPY, or on
# PATH), the package is typed strictly, beside torch's own types where there is an environment for
# scripts/test-torchrec.sh.
#   run.sh          under every Python
#   run.sh --ends   under the oldest and the newest
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/common.sh

if [ $# -gt 1 ] || { [ $# -eq 1 ] && [ "$1" != --ends ]; }; then
  echo "run.sh: found '$*', expected nothing or --ends" >&2
  exit 2
fi

wheels=(dist/neuroshard_engine-"$(cat VERSION)"-*_"$(uname -m)".whl)
if ! [ -f "${wheels[0]}" ]; then
  echo "run.sh: no wheel in dist/; scripts/wheel.sh makes one" >&2
  exit 2
fi
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# Each version once, from the oldest on: those on PATH, and those of pyenv, whose own stand-ins on PATH
# may not run.
pythons() {
  local candidate version seen=" "
  for candidate in $(compgen -c | grep -xE 'python3(\.[0-9]+)?' | sort -u) \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    version=$("$candidate" -c 'import ctypes, ensurepip, sys, venv
assert sys.version_info >= (3, 8)
print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
    [[ $seen == *" $version "* ]] && continue
    seen+="$version "
    echo "$version $candidate"
  done | sort -V | cut -d ' ' -f 2-
}

mapfile -t found < <(pythons)
if [ ${#found[@]} -eq 0 ]; then
  need_packages python3 python3-venv
  mapfile -t found < <(pythons)
fi
if [ ${#found[@]} -eq 0 ]; then
  echo "run.sh: found no Python 3.8 or newer that can make environments" >&2
  exit 1
fi
if [ "${1:-}" = --ends ] && [ ${#found[@]} -gt 2 ]; then
  found=("${found[0]}" "${found[-1]}")
fi
root=$PWD
# In an environment of its own, from an empty folder, so that the package can only be the installed one.
run_under() {
  local python=$1 own=$2
  mkdir -p "$own/empty"
  "$python" -m venv "$own/environment"
  "$own/environment/bin/python" -m pip install --quiet --no-index "${wheels[0]}"
  (cd "$own/empty" && env -u PYTHONPATH NEUROSHARD_EXAMPLES="$root/examples" \
    "$own/environment/bin/python" -W error -m unittest discover -s "$root/tests/python" > "$own/log" 2>&1) ||
    { cat "$own/log" >&2; echo "run.sh: the tests fail under $("$python" --version)" >&2; return 1; }
  echo "$("$python" --version): $(grep '^Ran ' "$own/log" | cut -d ' ' -f 1-3)"
  rm -rf "$own"
}

# Two at a time: one has a processor to itself for most of it.
for ((k = 0; k < ${#found[@]}; k += 2)); do
  runs=()
  for python in "${found[@]:k:2}"; do
    run_under "$python" "$room/$((k + ${#runs[@]}))" &
    runs+=($!)
  done
  for run in "${runs[@]}"; do wait "$run"; done
done

if command -v "${CC:-cc}" > /dev/null; then
  "${found[0]}" tests/python/struct_layout.py > "$room/layout.c"
  "${CC:-cc}" -Iinclude -Ibuild/static/include "$room/layout.c" -o "$room/layout"
  "$room/layout"
fi
mypy=${NEUROSHARD_MYPY:-mypy}
if "$mypy" --version > /dev/null 2>&1; then
  beside=()
  for each in "${NEUROSHARD_TORCHREC_VENV:-}" "$root"/build/torchrec-{1.9-,}venv; do
    if [ -x "$each/bin/python" ]; then
      beside=(--python-executable "$each/bin/python")
      break
    fi
  done
  (cd python && "$mypy" --cache-dir ../build/mypy --strict --ignore-missing-imports "${beside[@]}" neuroshard_engine)
fi
