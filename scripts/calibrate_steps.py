#!/usr/bin/env python3
"""Fits two constants of whole training steps to two that MLPerf has published.

Rewrites gemm_share, inter_host_step_latency_us and iteration_error in engine/ground_truth/sim/profiles/*.json, after
scripts/calibrate_profiles.py, whose constants it goes on from. Needs a build (build/release/neuroshard); no data, no
packages. Takes half a minute. Deterministic. Then: build again, scripts/validation.py.

- gemm_share: 8 H100 of v4.0. Every profile gets it.
- inter_host_step_latency_us: 64 H100 of v4.0. Links between hosts by InfiniBand get it, not EFA.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

from calibrate_profiles import PROFILES, Profiles, rewrite
from published_cases import ROOT
from published_steps import Predictions, read_steps

FITTED = "H100-80G"  # whose steps are fitted to
# Links between hosts, and the key that the new one is put behind where it is not there yet.
BETWEEN_HOSTS = ("cluster", "nvl72")
BEFORE = "inter_host_latency_us"
LATENCY = "inter_host_step_latency_us"


def add_latency(text):
    """The profile's text with the step's latency in every link between hosts of BETWEEN_HOSTS."""
    profile = json.loads(text)
    for link in profile["interconnects"]:
        if link["name"] not in BETWEEN_HOSTS or BEFORE not in link or LATENCY in link:
            continue
        told = json.dumps(link[BEFORE], ensure_ascii=False)
        at = text.index(f'"name": "{link["name"]}"')
        at = text.index(f'"{BEFORE}": {told}', at) + len(f'"{BEFORE}": {told}')
        text = text[:at] + f',\n      "{LATENCY}": {{"value": 0, "source": "not fitted yet"}}' + text[at:]
    return text


def source_of(name, of):
    if name == FITTED:
        return f"calibrated: scripts/calibrate_steps.py, fitted to MLPerf's step on {of}"
    return f"estimate: as {FITTED}, which is fitted to MLPerf's step on {of}"


def set_constant(profiles, links, key, value, of):
    for name in profiles.names():
        profiles.texts[name] = rewrite(profiles.texts[name], links, key, value, source_of(name, of))


def bisect(low, high, too_high):
    """The value at which too_high(value) becomes true, to the four digits that profiles have."""
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (low, middle) if too_high(middle) else (middle, high)
    return float(f"{(low + high) / 2:.4g}")


def set_error(profiles, predictions):
    """Every profile says how near 90 % of the results are that nothing was fitted to."""
    shares = sorted(abs(result["ms"] / predictions.of(step)[0] - 1) for step in read_steps()
                    if step.use == "held out" for result in step.entry["results"])
    share = shares[-(-9 * (len(shares) + 1) // 10) - 1]
    compared = {step.profile.split("+")[0] for step in read_steps()}
    for name in profiles.names():
        told = f"{len(shares)} published steps of MLPerf's DLRM-DCNv2 (docs/VALIDATION.md)"
        if name not in compared:
            told += ", none of this hardware"
        profiles.texts[name] = rewrite(profiles.texts[name], None, "iteration_error", share, told)


def fit(command, profiles):
    """Sets the constants and the error."""
    eight, many = (next(step for step in read_steps() if step.use == "fit" and (step.devices > 8) == several)
                   for several in (False, True))
    folder = tempfile.mkdtemp()
    try:
        def predicted(step, links, key, value, of):
            set_constant(profiles, links, key, value, of)
            profiles.write(folder)
            return Predictions(command, folder).of(step)[0]

        settings = [(eight, None, "gemm_share", 0.3, 1.0, "8 x H100, v4.0", False),
                    (many, BETWEEN_HOSTS, LATENCY, 1, 1000, "64 x H100, v4.0", True)]
        for step, links, key, low, high, of, longer in settings:
            value = bisect(low, high, lambda one, step=step, links=links, key=key, of=of, longer=longer:
                           (predicted(step, links, key, one, of) > step.published_ms) == longer)
            set_constant(profiles, links, key, value, of)
            print(f"{key:28s} {value:g}")
        profiles.write(folder)
        set_error(profiles, Predictions(command, folder))
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--command", default=os.path.join(ROOT, "build/release/neuroshard"))
    arguments = parser.parse_args()
    if not os.access(arguments.command, os.X_OK):
        sys.exit(f"calibrate_steps.py: no program {arguments.command}, expected a build of neuroshard")
    profiles = Profiles()
    for name in profiles.names():
        profiles.texts[name] = add_latency(profiles.texts[name])
    fit(arguments.command, profiles)
    profiles.write(PROFILES)


if __name__ == "__main__":
    main()
