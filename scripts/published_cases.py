"""Measurements as cases for build/release/bench/published_bench.

bench/published/figures.json holds the figures, each with its source. DreamShard's tasks and placements are
not in the project: they are read from the folder of test data, published/dreamshard_8_devices.json and
tables/dlrm856_table_configs.json, where it has them. What this project has measured on an H100 is in
models/measured/h100.tar.xz; models/README.md says how.
"""
import json
import os
import subprocess
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "bench", "published", "figures.json")
ARCHIVE = os.path.join(ROOT, "models", "measured", "h100.tar.xz")

# What this project has measured itself: two figures of each set of shards, forward and backward.
MEASURED = "FBGEMM 1.6.0, this project"
MEASURED_ON = "H100-80G"


class Figure:
    """One measured number: its id, value in ms, what was measured on what, and what it is used for."""

    def __init__(self, entry, group, value_ms, profile, use, cases):
        self.entry = entry
        self.id = entry["id"]
        self.group = group
        self.value_ms = value_ms
        self.profile = profile
        self.use = use
        self.cases = cases  # (index of a case, index of its figure); the mean of all counts


def load_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class PublishedCases:
    """All figures, and a process that simulates them under any constants.

    Call simulate(folder) with a folder of NAME.json profiles, "" for the built-in ones: simulated
    milliseconds by the figures' order. Use as a context manager; not thread-safe.
    """

    def __init__(self, bench, data, threads=2):
        self.folder = tempfile.TemporaryDirectory()
        self.cases = []
        self.figures = []
        published = load_json(FIGURES)
        self.dreamshard = published["dreamshard"]
        for entry in published["figures"]:
            self._add_figure(entry)
        self.has_dreamshard = self._add_dreamshard(data)
        self._add_measured()
        path = self._write("cases.json", self.cases)
        self.process = subprocess.Popen([bench, "--cases", path, "--threads", str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def simulate(self, folder=""):
        self.process.stdin.write(folder + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("published_bench ended: see its message above")
        numbers = json.loads(line)
        first, values = 0, []
        for case in self.cases:  # a lookup has two figures, forward and backward
            count = 2 if case["kind"] == "lookup" else 1
            values.append(numbers[first:first + count])
            first += count
        return [sum(values[case][part] for case, part in figure.cases) / len(figure.cases)
                for figure in self.figures]

    def _write(self, name, value):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    def _write_tables(self, name, tables, batch_size):
        document = {"format": "neuroshard-tables", "version": 1, "batch_size": batch_size,
                    "tables": [{"name": f"table_{i}", **table} for i, table in enumerate(tables)]}
        return self._write(name, document)

    def _add_figure(self, entry):
        case = dict(entry["case"])
        case["profile"] = entry["profile"]
        if case["kind"] == "lookup":
            count, batch, table = case.pop("count"), case.pop("batch_size"), case.pop("table")
            case["tables"] = self._write_tables(entry["id"] + ".json", [table], batch)
            case["of"] = [0] * count
        part = 1 if entry["part"] == "backward" else 0
        value = entry["value"] * (1e-3 if entry["unit"] == "us" else 1)
        self.figures.append(Figure(entry, entry["group"], value, entry["profile"], entry["use"],
                                   [(len(self.cases), part)]))
        self.cases.append(case)

    def _add_dreamshard(self, data):
        """Whether the tasks are there. Of two random placements of a task both count."""
        tasks_path = os.path.join(data, "published", "dreamshard_8_devices.json")
        pool_path = os.path.join(data, "tables", "dlrm856_table_configs.json")
        if not data or not os.path.exists(tasks_path) or not os.path.exists(pool_path):
            return False
        tables = [{"rows": one["row"], "dim": 16, "pooling_factor": one["pooling_factor"],
                   "data_type": "fp16", "reuse_histogram": [one[f"bin_{k}"] for k in range(17)]}
                  for one in load_json(pool_path)]
        pool = self._write_tables("dreamshard.json", tables, 65536)
        for row in load_json(tasks_path)["rows"]:
            for rule in row["published_ms"]:
                self._add_mean(row, rule, pool)
        return True

    def own_sets(self, simulated):
        """Of the sets that this project has measured: [((forward, ms), (backward, ms))], figures with what is simulated."""
        own = [(figure, ms) for figure, ms in zip(self.figures, simulated) if figure.group.startswith(MEASURED)]
        return list(zip(own[::2], own[1::2]))

    def _add_measured(self):
        """Every second set is for fitting."""
        with tarfile.open(ARCHIVE) as archive:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in Debian 12's Python 3.11.2
            archive.extractall(self.folder.name, **safely)
        parts = os.path.join(self.folder.name, "h100", "fbgemm")
        for part in sorted(os.listdir(parts)):
            configs, benchmark, results = (load_json(os.path.join(parts, part, name + ".json"))
                                           for name in ("table_configs", "benchmark", "results"))
            tables = [{"rows": one["row"], "dim": one["dim"], "pooling_factor": one["pooling_factor"],
                       "reuse_histogram": [one[f"bin_{k}"] for k in range(17)]} for one in configs]
            pool = self._write_tables(part + ".json", tables, benchmark["batch_size"])
            for number, (shards, measured) in enumerate(zip(benchmark["sets"], results["sets"])):
                use = "held out" if number % 2 else "fit"
                for direction in (0, 1):
                    name = ("forward", "backward")[direction]
                    entry = {"id": f"{part}-{number}-{name}", "hardware": "H100 80GB HBM3", "hardware_known": True,
                             "unit": "ms", "part": part}
                    self.figures.append(Figure(entry, f"{MEASURED}, {name}", measured[name + "_ms"], MEASURED_ON, use,
                                               [(len(self.cases), direction)]))
                self.cases.append({"kind": "lookup", "profile": MEASURED_ON, "tables": pool, "of": shards})

    def _add_mean(self, row, rule, pool):
        own = self.dreamshard
        published = next(one for one in own["rows"]
                         if (one["tables"], one["devices"]) == (row["tables"], row["devices"]))
        cases = []
        for task in row["tasks"]:
            for name, device_of in task["placements"].items():
                if name not in (rule, rule + "-2"):
                    continue
                cases.append((len(self.cases), 0))
                self.cases.append({"kind": "plan", "profile": own["profile"], "tables": pool,
                                   "of": task["tables"], "devices": row["devices"],
                                   "device_of": device_of})
        entry = {"id": f"dreamshard-{row['tables']}-{row['devices']}-{rule}",
                 "hardware": own["hardware"], "hardware_known": False, "source": own["source"],
                 "note": own["note"], "tables": row["tables"], "rule": rule}
        self.figures.append(Figure(entry, "DreamShard", published["published_ms"][rule],
                                   own["profile"], published["use"], cases))
