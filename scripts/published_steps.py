"""Whole training steps that MLPerf has published, beside what `neuroshard iteration` says of them.

bench/published/steps.json holds the figures. A configuration's figure is the median of its results in a round.
"""
import json
import os
import statistics
import subprocess
import tempfile

from published_cases import ROOT, load_json

STEPS = os.path.join(ROOT, "bench", "published", "steps.json")
TABLES = os.path.join(ROOT, "examples", "dlrm_dcnv2.json")
MODEL = os.path.join(ROOT, "examples", "dlrm_dcnv2_model.json")


class Step:
    """One configuration of a round: `published_ms` of so many results, and what is predicted."""

    def __init__(self, entry):
        self.entry = entry
        self.use = entry["use"]
        self.name = entry["hardware"]
        self.profile = entry["profile"]
        self.devices = entry["hosts"] * entry["devices_per_host"]
        self.published_ms = statistics.median(result["ms"] for result in entry["results"])


def read_steps():
    return [Step(entry) for entry in load_json(STEPS)["systems"]]


class Predictions:
    """What the command says of steps, each setting once. `folder` has NAME.json of each profile; "": the built-in ones."""

    def __init__(self, command, folder=""):
        self.command, self.folder, self.known = command, folder, {}

    def of(self, step):
        """(milliseconds, milliseconds of the plain sum without streams)."""
        entry = step.entry
        name, links = step.profile.split("+")
        profile = os.path.join(self.folder, name + ".json") if self.folder else name
        words = ["--tables", TABLES, "--model", MODEL, "--devices", str(step.devices), "--device-memory",
                 entry["device_memory"], "--batch-size", str(entry["batch_size"]), "--profile", f"{profile}+{links}"]
        if links == "cluster":
            words += ["--devices-per-host", str(entry["devices_per_host"])]
        key = tuple(words)
        if key not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "step.json")
                subprocess.run([self.command, "iteration", *words, "--output", path], check=True,
                               stdout=subprocess.DEVNULL)
                with open(path, encoding="utf-8") as file:
                    told = json.load(file)
            self.known[key] = (told["iteration_ms"], told["sum_ms"])
        return self.known[key]
