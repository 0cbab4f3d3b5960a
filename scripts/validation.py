#!/usr/bin/env python3
"""Writes docs/VALIDATION.md and docs/validation.svg: the simulator beside measurements, published and own.

Needs a build (build/release/bench/published_bench, build/release/neuroshard) and the folder of test data (--data or
NEUROSHARD_TEST_DATA); no packages. --check writes nothing: exit code 1 where the pages are not what the build
says.
"""
import argparse
import math
import os
import statistics
import sys

from calibrate_profiles import CALIBRATED, FIT, PROFILES, compared, errors, half_width
from published_cases import MEASURED, ROOT, PublishedCases, load_json
from published_steps import Predictions, read_steps
from validation_chart import chart

PAGE = os.path.join(ROOT, "docs", "VALIDATION.md")
CHART = os.path.join(ROOT, "docs", "validation.svg")

# What was asked for: percent, of the geometric mean or of every figure.
TARGETS = {"DreamShard": (5, "mean"), "recsys-examples": (8, "mean"), "torchrec#2365": (15, "every figure"),
           "collectives": (15, "every figure"), "collectives between hosts": (15, "every figure")}

# Of whole steps that nothing was fitted to: percent, in the mean and at most.
STEP_MEAN, STEP_MOST = 8, 20

STEPS_TEXT = """## Whole training steps

MLPerf's DLRM-DCNv2 (Training v3.0 to v4.1, HugeCTR in mixed precision) beside `neuroshard iteration --tables
examples/dlrm_dcnv2.json --model bench/published/dlrm_dcnv2_hugectr.json --plan F ..`. Plans are those that the systems
ran: `plan --algorithm hugectr` makes what HugeCTR's own planner makes, with the settings of the configurations beside the
logs. Figures, submitters and settings are in `bench/published/steps.json`; published is the median of a configuration's
results in a round. Two constants are fitted, by `scripts/calibrate_steps.py`, to two steps of v4.0: what large matrix
products reach of the data sheet (`gemm_share` {gemm:g}, 8 H100) and the latency of a collective between hosts
(`inter_host_step_latency_us` {latency:g}, 64 H100). All other constants are of data sheets or of the parts above.

{found}
An Intel system (CPUs) and Quanta's D54U-3U (37 to 46 ms, its own runs 16 to 23) are left out.

What is simulated of HugeCTR, as its code has it (NVIDIA-Merlin/HugeCTR at 2f2016f):

- Gradients are exchanged first, then those of dense layers and of tables on every device are added up together, which
  lookups' backward passes do not wait for. Tables on every device are looked up, and rows sorted, beside the forward exchange
  (`src/pybind/model_pipeline.cpp`; `grouped_all_reduce` in all submissions).
- Hosts add up partial sums before they send them on: one after the other (`embedding/operators/hier_model_forward.cu`, then
  an all-to-all). TorchRec's `table_row_wise` does the same.

How far to trust this:

- **Until plans were the systems' own**, this page had the engine's, in TorchRec's order and without steps inside exchanges.
  The mean error of the same results was then 7.3 %, 40 % at worst, and the latency between hosts came out at 1 us, the least
  that the fit may say: it stood for nothing. {latency:.0f} us is about what NCCL takes for a small all-reduce between
  H100 hosts (75 us in nccl issue 1453).
- **v3.0 to v3.1.** Steps of several hosts became up to a third shorter on the same hardware. Most of that is the plan, as
  small tables are on every device from v3.1 on: simulated -24 % for 64 devices (published -16 %) and -28 % for 128 (-35 %).
  So v3.0's now count.
- **Order and parts.** Steps without streams, where every device does one thing after the other, with the same constants, are off by
  {alone} % in the mean, the streams by {mean} %. MLPerf's steps are short of things to hide: most of a step is compute
  that depends on what went before. So these steps do not prove the streams, only the kernels and exchanges.
- **Tables** are updated by SGD here, as the example file says, and every lookup is of another row. MLPerf's were updated by
  Adagrad, which moves more bytes, and in its batches rows come again, which moves fewer: how many nobody has published.
  Adagrad without repeated rows is not it: `gemm_share` is then 0.88, above what such products reach, and the mean 7.3 %.
- **One `gemm_share` for all.** It is fitted to H100 alone. A100, whose matrix units have a third of the rate and whose memory
  has 0.6 of it, comes out too slow by it, and B200 too fast.
- **PCIe.** With the rate of one link, 24 and 48 GB/s, cards came out a quarter too fast. The rate was then looked up as what
  eight devices get together (nccl issue 1639); it was not fitted, but these steps were known when it was chosen. In HugeCTR's
  order much of the all-reduce is hidden behind lookups, which on H100 PCIe and A40 comes out too good.
- **64 A100** are of a cluster whose network is not described; simulated is one HDR 200 adapter a device.
- **4 H100 at 32,768 in v3.1** took 5.6 ms where other submitters took 4.6 in v3.0 and 4.4 in v4.0.
- Rounds after v4.1 were not looked at.
"""

INTRODUCTION = """# How true the simulated costs are

For whoever wants to know how far `--backend sim` is from real GPUs. Every published measurement that says enough
to be simulated stands beside what the simulator says of it. `scripts/validation.py` wrote this page:

    cmake --build build/release --target published_bench neuroshard
    NEUROSHARD_TEST_DATA=FOLDER scripts/validation.py

- **Published**: others measured it on GPUs and published it. Sources are in `bench/published/figures.json`.
- **This project**: measured by it, in `models/measured/h100.tar.xz`.
- **Calibrated**: the simulator's figure under a profile that `scripts/calibrate_profiles.py` fitted.
- *Fit*: constants were fitted to this figure. *Held out*: they were not. *Report*: another kernel or
  optimizer than constants are fitted to, so neither.
- **(guess)**: the source does not say the hardware; the profile is the one that fits.

Whole training steps are in [a section of their own](#whole-training-steps).

This project has measured FBGEMM on [an H100](#measured-on-an-h100), and nothing else here. An error is |ln(simulated / published)|, shown as a percentage: half and
double are equally wrong.
"""

MEASURED_TEXT = """## Measured on an H100

This project has measured FBGEMM 1.6.0 on an H100 80GB HBM3: {number} sets of 1 to 15 shards, fp32, exact SGD, dims 4 to 128
([how](../models/README.md#what-was-measured)). The lookups' constants of `H100-80G`, and of the profiles that follow it, are
fitted to every second set; published figures of an H100 decide only what a row of a sequence costs. Calibrated over measured
ms, medians, and the error of both directions together:

{found}
What the sets have taught:

- **Lanes.** FBGEMM has 8 lanes of a warp read a row where no table of the lookup has a dim above 32, 16 up to 64, and 32
  otherwise. One wide table makes the narrow ones beside it dearer (`lane_exponent`).
- **Blocks of threads.** A warp adds up fewer than 32 gradients of a row; of a row with more, a block of threads does
  (`backward_cycles_per_long_row`). Rows just above 32 are the dearest.
- **Misses.** A lookup whose row is in no cache takes twice as long as one whose row is in the L2, whatever the bandwidth
  (`forward_cycles_per_miss`, `backward_cycles_per_miss`), and the L2 keeps a quarter of its size in rows. What was published of
  an A100 says the same of its L2.
- **L1.** Tables of a few rows are read past the L2.

What each is worth, by a sketch of this model in Python that was fitted in the same way, with all of them 6.8, 4.0 and 3.1 % off the
held-out sets. Fitted anew without one of them:

| without | forward | backward | together |
|---|---|---|---|
| lanes | 11.5 % | 12.1 % | 11.4 % |
| blocks of threads | 6.8 % | 5.5 % | 4.2 % |
| gradients that miss | 6.7 % | 4.5 % | 3.8 % |
| rows that miss | 10.2 % | 4.2 % | 3.8 % |
| an L2 of its own size (a share of 0.9, not a fitted one) | 8.0 % | 4.3 % | 3.9 % |
| the L1 (the forward pass over 10 rows is 127 % off then, not 5) | 7.0 % | 4.0 % | 3.1 % |

What remains, and what to mind:

- **Tables of a few rows** are still up to half too dear backward. The 24 single lookups are not fitted to.
- **Fitted to two published figures and to V100** instead, forward passes came out at 0.45 of what was measured and backward
  passes at 1.65 of it, together 25 to 46 % off.
- **What confirms it**: the published backward pass of recsys-examples, which counts for little in the fit, and MLPerf's steps
  [above](#whole-training-steps), to which no lookup is fitted: 90 % of them are within {iteration:.0f} %. They were within 15 % before.
- Profiles other than `H100-80G` have these constants by analogy. Nothing of them was measured.
"""

NOT_COMPARED = """## Published, and not compared

| what | why not |
|---|---|
| recsys-examples, forward in evaluation mode | another kernel |
| torchrec#2365, its first table of figures | the batch is ambiguous |
| Lin et al., backward | atomic updates, not FBGEMM's exact ones |
| FBGEMM pull request 1197, no-bag forward at batch 512 | bound by launches |
| FBGEMM, the default benchmark with a cache; gather and scatter peaks | hardware or kernel differ. The gather peak is H100's `gather_share` |
| param, TorchRec on 8 V100 at batch 128 | launches alone; its 26 device operations are `backward_kernels` |
| HierarchicalKV, lookups a second | hash tables |
| DLRM steps of HugeCTR's, TorchRec's and distributed-embeddings' own pages | whole training steps of other models, in software that is not described |

## What nothing published says

- Optimizers but SGD, apart from one figure of Adam, which the simulator finds too cheap: what they keep counts as
  bytes to move, and nothing of it is calibrated.
- Row blocks, tables on every device, and fp32 tables of several dims in one plan: simulated, never compared.
- Backward passes on A100. Sets of tables with dims above 128, fp16 tables and other optimizers on H100.
- Links between hosts by InfiniBand, and all-reduce, but as parts of MLPerf's steps.
- The profiles other than """ + ", ".join(f"`{name}`" for name in CALIBRATED) + """: physics from data sheets. None was compared with anything but whole steps.
"""


def table(heading, rows):
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def hardware_of(entry):
    known = entry["hardware"].split(", a guess")[0].replace("not stated; fits ", "").replace(", not stated which", "")
    return known + ("" if entry["hardware_known"] else " (guess)")


def met(group, rows):
    """Whether the target of a group is met, by its worst row."""
    if group not in TARGETS:
        return "-", "-"
    percent, of = TARGETS[group]
    key = "geometric_mean_percent" if of == "mean" else "largest_percent"
    worst = max(row[key] for row in rows)
    verdict = "met" if worst <= percent else f"not met, found {worst:.1f} %"
    return f"{percent} % ({of})", verdict


def summary(published, simulated):
    found = errors(published, simulated)
    hardware = {}
    for figure in published.figures:
        name = hardware_of(figure.entry)
        hardware.setdefault(figure.group, [])
        if name not in hardware[figure.group]:
            hardware[figure.group].append(name)
    rows = []
    for row in found:
        target, verdict = met(row["group"], [one for one in found if one["group"] == row["group"]])
        rows.append([row["group"], ", ".join(hardware[row["group"]]), row["use"], str(row["figures"]),
                     f"{row['geometric_mean_percent']:.1f} %", f"{row['largest_percent']:.1f} %", target, verdict])
    return table(["source", "hardware", "use", "figures", "error, geometric mean", "largest", "target",
                  "all of the source"], rows)


def kendall_tau(pairs):
    """Of (published, simulated) pairs; those that are published as equal say nothing."""
    agree = disagree = 0
    for i, (a, x) in enumerate(pairs):
        for b, y in pairs[:i]:
            if a == b:
                continue
            agree += (a < b) == (x < y)
            disagree += (a < b) != (x < y)
    return (agree - disagree) / (agree + disagree)


def dreamshard(published, simulated):
    own = published.dreamshard
    rows = {}
    for figure, ms in zip(published.figures, simulated):
        if figure.group == "DreamShard":
            rows.setdefault(figure.entry["tables"], []).append((figure, ms))
    lines = []
    for tables, of in rows.items():
        cells = [f"{figure.value_ms:g} / {ms:.1f}" for figure, ms in of]
        lines.append([str(tables), of[0][0].use] + cells +
                     [f"{kendall_tau([(figure.value_ms, ms) for figure, ms in of]):.2f}"])
    pairs = [(figure.value_ms, ms) for of in rows.values() for figure, ms in of]
    rules = [figure.entry["rule"] for figure, _ in next(iter(rows.values()))]
    text = f"""## DreamShard: whole plans

{own["what"][0].upper() + own["what"][1:]}.
The tasks {own["note"][len("tasks "):]}. Each cell: published / calibrated ms.

Kendall's tau is that of the rules' order, pairs that are published as equal left out; of all {len(pairs)} figures it is
{kendall_tau(pairs):.3f}. Rules within 4 % of each other may change places. Random placements are one draw a task
there and two here; over 50 tasks the mean of one draw has a standard error of about 2.5 % (simulated).

Each figure is the mean over the tasks of what `neuroshard measure --backend sim --profile {own["profile"]}` says.

"""
    return text + table(["tables", "use"] + rules + ["tau"], lines)


def others(published, simulated):
    rows = []
    for figure, ms in zip(published.figures, simulated):
        if figure.group != "DreamShard" and not figure.group.startswith(MEASURED):
            unit = figure.entry["unit"]
            scale = 1e3 if unit == "us" else 1
            rows.append([figure.id, hardware_of(figure.entry), f"{figure.value_ms * scale:.4g} {unit}",
                         f"{ms * scale:.4g} {unit}", f"{ms / figure.value_ms:.2f}", figure.use])
    return "## Lookups and collectives\n\n" + table(
        ["figure", "hardware", "measured", "calibrated", "calibrated / measured", "use"], rows)


def step_rows(steps, predictions):
    """Of each configuration: what the table says of it, published, predicted and summed ms of its results."""
    rows, results = [], []
    for step in steps:
        told, plain = predictions.of(step)
        rows.append([step.entry["round"], step.name, f"{step.entry['batch_size']:,}", str(len(step.entry["results"])),
                     f"{step.published_ms:.2f}", f"{told:.2f}", f"{100 * (told / step.published_ms - 1):+.1f} %",
                     f"{plain:.2f}", step.use])
        results += [(step, result["ms"], told, plain) for result in step.entry["results"]]
    return rows, results


def order_of(pairs):
    """Kendall's tau of (published, predicted) pairs of different configurations: one has the same prediction in
    every round."""
    counted = [(a < b) == (x < y) for i, (a, x) in enumerate(pairs) for b, y in pairs[:i] if x != y and a != b]
    return 2 * sum(counted) / len(counted) - 1


def off(predicted, published):
    return 100 * abs(predicted / published - 1)


def whole_steps(predictions):
    steps = read_steps()
    rows, results = step_rows(steps, predictions)
    held = [one for one in results if one[0].use == "held out"]
    mean = sum(off(told, ms) for _, ms, told, _ in held) / len(held)
    alone = sum(off(plain, ms) for _, ms, _, plain in held) / len(held)
    by_configuration = [off(predictions.of(step)[0], step.published_ms) for step in steps if step.use == "held out"]
    far = [f"{step.name} of v{step.entry['round']}, batch {step.entry['batch_size']:,} ({off(told, ms):.0f} %)"
           for step, ms, told, _ in held if off(told, ms) > STEP_MOST]
    tau = order_of([(step.published_ms, predictions.of(step)[0]) for step in steps if step.use == "held out"])
    profile = load_json(os.path.join(PROFILES, "H100-80G.json"))
    link = next(one for one in profile["interconnects"] if one["name"] == "cluster")
    found = table(["target of held-out steps", "found", ""],
                  [[f"mean error of at most {STEP_MEAN} %, over {len(held)} results", f"{mean:.1f} %",
                    "met" if mean <= STEP_MEAN else "not met"],
                   [f"the same over {len(by_configuration)} configurations",
                    f"{sum(by_configuration) / len(by_configuration):.1f} %", "no target"],
                   [f"each within {STEP_MOST} %", ", ".join(far) + " are not" if far else "all are",
                    "not met" if far else "met"],
                   ["Kendall's tau of at least 0.9, of different configurations", f"{tau:.2f}", "met" if tau >= 0.9 else "not met"]])
    return STEPS_TEXT.format(gemm=profile["gemm_share"]["value"], latency=link["inter_host_step_latency_us"]["value"],
                             found=found, alone=f"{alone:.1f}", mean=f"{mean:.1f}") + "\n" + table(
        ["round", "devices", "global batch", "results", "published ms", "predicted ms", "error", "without streams ms", "use"],
        rows)


def measured_sets(published, simulated):
    """By part of the sets: [(use, forward, backward, together)], each calibrated over measured."""
    parts = {}
    for (forward, first), (backward, second) in published.own_sets(simulated):
        parts.setdefault(forward.entry["part"], []).append((
            forward.use, first / forward.value_ms, second / backward.value_ms,
            (first + second) / (forward.value_ms + backward.value_ms)))
    return parts


def measured(published, simulated):
    parts = measured_sets(published, simulated)
    parts["all"] = [one for sets in parts.values() for one in sets]
    rows = []
    for part, sets in parts.items():
        medians = [f"{statistics.median(column):.2f}" for column in list(zip(*sets))[1:]]
        off = [100 * math.expm1(statistics.mean(abs(math.log(together)) for use, _, _, together in sets if use == of))
               for of in ("fit", "held out")]
        rows.append([part, str(len(sets))] + medians + [f"{one:.1f} %" for one in off])
    profile = load_json(os.path.join(PROFILES, "H100-80G.json"))
    return MEASURED_TEXT.format(number=len(parts["all"]), iteration=100 * profile["iteration_error"]["value"], found=table(
        ["sets", "number", "forward", "backward", "together", "error, fit", "error, held out"], rows))


def constants():
    fit = load_json(FIT)["constants"]
    rows = [[name, f"{value:g}"] for name, value in fit.items()]
    return """## What was fitted

Cycles are those of one multiprocessor. All other constants are those of the profiles, each with its source there.

""" + table(["constant", "value"], rows)


def page(published, simulated, predictions):
    told = "90 % of figures (those of *report* left out) are within a share of what the simulator says that is the\n" + \
        "`published_error` of the profiles, which costs carry as part of their error:\n" + "".join(
            f"\n- {whose}: {100 * half_width(pairs):.1f} %, over {len(pairs)} {what}" for whose, what, pairs in (
                ("V100, A100 and those like them", "published figures of these",
                 compared(published, simulated, False)),
                ("H100 and those since", "figures of it, measured sets with forward and backward together",
                 compared(published, simulated, True)))) + ".\n"
    picture = "![Calibrated simulation against measured milliseconds](validation.svg)\n"
    parts = [INTRODUCTION, "## In short\n\n" + summary(published, simulated), told, picture,
             dreamshard(published, simulated), others(published, simulated), constants(), whole_steps(predictions),
             measured(published, simulated), NOT_COMPARED]
    return "\n".join(parts)


def picture_of(published, simulated):
    """A measured set is one point, forward and backward together."""
    points = [(figure.group, figure.value_ms, ms, figure.use == "fit")
              for figure, ms in zip(published.figures, simulated) if not figure.group.startswith(MEASURED)]
    sets = [(MEASURED, forward.value_ms + backward.value_ms, first + second, forward.use == "fit")
            for (forward, first), (backward, second) in published.own_sets(simulated)]
    return chart(sets + points,
                 f"{len(points)} published and {len(sets)} own measurements, and the calibrated simulator")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", default=os.path.join(ROOT, "build/release/bench/published_bench"))
    parser.add_argument("--command", default=os.path.join(ROOT, "build/release/neuroshard"))
    parser.add_argument("--data", default=os.environ.get("NEUROSHARD_TEST_DATA", ""))
    parser.add_argument("--check", action="store_true", help="write nothing; whether the pages are up to date")
    arguments = parser.parse_args()
    if not os.access(arguments.bench, os.X_OK):
        sys.exit(f"validation.py: no program {arguments.bench}, expected a build of published_bench")
    if not os.access(arguments.command, os.X_OK):
        sys.exit(f"validation.py: no program {arguments.command}, expected a build of neuroshard")
    with PublishedCases(arguments.bench, arguments.data) as published:
        if not published.has_dreamshard:
            sys.exit(f"validation.py: found no DreamShard tasks in the folder of test data '{arguments.data}'")
        simulated = published.simulate()
        assert all(math.isfinite(ms) and ms > 0 for ms in simulated)
        files = {PAGE: page(published, simulated, Predictions(arguments.command)), CHART: picture_of(published, simulated)}
    for path, text in files.items():
        if arguments.check:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    sys.exit(f"validation.py: {path} is not what this build says: run scripts/validation.py")
            continue
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main()
