#!/usr/bin/env bash
# Calibration: that the checked-in fit is what the profiles that are built in say today, and that nothing is
# written without the data that it needs.
set -euo pipefail
program=${NEUROSHARD_BUILD:?}/bench/published_bench
scripts=${NEUROSHARD_SOURCE:?}/scripts
if [ ! -x "$program" ] || ! command -v python3 > /dev/null; then
  echo "skipped: $program is not built, or there is no python3"
  exit 77
fi

code=0
message=$(python3 "$scripts/calibrate_profiles.py" --bench "$program" --data /nowhere 2>&1) || code=$?
if [ "$code" != 1 ] || [[ $message != *"found no DreamShard tasks"* ]]; then
  echo "calibrate_test: without data: exit code $code, '$message'" >&2
  exit 1
fi
python3 - "$scripts" "$program" "${NEUROSHARD_TEST_DATA:-}" "$NEUROSHARD_BUILD/neuroshard" <<'PYTHON'
import json
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
from calibrate_profiles import FIT, Profiles, errors, set_published_errors
from published_cases import PublishedCases

with open(FIT, encoding="utf-8") as file:
    checked_in = {(row["group"], row["use"]): row for row in json.load(file)["errors"]}
with PublishedCases(sys.argv[2], sys.argv[3]) as published:
    table = errors(published, published.simulate())
    if published.has_dreamshard:  # the profiles say how far off they are
        profiles, before = Profiles(), Profiles()
        with tempfile.TemporaryDirectory() as folder:
            profiles.write(folder)
            set_published_errors(profiles, published, folder)
        for name, text in before.texts.items():
            assert profiles.texts[name] == text, f"{name}: published_error is another by now"
assert table, "no figures"
for row in table:
    known = checked_in[row["group"], row["use"]]
    for key in ("geometric_mean_percent", "largest_percent"):
        assert abs(row[key] - known[key]) < 0.02, f"{row} but {known} in bench/published/fit.json"

# The constants of whole steps are what is fitted to them today.
from calibrate_steps import add_latency, fit
profiles = Profiles()
for name in profiles.names():
    assert add_latency(profiles.texts[name]) == profiles.texts[name], name
fit(sys.argv[4], profiles)
assert profiles.texts == Profiles().texts, "scripts/calibrate_steps.py says something else by now"

# Rewriting a constant changes that line alone.
text = Profiles().texts["A100-80G"]
from calibrate_profiles import rewrite
changed = rewrite(text, ["efa"], "inter_host_small_gbps", 3.25, "a \"test\"")
lines = [(a, b) for a, b in zip(text.split("\n"), changed.split("\n")) if a != b]
assert len(lines) == 1 and '"value": 3.25, "source": "a \\"test\\""}' in lines[0][1], lines
assert json.loads(changed)["interconnects"][3]["inter_host_small_gbps"]["value"] == 3.25
PYTHON
