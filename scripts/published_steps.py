"""Whole training steps that MLPerf has published, beside what `neuroshard iteration` says of them.

bench/published/steps.json holds the figures. A configuration's figure is the median of its results in a round.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from published_cases import ROOT, load_json

STEPS = os.path.join(ROOT, "bench", "published", "steps.json")
TABLES = os.path.join(ROOT, "examples", "dlrm_dcnv2.json")
MODEL = os.path.join(ROOT, "bench", "published", "dlrm_dcnv2_hugectr.json")


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
    """What the command says of steps, each setting once. `folder` has NAME.json of each profile; "": the built-in ones.

    The plan is that of HugeCTR's planner, which the systems ran, with Adagrad's states in memory. Steps themselves are
    of tables with SGD: docs/VALIDATION.md says why.
    """

    def __init__(self, command, folder=""):
        self.command, self.folder, self.known, self.plans = command, folder, {}, {}

    def plan_of(self, step):
        """The plan file's text."""
        entry = step.entry
        words = ["--devices", str(step.devices), "--device-memory", entry["device_memory"], "--batch-size",
                 str(entry["batch_size"]), "--memory-network-ratio", str(entry["memory_network_ratio"]),
                 "--data-parallel", "on" if entry["data_parallel"] else "off"]
        if tuple(words) not in self.plans:
            with tempfile.TemporaryDirectory() as folder:
                tables, path = os.path.join(folder, "tables.json"), os.path.join(folder, "plan.json")
                workload = load_json(TABLES)
                for table in workload["tables"]:
                    table["optimizer"] = "adagrad"
                with open(tables, "w", encoding="utf-8") as file:
                    json.dump(workload, file)
                # Costs decide nothing; any cost model that knows rows and replicas would do.
                self.run(["plan", "--algorithm", "hugectr", "--tables", tables, "--cost-model", "h100_sim", *words,
                          "--output", path])
                with open(path, encoding="utf-8") as file:
                    self.plans[tuple(words)] = file.read()
        return self.plans[tuple(words)]

    def of(self, step):
        """(milliseconds, milliseconds without streams)."""
        entry = step.entry
        name, links = step.profile.split("+")
        profile = os.path.join(self.folder, name + ".json") if self.folder else name
        words = ["--tables", TABLES, "--model", MODEL, "--batch-size", str(entry["batch_size"]), "--profile",
                 f"{profile}+{links}"]
        if links == "cluster":
            words += ["--devices-per-host", str(entry["devices_per_host"])]
        plan = self.plan_of(step)
        key = (plan, *words)
        if key not in self.known:
            with tempfile.TemporaryDirectory() as folder:
                path, plan_path = os.path.join(folder, "step.json"), os.path.join(folder, "plan.json")
                with open(plan_path, "w", encoding="utf-8") as file:
                    file.write(plan)
                self.run(["iteration", *words, "--plan", plan_path, "--output", path])
                told = load_json(path)
            self.known[key] = (told["iteration_ms"], told["sum_ms"])
        return self.known[key]

    def run(self, words):
        done = subprocess.run([self.command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
