#!/usr/bin/env bash
# scripts/gpu.sh with programs that only answer: every step runs whatever fails before it, what is
# done is not done again, results travel, and the table at the end says how it went.
set -euo pipefail
source=${NEUROSHARD_SOURCE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "gpu_test: $*" >&2; [ ! -e "$work/out" ] || cat "$work/out" >&2; exit 1; }

# program PATH: a program of the given text.
program() {
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash'; cat; } > "$1"
  chmod +x "$1"
}

# tree NAME: a fresh place with the script and everything it calls.
tree() {
  root=$work/$1
  mkdir -p "$root/scripts"
  cp "$source/scripts/gpu.sh" "$root/scripts"
  program "$root/build/gpu/tests/test_gpu" <<'P'
if [ "${FAKE_GPU:-yes}" = no ]; then echo "skipped: no GPU"; exit 77; fi
suites="communicator embedding_bag training"
[ "$1" = --list_content ] && { printf '%s*\n    a_case*\n' $suites >&2; exit 0; }
[[ $* == *--log_level=test_suite* ]] || exit 9
for suite in $suites; do
  [[ $* != *--run_test=$suite ]] || echo "ran $suite alone"
done
[[ $* != *--run_test=${FAKE_HANG:-none} ]] || exit 124
exit "${FAKE_TESTS:-0}"
P
  program "$root/build/gpu/bench/gpu_lookup_bench" <<< 'echo "copy 4300 GB/s"; exit "${FAKE_KERNELS:-0}"'
  program "$root/build/gpu/bench/gpu_plans_bench" <<'P'
echo "# fake"
while read -r tables plan devices; do
  [ -e "$tables" ] && [ -e "$plan" ] && [ "$devices" = 4 ] || exit 9
  echo "$plan 4.5 4 2:2.2"
  [ "${FAKE_STUDY:-0}" = 0 ] || exit "$FAKE_STUDY"
done < "$2"
P
  program "$root/build/gpu/bench/train_bench" <<< 'echo "cuda 20000 steps/s"'
  program "$root/bin/python3" <<< 'echo "skipped: python3 has no PyTorch"; exit 77'
  program "$root/bin/nvidia-smi" <<< 'echo "Fake GPU, 1.0"'
  program "$root/build/gpu/neuroshard" <<'P'
words="$*"
while [ $# -gt 0 ]; do [ "$1" = --output ] && output=$2; shift; done
case $words in
  --version) echo "neuroshard fake" ;;
  collect*)
    mkdir -p "$output"
    echo "0,1 2.5" >> "$output/data.txt"
    [ "${FAKE_COLLECT:-0}" = 0 ] || exit "$FAKE_COLLECT" ;;
  evaluate*) echo "error 3 %" ;;
  train*"--backend ${FAKE_BROKEN:-none} "*) exit 5 ;;
  train*)
    if [[ $words == *"--epochs 5 "* ]]; then
      [[ $words != *"--backend ${FAKE_SLOW:-none} "* ]] || sleep 2
    elif [ "${FAKE_TRAIN:-0}" != 0 ]; then
      exit "$FAKE_TRAIN"
    fi
    echo "$words" > "$output" ;;
  plan*random*) echo "no plan fits" >&2; exit 3 ;;
  plan*greedy*) [ "${FAKE_PLAN:-0}" = 0 ] || { echo "found another batch size" >&2; exit "$FAKE_PLAN"; } ;;&
  *) [ -z "${output:-}" ] || echo "{}" > "$output" ;;
esac
P
}

# run [ARGUMENT...]: the script in the tree; its exit code in $code, what it printed in $work/out.
run() {
  code=0
  PATH="$root/bin:$PATH" "$root/scripts/gpu.sh" "$@" > "$work/out" 2>&1 || code=$?
}
expect_code() { [ "$code" = "$1" ] || fail "found exit code $code, expected $1"; }
expect() { grep -q -- "$1" "$work/out" || fail "expected '$1' in what was printed"; }
refuse() { ! grep -q -- "$1" "$work/out" || fail "found '$1', expected it not to be printed"; }

tree whole
OUT=$work/whole-out && mkdir "$OUT" && export OUT
run
expect_code 0
for name in tests kernels speed ranks collect train study; do
  grep -q "^$name *ok" "$work/out" || fail "$name is not ok in the table"
done
grep -q "^torch *skipped" "$work/out" || fail "torch is not skipped in the table"
expect "-- embedding_bag: ok"
expect "-- training: ok"
refuse "-- communicator"
expect "ran communicator alone"
expect "120 epochs with"
expect "refine *20 *4.500 *4.000"
expect "refine-by-h200_sim *20 *4.500 *4.000"
refuse "random *20"
expect "mean error of compute per device 10.00 %"
[ -e "$OUT/results.tar.gz" ] && [ -e "$OUT/summary.txt" ] || fail "nothing came out"
run
expect_code 0
expect "== kernels: done before"
unset OUT

tree carried
mkdir -p "$root/build" && cp "$work/whole-out/results.tar.gz" "$root/build/gpu-results.tar.gz"
run
expect_code 0
expect "== study: done before"

tree failing
FAKE_TESTS=201 FAKE_KERNELS=9 run
expect_code 1
expect "^tests *FAILED with 201"
expect "^kernels *FAILED with 9"
expect "^speed *ok"
expect "^study *ok"
run tests kernels
expect_code 0
expect "^kernels *ok"

tree hanging
FAKE_HANG=embedding_bag run tests
expect_code 1
expect "-- embedding_bag: ended with 124"
expect "-- training: ok"
expect "^tests *OUT OF TIME"

tree slow
FAKE_SLOW=cuda FAKE_BROKEN=cpu run --minutes 1 collect train
expect_code 1
expect "epochs with cpu: .* ended with 5"
expect "^train *FAILED with 5"
epochs=$(sed -n 's/^\([0-9]*\) epochs with cuda$/\1/p' "$work/out" | head -n 1)
[ "${epochs:-0}" -gt 5 ] && [ "$epochs" -lt 100 ] || fail "found '$epochs' epochs, expected what fits into the time"
grep -q -- "--epochs $epochs --backend cuda" "$root/build/gpu-results/measured.safetensors" || fail "another model was kept"

tree late
FAKE_SLOW=cpu FAKE_TRAIN=124 run collect train study
expect_code 1
expect "120 epochs with cuda"
expect "^train *OUT OF TIME"
expect "^study *ok"
grep -q -- "--epochs 5 --backend cuda" "$root/build/gpu-results/measured.safetensors" || fail "the trial's model is lost"

tree partly
FAKE_COLLECT=130 run
expect_code 0
expect "^collect *not finished"
expect "^study *ok"
FAKE_COLLECT=130 run
expect "^train *not finished"
expect "waits for the rest of the data"
run
expect "^train *ok"

tree interrupted
FAKE_COLLECT=130 run collect train study
expect_code 0
expect "^collect *not finished, run again"
run collect train study
expect_code 0
expect "^collect *ok"
expect "^study *ok"

tree unplanned
FAKE_PLAN=2 run collect train study
expect_code 1
expect "^study *FAILED with 2"
expect "found another batch size"
run study
expect_code 0
expect "refine *20 *4.500 *4.000"

tree cut
FAKE_STUDY=124 run collect train study
expect_code 0
expect "^study *not finished, run again"
expect "(1 plans)"
run study
expect_code 0
expect "refine *20 *4.500 *4.000"

tree shipped
run study
expect_code 0
expect "refine *20 *4.500 *4.000"

tree nothing
FAKE_GPU=no run
expect_code 0
expect "skipped: no GPU"
run --minutes none
expect_code 2
run dance
expect_code 2
rm "$root/build/gpu/bench/train_bench"
run
expect_code 1
expect "train_bench is missing"
echo "gpu.sh: all as expected"
