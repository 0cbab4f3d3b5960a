#!/usr/bin/env python3
"""Fits constants of the simulated hardware to measurements: to others' that are published, and to this project's.

Rewrites these constants in engine/ground_truth/sim/profiles/*.json and writes what was fitted to what, and how
far off it is, to bench/published/fit.json. Needs a build (build/release/bench/published_bench) and, for
DreamShard's tasks, the folder of test data (--data or NEUROSHARD_TEST_DATA); no packages. Takes a few minutes.
Deterministic: the same build and data give the same files. Then: build again, scripts/validation.py.
"""
import argparse
import json
import math
import os
import re
import shutil
import sys
import tempfile

from published_cases import MEASURED, MEASURED_ON, ROOT, PublishedCases

PROFILES = os.path.join(ROOT, "engine", "ground_truth", "sim", "profiles")
FIT = os.path.join(ROOT, "bench", "published", "fit.json")

CALIBRATED = ("V100-32G", "A100-80G", "H100-80G")
# What has the lookups' constants of H100, which this project has measured.
HOPPER = ("H100-80G", "H100-PCIe-80G", "H200-141G", "H200-NVL-141G", "B200-180G", "B300-270G", "GB200-186G")
# Links of Hopper and what followed: one latency.
NEWER = ("H100-80G", "H200-141G", "B200-180G", "B300-270G", "GB200-186G")


class Constant:
    """A number to fit: its first guess, where it goes: (profiles, interconnects or None, key), and its range."""

    def __init__(self, name, guess, places, least=0.0, most=math.inf):
        self.name, self.guess, self.places, self.least, self.most = name, guess, places, least, most

    def held_to_range(self, value):
        return min(max(value, self.least), self.most)


def stages(profiles):
    """Constants that are fitted together, each time with the groups of figures that they are fitted to and the
    weight of one figure: few figures of a group that nothing else covers weigh more. The instructions of H100 and of
    what followed are fitted to what was measured on one; of older GPUs there is what was published."""
    nvlink = ["nvswitch", "cluster"]
    older = [name for name in profiles if name not in HOPPER]
    not_v100 = [name for name in older if name != "V100-32G"]
    lookups = [
        # A warp issues an instruction a lookup at least; without that, the fit says none.
        Constant("forward_cycles_per_lookup", 1, [(older, None, "forward_cycles_per_lookup")], least=1),
        Constant("forward_cycles_per_bag", 60, [(older, None, "forward_cycles_per_bag")]),
        Constant("backward_cycles_per_lookup", 85, [(older, None, "backward_cycles_per_lookup")]),
        Constant("backward_cycles_per_row", 100, [(not_v100, None, "backward_cycles_per_row")]),
        Constant("backward_cycles_per_row of V100", 230, [(["V100-32G"], None, "backward_cycles_per_row")]),
        Constant("intra_host_gbps of V100", 70, [(["V100-32G"], nvlink, "intra_host_gbps")]),
        Constant("l2_gbps of A100", 2500, [(["A100-80G"], None, "l2_gbps")]),
        Constant("l2_usable_share of A100", 0.36, [(["A100-80G"], None, "l2_usable_share")], most=1),
        Constant("gather_share of A100", 0.86, [(["A100-80G"], None, "gather_share")], most=1),
    ]
    measured = [Constant(key + " since Hopper", guess, [(list(HOPPER), None, key)],
                         most=1 if key == "l2_usable_share" else math.inf)
                for key, guess in (
                    ("l2_usable_share", 0.3), ("forward_cycles_per_l1_lookup", 7), ("forward_cycles_per_lookup", 11),
                    ("forward_cycles_per_miss", 21), ("forward_cycles_per_bag", 105),
                    ("forward_cycles_per_sequence_row", 47), ("backward_cycles_per_lookup", 21),
                    ("backward_cycles_per_row", 75), ("backward_cycles_per_long_row", 5000),
                    ("backward_cycles_per_miss", 24), ("lane_exponent", 0.62), ("overlap_exponent", 2.2),
                    ("launch_us", 4.7))]
    hopper = [Constant("intra_host_latency_us of NVLink since Hopper", 11,
                       [(list(NEWER), nvlink + ["nvl72"], "intra_host_latency_us")])]
    efa = [Constant("inter_host_latency_us of EFA", 100,
                    [(["A100-80G"], ["efa"], "inter_host_latency_us")]),
           Constant("inter_host_small_gbps of EFA", 2.4,
                    [(["A100-80G"], ["efa"], "inter_host_small_gbps")])]
    sets = {f"{MEASURED}, {direction}": 0.01 for direction in ("forward", "backward")}
    return [(lookups, {"DreamShard": 1, "torchrec#2365": 1.5}), (measured, {"recsys-examples": 0.2} | sets),
            (hopper, {"collectives": 1}), (efa, {"collectives between hosts": 1})]


def format_value(value):
    return f"{value:.4g}"


def rewrite(text, links, key, value, source):
    """The profile's text with another value and source of one constant, of each of `links` (None: of none)."""
    lines, link = text.split("\n"), None
    for number, line in enumerate(lines):
        named = re.match(r'\s+"name": "([^"]+)",$', line)
        if named and line.startswith("      "):
            link = named.group(1)
        constant = re.match(r'(\s+)"([a-z0-9_]+)": \{.*\}(,?)$', line)
        if constant and constant.group(2) == key and (link in links if links else link is None):
            told = json.dumps(source, ensure_ascii=False)
            lines[number] = (f'{constant.group(1)}"{key}": {{"value": {format_value(value)}, '
                             f'"source": {told}}}{constant.group(3)}')
    return "\n".join(lines)


def source_of(profile, groups):
    fitted = "calibrated: scripts/calibrate_profiles.py, fitted to " + ", ".join(sorted(groups))
    if profile in CALIBRATED:
        return fitted
    return "estimate: as the calibrated profiles (" + ", ".join(CALIBRATED) + ")"


class Profiles:
    """The texts of all profiles that are fitted, and a folder of them to simulate with."""

    def __init__(self):
        self.texts = {}
        for file in sorted(os.listdir(PROFILES)):
            with open(os.path.join(PROFILES, file), encoding="utf-8") as opened:
                self.texts[file[:-len(".json")]] = opened.read()

    def names(self):
        return sorted(self.texts)

    def set(self, constants, values, groups):
        for constant, value in zip(constants, values):
            for profiles, links, key in constant.places:
                for name in profiles:
                    self.texts[name] = rewrite(self.texts[name], links, key,
                                               constant.held_to_range(value),
                                               source_of(name, groups))

    def write(self, folder):
        for name, text in self.texts.items():
            path = os.path.join(folder, name + ".json")
            with open(path + ".tmp", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".tmp", path)


def solve(matrix, right):
    """x of matrix x = right, by elimination with the largest pivot. Small and well-conditioned."""
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    count = len(rows)
    for k in range(count):
        pivot = max(range(k, count), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, count):
            share = rows[i][k] / rows[k][k]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k])]
    x = [0.0] * count
    for k in reversed(range(count)):
        x[k] = (rows[k][count] - sum(a * b for a, b in zip(rows[k][k + 1:count], x[k + 1:]))) / rows[k][k]
    return x


# Errors, as logarithms, up to which squares count, and beyond which a figure weighs no more than its error (Huber's
# loss): a measurement that something disturbed moves nothing else.
HUBER = 0.15


def huber(error):
    return error * error if abs(error) < HUBER else HUBER * (2 * abs(error) - HUBER)


def levenberg_marquardt(residuals, weights, start, most=40):
    """Minimum of the weighted sum of huber(), from `start`. Slopes are differences; figures beyond HUBER count less."""
    x, damping, side = list(start), 0.01, 1e-3
    now = residuals(x)

    def loss(values):
        return sum(weight * huber(value) for weight, value in zip(weights, values))

    for _ in range(most):
        moved = [residuals([value + (side if i == k else 0) for i, value in enumerate(x)]) for k in range(len(x))]
        slopes = [[(b - a) / side for a, b in zip(now, column)] for column in moved]
        trust = [weight * min(1, HUBER / max(abs(value), 1e-12)) for weight, value in zip(weights, now)]
        normal = [[sum(w * a * b for w, a, b in zip(trust, one, other)) for other in slopes] for one in slopes]
        gradient = [sum(w * a * b for w, a, b in zip(trust, one, now)) for one in slopes]
        for _ in range(8):
            damped = [[value + (damping * (row[i] + 1e-6) if i == k else 0) for k, value in enumerate(row)]
                      for i, row in enumerate(normal)]
            step = [min(max(-value, -0.5), 0.5) for value in solve(damped, gradient)]
            found = [a + b for a, b in zip(x, step)]
            after = residuals(found)
            if loss(after) < loss(now):
                break
            damping *= 4
        else:
            return x
        gain = loss(now) - loss(after)
        x, now, damping = found, after, max(damping / 5, 1e-6)
        if gain < 1e-7 * loss(now):
            break
    return x


def fit_stage(constants, weights, profiles, published, folder):
    """Sets the constants to what makes huber() of the logarithms of simulated over published least, over the figures
    that are for fitting."""
    fitted = [figure.use == "fit" and figure.group in weights for figure in published.figures]

    def residuals(logarithms):
        profiles.set(constants, map(math.exp, logarithms), weights)
        profiles.write(folder)
        return [math.log(ms / figure.value_ms)
                for figure, ms, taken in zip(published.figures, published.simulate(folder), fitted) if taken]

    of_each = [weights[figure.group] for figure, taken in zip(published.figures, fitted) if taken]
    best = levenberg_marquardt(residuals, of_each, [math.log(one.guess) for one in constants])
    profiles.set(constants, map(math.exp, best), weights)
    return {one.name: float(format_value(one.held_to_range(math.exp(value))))
            for one, value in zip(constants, best)}


def errors(published, simulated):
    """By group and use: number, geometric-mean and largest error in percent."""
    logs = {}
    for figure, ms in zip(published.figures, simulated):
        logs.setdefault((figure.group, figure.use), []).append(abs(math.log(ms / figure.value_ms)))
    return [{"group": group, "use": use, "figures": len(of),
             "geometric_mean_percent": round(100 * math.expm1(sum(of) / len(of)), 2),
             "largest_percent": round(100 * math.expm1(max(of)), 2)}
            for (group, use), of in sorted(logs.items())]


def compared(published, simulated, since_hopper):
    """(measured, simulated) ms of what a profile is held against: figures of H100, and what this project has measured
    on one, forward and backward together, for those since Hopper; all other figures for older ones."""
    pairs = [(figure.value_ms, ms) for figure, ms in zip(published.figures, simulated)
             if figure.use != "report" and not figure.group.startswith(MEASURED)
             and figure.profile.startswith(MEASURED_ON) == since_hopper]
    if since_hopper:
        pairs += [(forward.value_ms + backward.value_ms, first + second)
                  for (forward, first), (backward, second) in published.own_sets(simulated)]
    return pairs


def half_width(pairs):
    """The half width of the 90 % interval around a simulated time, as a share of it: the ceil(0.9 (n + 1))-th smallest
    |measured / simulated - 1|, as `neuroshard evaluate` has it."""
    shares = sorted(abs(measured / ms - 1) for measured, ms in pairs)
    return shares[-(-9 * (len(shares) + 1) // 10) - 1]


def set_published_errors(profiles, published, folder):
    """Has every profile say how far it is from measurements, or profiles like it are."""
    simulated = published.simulate(folder)
    for name in profiles.names():
        pairs = compared(published, simulated, name in HOPPER)
        told = (f"{len(pairs)} figures measured on H100" if name in HOPPER else
                f"{len(pairs)} published figures of V100 and A100") + " (docs/VALIDATION.md)"
        if name not in CALIBRATED:
            told += ", which it follows: none is of this hardware"
        profiles.texts[name] = rewrite(profiles.texts[name], None, "published_error", half_width(pairs), told)
    profiles.write(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bench", default=os.path.join(ROOT, "build/release/bench/published_bench"))
    parser.add_argument("--data", default=os.environ.get("NEUROSHARD_TEST_DATA", ""))
    arguments = parser.parse_args()
    if not os.access(arguments.bench, os.X_OK):
        sys.exit(f"calibrate_profiles.py: no program {arguments.bench}, expected a build of published_bench")
    folder = tempfile.mkdtemp()
    try:
        with PublishedCases(arguments.bench, arguments.data) as published:
            if not published.has_dreamshard:
                sys.exit("calibrate_profiles.py: found no DreamShard tasks in the folder of test data "
                         f"'{arguments.data}', expected published/dreamshard_8_devices.json and "
                         "tables/dlrm856_table_configs.json: nothing is fitted")
            profiles = Profiles()
            constants = {}
            for stage, weights in stages(profiles.names()):
                constants.update(fit_stage(stage, weights, profiles, published, folder))
            profiles.write(folder)
            set_published_errors(profiles, published, folder)
            table = errors(published, published.simulate(folder))
    finally:
        shutil.rmtree(folder)
    profiles.write(PROFILES)
    with open(FIT + ".tmp", "w", encoding="utf-8") as file:
        json.dump({"about": "Written by scripts/calibrate_profiles.py: the constants, and simulated against "
                            "published with them.", "constants": constants, "errors": table}, file, indent=1)
        file.write("\n")
    os.replace(FIT + ".tmp", FIT)
    for name, value in constants.items():
        print(f"{name:46s} {value}")
    for row in table:
        print(f"{row['group']:26s} {row['use']:9s} {row['figures']:3d} figures, error "
              f"{row['geometric_mean_percent']:5.1f} % in the geometric mean, {row['largest_percent']:5.1f} % at most")


if __name__ == "__main__":
    main()
