"""Whether `--cost-model torchrec`, or `torchrec-1.4` under that release, is TorchRec's estimator: plans of
random tables, of all data types, some with weights or several features, some with less than one
lookup a sample, some of sequences, cost what TorchRec says.

    python tests/torchrec/formula.py FOLDER
"""

import importlib.util
import itertools
import json
import os
import random
import sys
from importlib import metadata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROUNDS = 4
MODEL = "torchrec-1.4" if metadata.version("torchrec").startswith("1.4.") else "torchrec"
MEMORY = 1 << 40


def load_study():
    path = os.path.join(ROOT, "scripts", "torchrec_study.py")
    spec = importlib.util.spec_from_file_location("torchrec_study", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What TorchRec counts as memory of int8 rows lacks their scales and biases.
SIZED_TYPES = ("fp32", "fp16", "bf16")


def random_tables(kind, kinds, types=SIZED_TYPES):
    """Twenty of one collection: sequences have one dim and no weights."""
    tables = [random_table(index, kind == "weighted", kinds, types) for index in range(20)]
    if kind == "sequences":
        for table in tables:
            del table["weighted"]
            table.update(dim=tables[0]["dim"], data_type=tables[0]["data_type"], pooled=False)
    return tables


def even_rows(tables):
    """With as many rows in each block: TorchRec counts the last one's lookups as those of the others."""
    for table in tables:
        table["rows"] = -(-table["rows"] // 64) * 64
    return tables


def random_table(index, weighted, kinds, types):
    table = {"name": f"t{index}", "rows": int(10 ** kinds.uniform(2, 7)),
             "dim": 4 * kinds.randint(1, 48), "pooling_factor": round(10 ** kinds.uniform(-1, 2), 3),
             "data_type": kinds.choice(types)}
    if kinds.random() < 0.3:
        table["features"] = kinds.randint(2, 5)
    return {**table, "weighted": weighted}


def main():
    study = load_study()
    path = os.path.join(sys.argv[1], "formula.json")
    plan = os.path.join(sys.argv[1], "formula-plan.json")
    kinds = random.Random(1)
    types = {"sequences": set(), "bags": set()}
    collections = ["plain", "weighted", "sequences"]
    for kind, devices in itertools.product(collections * ROUNDS, [4, 8, 16]):
        tables = random_tables(kind, kinds, (*SIZED_TYPES, "int8"))
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": 4096,
                       "tables": tables}, file)
        # With all layouts, the cheapest plans of sequences may have no columns.
        layouts = ("--row-splits", "off") if devices == 4 else ("--data-parallel", "on")
        study.neuroshard("plan", "--tables", path, "--devices", devices, "--device-memory", MEMORY,
                         "--cost-model", MODEL, *layouts, "--evaluations",
                         20000, "--format", "torchrec", "--output", plan)
        own = json.loads(study.neuroshard("simulate", "--tables", path, "--plan", plan,
                                          "--device-memory", MEMORY, "--cost-model", MODEL,
                                          "--output", "-")[0])["cost_ms"]
        with open(plan, encoding="utf-8") as file:
            written = json.load(file)
        types["sequences" if kind == "sequences" else "bags"].update(
            entry["sharding_type"] for entry in written["plan"][""].values())
        theirs = study.TorchRec(tables, 4096, devices, MEMORY, "all", 4).cost(written)
        if not abs(own / theirs - 1) < 1e-5:
            raise AssertionError(f"{path}, {devices} devices: {own} ms, TorchRec says {theirs}")
    both = {"table_wise", "column_wise", "row_wise", "data_parallel"}
    for kind, expected in ("bags", both | {"table_row_wise"}), ("sequences", both):
        missing = expected - types[kind]
        if missing:
            raise AssertionError(f"no plan of {kind} has a table of these types: {sorted(missing)}")
    print(f"torchrec-formula: {9 * ROUNDS} plans cost what TorchRec says, {len(types['bags'])} sharding "
          f"types of bags, {len(types['sequences'])} of sequences")


if __name__ == "__main__":
    main()
