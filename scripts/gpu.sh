#!/usr/bin/env bash
# Everything that needs a GPU, on a machine with one: tests of the kernels, their speed beside the
# copy bandwidth, training, PyTorch beside both (where python3 has it), NCCL, collecting of compute
# costs, and plans measured against what was predicted. Builds nothing and needs no network:
#
#   cmake --preset gpu && cmake --build --preset gpu      on a machine with nvcc
#   scripts/gpu.sh [--minutes M] [--samples N] [STEP...]  on the GPU machine, build/gpu beside it
#
# Steps, in this order: tests kernels torch speed ranks collect train study, and on request sanitize
# (two tests under compute-sanitizer) and profile (the lookup's kernels under Nsight Compute). Each
# has a time limit, and none that fails keeps the others from running. What is done is not done
# again: each step leaves a file in build/gpu-results, and collecting and the study go on where they
# stopped, so a run that ended early is run again; on a fresh machine build/gpu-results.tar.gz is
# unpacked first. With OUT set, results.tar.gz and summary.txt go there, too. A short table comes
# last. Exits with 0 when all is well or there is no GPU ("skipped"), 1 when a step failed or there is
# a GPU that does not answer.
set -uo pipefail
cd "$(dirname "$0")/.."

minutes=9 samples=20000 steps=()
while [ $# -gt 0 ]; do
  case $1 in
    --minutes | --samples)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "gpu.sh: $1: found '${2:-}', expected a number" >&2; exit 2; }
      [ "$1" = --minutes ] && minutes=$2 || samples=$2
      shift 2 ;;
    tests | kernels | torch | speed | ranks | sanitize | profile | collect | train | study) steps+=("$1"); shift ;;
    *) echo "gpu.sh: found '$1', expected --minutes M, --samples N or a step" >&2; exit 2 ;;
  esac
done
named=${#steps[@]}
[ "$named" -gt 0 ] || steps=(tests kernels torch speed ranks collect train study)

binaries=$PWD/build/gpu
neuroshard=$binaries/neuroshard
for file in "$neuroshard" "$binaries/tests/test_gpu" "$binaries"/bench/{gpu_lookup_bench,gpu_plans_bench,train_bench}; do
  if [ ! -x "$file" ]; then
    echo "gpu.sh: $file is missing: cmake --preset gpu && cmake --build --preset gpu" >&2
    exit 1
  fi
done
# The driver may lie where only a container's own programs look.
for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
  [ ! -e "$folder/libcuda.so.1" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done
"$binaries/tests/test_gpu" --list_content > /dev/null 2>&1
case $? in
  0) ;;
  77)
    "$binaries/tests/test_gpu"
    [ ! -e /dev/nvidia0 ] || { echo "gpu.sh: but there is /dev/nvidia0" >&2; exit 1; }
    exit 0 ;;
  *)
    "$binaries/tests/test_gpu" --list_content >&2
    exit 1 ;;
esac

# cuBLASLt and NCCL may be there as PyTorch's alone, in folders that nobody looks into. Not by
# LD_LIBRARY_PATH: PyTorch would take one of them from elsewhere than the rest of its libraries.
for name in libcublasLt.so.13 libnccl.so.2; do
  found=$(find /usr/local/cuda*/lib* /usr/local/cuda*/targets /opt /usr/local/lib /usr/lib -name "$name" -print -quit 2> /dev/null)
  [ -z "$found" ] || export NEUROSHARD_CUDA_LIBRARIES="${NEUROSHARD_CUDA_LIBRARIES:+$NEUROSHARD_CUDA_LIBRARIES:}${found%/*}"
done

results=$PWD/build/gpu-results
if [ ! -e "$results" ] && [ -e "$results.tar.gz" ]; then
  mkdir -p "$results" && tar -xzf "$results.tar.gz" -C "$results"
fi
mkdir -p "$results"
summary=$results/summary.txt
deadline=$((SECONDS + minutes * 60 - 20))
failed=0

# within SECONDS COMMAND...: ended when that is over, killed 10 s later.
within() { timeout --kill-after=10 "$@"; }

pack() {
  [ -n "${OUT:-}" ] || return 0
  tar -czf "$OUT/results.tar.gz" -C "$results" .
  [ ! -e "$summary" ] || cp "$summary" "$OUT/summary.txt"
}

# step NAME SECONDS: runs the function of that name, within those seconds and what is left of all,
# unless it was done before. A step that ran out of time is tried again by the next run.
step() {
  local name=$1 began=$SECONDS code=0 left=$((deadline - SECONDS)) word
  [[ " ${steps[*]} " == *" $name "* ]] || return 0
  if [ -e "$results/$name.done" ]; then
    echo "== $name: done before"
    return 0
  fi
  limit=$(($2 < left ? $2 : left))
  if [ $limit -lt 5 ]; then
    echo "no time left, run again" > "$results/$name.state"
    echo "== $name: no time left, run again"
    return 0
  fi
  echo "== $name (at most $limit s)"
  "$name" > "$results/$name.log" 2>&1 < /dev/null || code=$?
  case $code in
    0) word=ok; touch "$results/$name.done" ;;
    75) word="not finished, run again" ;;
    77) word="skipped" ;;
    124 | 137) word="OUT OF TIME"; failed=1 ;;
    *) word="FAILED with $code"; failed=1 ;;
  esac
  echo "$word ($((SECONDS - began)) s)" > "$results/$name.state"
  tail -n 40 "$results/$name.log"
  echo "== $name: $word ($((SECONDS - began)) s)"
  pack
}

# seconds_left: until $ends, at least 1.
seconds_left() { echo $((ends - SECONDS > 1 ? ends - SECONDS : 1)); }

# run_tests SECONDS TESTS [COMMAND...]: says of each test when it begins, so that a hang tells where.
run_tests() { within "$1" "${@:3}" "$binaries/tests/test_gpu" --color_output=no --log_level=test_suite --run_test="$2"; }
# A process a suite: after an illegal address no work of that process reaches the GPU any more, and a
# hang shall cost no more than its suite's part of the time.
tests() {
  local ends=$((SECONDS + limit)) worst=0 code suite suites
  mapfile -t suites < <("$binaries/tests/test_gpu" --list_content 2>&1 | sed -n 's/^\([a-z_0-9]*\)\*$/\1/p' | grep -vx communicator)
  [ ${#suites[@]} -gt 0 ] || { echo "test_gpu lists no suite"; return 1; }
  local left=${#suites[@]}
  for suite in "${suites[@]}"; do
    code=0
    run_tests $((($(seconds_left) + left - 1) / left)) "$suite" || code=$?
    echo "-- $suite: $([ $code -eq 0 ] && echo ok || echo "ended with $code")"
    [ $worst -ne 0 ] || worst=$code
    left=$((left - 1))
  done
  return $worst
}
ranks() { run_tests "$limit" communicator; }
sanitize() {
  command -v compute-sanitizer > /dev/null || { echo "skipped: no compute-sanitizer"; return 77; }
  run_tests "$limit" embedding_bag/mixed_tables_in_one_launch_agree_with_the_cpu,hot_rows_are_added_up_by_blocks_and_agree_with_the_cpu \
    compute-sanitizer --error-exitcode 9
}
# What bounds the kernels: memory, latency or instructions. The clocks are left as they are.
profile() {
  local name
  command -v ncu > /dev/null || { echo "skipped: no ncu"; return 77; }
  for name in "8 tables, D 128" "8 tables, D 32"; do
    within $((limit / 2)) ncu --clock-control none --kernel-name 'regex:pool_kernel|update_kernel' --launch-skip 6 \
      --launch-count 2 --section SpeedOfLight --section MemoryWorkloadAnalysis --section LaunchStats \
      --section Occupancy --section SchedulerStats --section WarpStateStats \
      "$binaries/bench/gpu_lookup_bench" --runs 1 --only "$name" || return $?
  done
}
kernels() { within "$limit" "$binaries/bench/gpu_lookup_bench"; }
torch() { within "$limit" python3 scripts/torch_lookup_bench.py; }
# Ours alone when there is no PyTorch to stand beside it.
speed() {
  local ends=$((SECONDS + limit)) code=0
  within $((limit / 2 + 1)) "$binaries/bench/train_bench" --backend cuda --samples 51200 --epochs 2 || return $?
  within "$(seconds_left)" python3 scripts/torch_training_bench.py \
    --bench "$binaries/bench/train_bench" --seconds 4 --epochs 2 --json "$results/torch_training.json" || code=$?
  [ $code -eq 77 ] && return 0
  return $code
}

lines() { cat "$results/$1/data.txt" 2> /dev/null | wc -l; }

# gather NAME SAMPLES SEED POOL_SEED SECONDS
gather() {
  local code=0 began=$SECONDS before
  before=$(lines "$1")
  [ -e "$results/pool_$4.json" ] ||
    "$neuroshard" tables generate --count 856 --seed "$4" --output "$results/pool_$4.json" || return 1
  timeout --signal=INT --kill-after=20 "$5" "$neuroshard" collect compute --backend cuda --runs 4 \
    --tables "$results/pool_$4.json" --samples "$2" --seed "$3" --output "$results/$1" || code=$?
  echo "$1: $(($(lines "$1") - before)) new samples in $((SECONDS - began)) s, $(lines "$1") of $2"
  [ $code -eq 0 ] && return 0
  # Interrupted by its time: what is there stays.
  [ $code -eq 124 ] || [ $code -eq 130 ] && return 75
  return 1
}
collect() {
  local code=0 all=$limit
  # Held out: other sets of the same tables, and sets of other tables.
  gather held_out_sets $((samples / 20 + 50)) 2 1 $((all * 12 / 100 + 1)) || code=$?
  gather held_out_tables $((samples / 20 + 50)) 3 2 $((all * 12 / 100 + 1)) || code=$?
  gather training "$samples" 1 1 $((all * 76 / 100 + 1)) || code=$?
  return $code
}

# fit SECONDS EPOCHS FLAG...: a model of what was collected.
fit() {
  within "$1" "$neuroshard" train compute --data "$results/training" --base h200_sim --epochs "$2" "${@:3}"
}
train() {
  [ -e "$results/training/data.txt" ] || { echo "no data yet"; return 75; }
  # Once from what there is, for a first look; unless asked for, not again before all is there.
  if [ "$named" -eq 0 ] && [ -e "$results/measured.safetensors" ] && [ ! -e "$results/collect.done" ]; then
    echo "waits for the rest of the data"
    return 75
  fi
  local ends=$((SECONDS + limit)) name backend fastest="" trial_ms=0 failure=0 code began ms epochs
  for backend in cpu cuda; do  # which is faster here, and how fast that is
    began=$(date +%s%3N) code=0
    fit "$((limit / 5 + 1))" 5 --backend $backend --output "$results/trial_$backend.safetensors" | tail -n 3 || code=$?
    ms=$(($(date +%s%3N) - began))
    echo "5 epochs with $backend: $ms ms$([ $code -eq 0 ] || echo ", ended with $code")"
    case $code in
      0) [ -n "$fastest" ] && [ $ms -ge $trial_ms ] || fastest=$backend trial_ms=$ms ;;
      124 | 137) ;;  # too slow here
      *) failure=$code ;;
    esac
  done
  [ -n "$fastest" ] || return $((failure == 0 ? 124 : failure))
  # What runs out of time below leaves at least this one to measure plans with.
  [ -e "$results/measured.safetensors" ] || cp "$results/trial_$fastest.safetensors" "$results/measured.safetensors"
  epochs=$(($(seconds_left) * 700 * 5 / (trial_ms + 1)))  # 70 % of the time: models are evaluated, too
  epochs=$((epochs > 120 ? 120 : epochs > 5 ? epochs : 5))
  echo "$epochs epochs with $fastest"
  fit "$(seconds_left)" $epochs --backend $fastest --output "$results/measured.safetensors" --report "$results/training.json" || return $?
  rm -rf "$results/study" "$results/study.done"  # those plans were another model's
  for name in held_out_sets held_out_tables; do
    echo "$name:"
    within "$(seconds_left)" "$neuroshard" evaluate compute --data "$results/$name" \
      --cost-model "$results/measured.safetensors" || return $?
  done
  [ $failure -eq 0 ] || return $failure        # of the backend that did not train
  [ -e "$results/collect.done" ] || return 75  # of a part of the data: again with all of it
}

# plan_one NAME TABLES ALGORITHM MODEL: where none fits, what it says stays, and nobody asks again.
plan_one() {
  local code=0
  [ -e "$1.plan" ] || [ -s "$1.error" ] && return
  within 30 "$neuroshard" plan --tables "$2" --devices 4 --device-memory 16GB --cost-model "$4" \
    --algorithm "$3" --output "$1.plan" > /dev/null 2> "$1.error" || code=$?
  case $code in
    0) rm "$1.error" ;;
    3) ;;
    *) cat "$1.error"; rm "$1.error"; echo "$code" >> failed ;;
  esac
}
# Tasks of 40 tables on 4 devices of 16 GB; every plan measured, compute against the trained model, or
# against the shipped one of an H100 where that is asked for before anything is trained.
study() (
  local model=$results/measured.safetensors task algorithm code=0
  if [ ! -e "$model" ]; then
    [ "$named" -gt 0 ] || { echo "no trained model yet"; return 75; }
    model=h100
  fi
  mkdir -p "$results/study" && cd "$results/study" || return 1
  rm -f failed list.txt
  touch measured.txt
  for task in $(seq 1 20); do
    [ -e "$task.json" ] || "$neuroshard" tables generate --count 40 --seed $((1000 + task)) --output "$task.json" || return 1
    for algorithm in random size-greedy dim-greedy lookup-greedy size-lookup-greedy neuroshard refine; do
      plan_one "${task}_$algorithm" "$task.json" $algorithm "$model" &
    done
    plan_one "${task}_refine-by-h200_sim" "$task.json" refine h200_sim &
    wait
    [ ! -e failed ] || return "$(head -n 1 failed)"
    for plan in "${task}"_*.plan; do
      grep -q "^$plan " measured.txt || echo "$task.json $plan 4" >> list.txt
    done
  done
  if [ -e list.txt ]; then
    within "$limit" "$binaries/bench/gpu_plans_bench" --plans list.txt --cost-model "$model" --runs 5 >> measured.txt || code=$?
  fi
  report_study
  case $code in 124 | 130) return 75 ;; *) return $code ;; esac
)

# One line a plan (task, algorithm, measured, predicted), then errors, order and winners.
report_study() {
  awk '/^#/ || !/ / { next }
    {
      split($1, part, "[_.]"); name = $1
      sub(/^[0-9]+_/, "", name); sub(/\.plan$/, "", name)
      for (d = 4; d <= NF; ++d) {
        split($d, pair, ":")
        error += (pair[2] > pair[1] ? pair[2] - pair[1] : pair[1] - pair[2]) / pair[1]
      }
      print part[1], name, $2, $3, error / (NF - 3)
      error = 0
    }' measured.txt > "$results/study.txt"
  awk '
    { plans[$1] = plans[$1] " " NR; algorithm[NR] = $2; cost[NR] = $3; expected[NR] = $4
      error += $5; ++n; sum[$2] += $3; guess[$2] += $4; ++count[$2] }
    END {
      if (!n) { print "no plans yet"; exit }
      for (task in plans) {
        k = split(plans[task], id, " "); best = 1
        for (i = 1; i <= k; ++i) {
          if (cost[id[i]] < cost[id[best]]) best = i
          for (j = 1; j < i; ++j) {
            a = cost[id[i]] - cost[id[j]]; b = expected[id[i]] - expected[id[j]]
            if (a * b > 0) ++same; else if (a * b < 0) ++other
          }
        }
        ++wins[algorithm[id[best]]]
      }
      printf "%-20s %6s %12s %12s %5s\n", "algorithm", "plans", "measured ms", "predicted ms", "best"
      for (a in count) printf "%-20s %6d %12.3f %12.3f %5d\n", a, count[a], sum[a] / count[a], guess[a] / count[a], wins[a]
      printf "compute measured, communication PREDICTED by a simulated model in both columns\n"
      printf "mean error of compute per device %.2f %%, tau of plans within tasks %.3f (%d plans)\n", 100 * error / n, same + other ? (same - other) / (same + other) : 0, n
    }' "$results/study.txt"
}

{
  command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu --format=csv,noheader
  "$neuroshard" --version
} | tee "$results/machine.txt"
step tests 100
step kernels 60
step torch 75
step speed 80
step ranks 90
step sanitize 240
step profile 120
# All that is left, but for a first look at what can be trained from it.
room=$((deadline - SECONDS))
[ -e "$results/measured.safetensors" ] || room=$((room - 120))
step collect $((room > 60 ? room : 60))
step train 90
step study 600

{
  echo "---- results"
  cat "$results/machine.txt"
  for name in tests ranks sanitize profile kernels torch speed collect train study; do
    [ -e "$results/$name.log" ] || continue
    echo "-- $name: $(cat "$results/$name.state")"
    case $name in
      tests | ranks) grep -E '^-- |error: in |NCCL WARN' "$results/$name.log" | tail -n 20 ;;
      sanitize) tail -n 3 "$results/$name.log" ;;
      kernels | torch | speed | profile) tail -n 45 "$results/$name.log" ;;
      *) tail -n 14 "$results/$name.log" ;;
    esac
  done
  echo "---- summary"
  for name in tests kernels torch speed ranks sanitize profile collect train study; do
    [ -e "$results/$name.state" ] && printf '%-9s %s\n' "$name" "$(cat "$results/$name.state")"
  done
} > "$summary"
pack
cat "$summary"
exit $failed
