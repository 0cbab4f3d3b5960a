"""Whether exported benchmarks run on FBGEMM, and give what whole tables give. See scripts/test-torchrec.sh.

    python benchmark.py NEUROSHARD

A plan with columns, rows, columns of rows, a whole table and one on every rank, some of other data types
and optimizers, is exported. run_plan.py of that folder has to pass its own check on two ranks, and to
time every phase; FBGEMM has to take the files of the ranks.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import types

import fbgemm_gpu

BATCH = 2049  # which two ranks cannot share evenly
TABLES = [("user", 20000, 64, 10, {}), ("item", 5000, 32, 4, {}), ("query", 9000, 16, 2.5, {}),
          ("ad", 700, 16, 2, {"data_type": "fp16"}), ("country", 30, 4, 1, {}),
          ("device", 50, 8, 0.5, {"optimizer": "rowwise_adagrad"})]
PLANS = {
    "mixed": {0: [([0, 7001], None, 0), ([7001, 20000], None, 1)],
              1: [(None, [0, 20], 1), (None, [20, 32], 0)],
              2: [([0, 4500], [0, 8], 0), ([4500, 9000], [0, 8], 1), (None, [8, 16], 1)],
              4: [(None, None, "all")]},
    # Nothing to look up on one rank but its own samples.
    "lonely": {index: [(None, None, "all" if index == 1 else 0)] for index in range(len(TABLES))},
}
PHASES = ["lookup", "wait", "forward_exchange", "dense", "backward_exchange", "backward", "replica_all_reduce",
          "step"]


def run_plan(folder, *arguments):
    done = subprocess.run([sys.executable, os.path.join(folder, "run_plan.py"), "--device", "cpu", *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index("{"):])


def measure_sets(neuroshard, work, tables):
    """The sets that a model is least sure of are measured, and become cost data that calibrates it."""
    def engine(*arguments):
        subprocess.run([neuroshard, *arguments], check=True, cwd=work, stdout=subprocess.DEVNULL)

    engine("collect", "compute", "--backend", "sim", "--profile", "H200-141G", "--samples", "100", "--tables",
           tables, "--batch-size", str(BATCH), "--row-parts", "4", "--output", "simulated")
    engine("train", "compute", "--data", "simulated", "--epochs", "5", "--output", "mine.safetensors")
    engine("export", "--tables", tables, "--cost-model", "mine.safetensors", "--format", "benchmark", "--for",
           "least-sure", "20", "--device-memory", "256MiB", "--output", "unsure")
    subprocess.run([sys.executable, os.path.join(work, "unsure", "run_sets.py"), "--device", "cpu", "--warmup", "1",
                    "--runs", "3"], check=True, capture_output=True)
    engine("collect", "compute", "--from", "unsure", "--output", "measured")
    engine("calibrate", "compute", "--base", "mine.safetensors", "--data", "measured", "--epochs", "5", "--output",
           "better.safetensors")
    with open(os.path.join(work, "measured", "data.txt"), encoding="utf-8") as file:
        return len(file.readlines())


def config_class():
    """FBGEMM's own, without the rest of its package, which asks for click; none where it is older."""
    package = types.ModuleType("fbgemm_bench")
    package.__path__ = [os.path.join(os.path.dirname(fbgemm_gpu.__file__), "tbe", "bench")]
    sys.modules[package.__name__] = package
    try:
        found = importlib.import_module("fbgemm_bench.tbe_data_config").TBEDataConfig
    except ImportError:
        return None
    return found if "indices_params_list" in found.__dataclass_fields__ else None


def check_configs(folder, TBEDataConfig):
    """It takes the files of all ranks, where it knows a law a table."""
    if TBEDataConfig is None:
        return 0
    names = [name for name in sorted(os.listdir(folder)) if name.startswith("rank_")]
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            config = TBEDataConfig.from_json(file.read())
        assert config.batch_params.B == BATCH and len(config.indices_params_list) == config.T
    return len(names)


def main():
    neuroshard = os.path.abspath(sys.argv[1])  # some of its runs are in another folder
    with tempfile.TemporaryDirectory() as work:
        tables, configs, of_fbgemm = os.path.join(work, "tables.json"), 0, config_class()
        with open(tables, "w", encoding="utf-8") as file:
            json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": BATCH, "tables": [
                {"name": name, "rows": rows, "dim": dim, "pooling_factor": pooling, "zipf_alpha": 1.1, **more}
                for name, rows, dim, pooling, more in TABLES]}, file)
        for name, held in PLANS.items():
            shards = [{"table": index, "rows": rows or [0, table[1]], "columns": columns or [0, table[2]],
                       "device": device} for index, table in enumerate(TABLES)
                      for rows, columns, device in held.get(index, [(None, None, index % 2)])]
            plan, folder = os.path.join(work, name + ".json"), os.path.join(work, name)
            with open(plan, "w", encoding="utf-8") as file:
                json.dump({"format": "neuroshard-plan", "version": 1, "devices": 2, "batch_size": BATCH,
                           "shards": shards, "exchange": {"forward": "fp16", "backward": "bf16"}}, file)
            subprocess.run([neuroshard, "export", "--tables", tables, "--plan", plan, "--format", "benchmark",
                            "--output", folder], check=True)
            assert "whole tables" in run_plan(folder, "--check")["check"]
            configs += check_configs(folder, of_fbgemm)
        timed = run_plan(os.path.join(work, "mixed"), "--warmup", "1", "--steps", "3")["median_ms"]
        assert sorted(timed) == sorted(PHASES), timed
        assert all(len(timed[phase]) == 2 for phase in PHASES), timed
        with open(tables, encoding="utf-8") as file:
            whole = json.load(file)
        for table in whole["tables"]:  # cost data is of one kind of table
            table.pop("data_type", None)
            table.pop("optimizer", None)
        with open(tables, "w", encoding="utf-8") as file:
            json.dump(whole, file)
        measured = measure_sets(neuroshard, work, tables)
        assert measured == 20
    print(f"torchrec-benchmark: {len(PLANS)} plans give what whole tables give, {measured} sets are measured, "
          f"FBGEMM takes {configs} configurations")


if __name__ == "__main__":
    main()
