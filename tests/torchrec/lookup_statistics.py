"""statistics_from_kjt() equals a count by hand, and a planner takes it. See scripts/test-torchrec.sh.

    python lookup_statistics.py NEUROSHARD
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from neuroshard_engine.torchrec import (LookupStatistics, NeuroShardPlanner, read_hot_rows, save_tables,
                                        statistics_from_kjt)
from plan_in_trainer import refused

# Table: rows, features, mean lookups of each, and how uneven they are.
TABLES = {"user": (5000, ["clicked", "bought"], 12, 1.2), "country": (7, ["country"], 1, 1.0),
          "rare": (100000, ["rare"], 0.3, 0.8), "unused": (10, ["unused"], 0, 1.0)}
FEATURES = {feature: table for table, spec in TABLES.items() for feature in spec[1]}
BATCH = 700  # of the model


def model_of():
    return EmbeddingBagCollection(device=torch.device("meta"), tables=[
        EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=16, feature_names=features)
        for name, (rows, features, _, _) in TABLES.items()])


def batches_of(sizes, seed):
    """Bags by feature, as lists of lists, for each of `sizes` samples; skewed like real ones."""
    draw = np.random.default_rng(seed)
    made = []
    for size in sizes:
        bags = {}
        for feature, table in FEATURES.items():
            rows, _, factor, alpha = TABLES[table]
            weights = np.arange(1, rows + 1) ** -alpha
            lengths = draw.poisson(factor, size)
            drawn = draw.choice(rows, lengths.sum(), p=weights / weights.sum()).tolist()
            ends = np.cumsum(lengths)
            bags[feature] = [drawn[end - length:end] for length, end in zip(lengths, ends)]
        made.append(bags)
    return made


def kjt_of(bags, features=None, dtype=torch.int64):
    names = features or list(bags)
    return KeyedJaggedTensor(
        keys=names, lengths=torch.tensor([len(bag) for name in names for bag in bags[name]]),
        values=torch.tensor([row for name in names for bag in bags[name] for row in bag], dtype=dtype))


def count_by_hand(*parts):
    """Pooling factors, bag lengths and reuse histograms, sample by sample and row by row, of the
    batches of each rank."""
    batches = [bags for part in parts for bags in part]
    samples = sum(len(bags["rare"]) for bags in batches)
    lengths = {feature: Counter(len(bag) for bags in batches for bag in bags[feature])
               for feature in FEATURES}
    factors = {feature: sum(length * count for length, count in found.items()) / samples
               for feature, found in lengths.items()}
    shares = {table: [0] * 17 for table in TABLES}
    for part in parts:
        joined = {feature: [bag for bags in part for bag in bags[feature]] for feature in FEATURES}
        for begin in range(0, len(joined["rare"]) - BATCH + 1, BATCH):
            counts = defaultdict(Counter)
            for feature, table in FEATURES.items():
                for bag in joined[feature][begin:begin + BATCH]:
                    counts[table].update(bag)
            for table, rows in counts.items():
                for times in rows.values():
                    shares[table][next((k for k in range(16) if times <= 2 ** k), 16)] += 1
    reuse = {table: [count / max(1, sum(found)) for count in found]
             for table, found in shares.items()}
    return factors, {feature: dict(found) for feature, found in lengths.items()}, reuse


def check_equal(statistics, *parts):
    factors, lengths, reuse = count_by_hand(*parts)
    assert statistics.pooling_factors == factors, (statistics.pooling_factors, factors)
    assert statistics.bag_lengths == lengths
    assert statistics.reuse_histograms == reuse, (statistics.reuse_histograms, reuse)
    assert sum(share > 0 for share in reuse["user"]) > 5 and not any(reuse["unused"])


def check_counts():
    batches = batches_of([100, 350, 1, 600, 1500, 49], 1)  # 2,600 samples: three batches and a rest
    check_equal(statistics_from_kjt(model_of(), map(kjt_of, batches), BATCH), batches)
    # In several tensors, of other types, in batches of any size.
    statistics = LookupStatistics(model_of(), BATCH)
    for bags in batches:
        statistics.add([kjt_of(bags, ["clicked", "rare"], torch.int32),
                        kjt_of(bags, ["bought", "country", "unused"])])
    check_equal(statistics, batches)
    assert (statistics.samples, statistics.batches) == (2600, 3)


def check_merging():
    """As often as one likes; files keep counts."""
    parts = [batches_of([BATCH, BATCH], seed) for seed in (2, 3)]
    total, other = (statistics_from_kjt(model_of(), map(kjt_of, part), BATCH) for part in parts)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "statistics.json")
        other.save(path)
        again = LookupStatistics.read(path, model_of())
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"batch_size": 700}')
        refused(lambda: LookupStatistics.read(path, model_of()), "found no statistics of this model")
    total.merge(again)
    check_equal(total, *parts)
    refused(lambda: total.merge(LookupStatistics(model_of(), BATCH + 1)), "another model or batch size")


def check_refusals():
    batch = batches_of([10], 4)[0]
    statistics = LookupStatistics(model_of(), BATCH)
    refused(lambda: statistics.pooling_factors, "found 0 samples, expected at least 1")
    refused(lambda: statistics.add(kjt_of(batch, ["rare"])), "found no feature 'bought'")
    refused(lambda: statistics.add(7), "found int")
    refused(lambda: statistics.add(kjt_of({**batch, "country": [[7]] * 10})),
            "found row 7 in feature 'country', expected 0 to 6")
    refused(lambda: statistics.add([kjt_of(batch), kjt_of({"rare": [[1]] * 9})]),
            "found features of [9, 10] samples")
    assert statistics.samples == 0
    statistics.add(kjt_of(batch))
    refused(lambda: statistics.reuse_histograms, "found 10 samples, expected at least 700")
    refused(lambda: LookupStatistics(model_of(), 0), "batch_size: found 0")


def check_hot_rows(folder, tables, lookups):
    """Ranks of rows in files: those that are looked up most first, then by number."""
    found = read_hot_rows(folder, {table["name"]: 1 << 40 for table in tables})
    some = read_hot_rows(folder, {table["name"]: 2 for table in tables})
    for table, rows in zip(tables, lookups, strict=True):
        ids, times = np.unique(rows, return_counts=True)
        ranked = [int(ids[k]) for k in np.argsort(-times, kind="stable") if times[k] > 1]
        assert found[table["name"]].tolist() == ranked, table["name"]
        assert some[table["name"]].tolist() == ranked[:2], table["name"]
    refused(lambda: read_hot_rows(folder, {"nobody": 1}), "rows: found table 'nobody'")
    refused(lambda: read_hot_rows(folder, {tables[0]["name"]: -1}), "rows: found -1 of table")
    refused(lambda: read_hot_rows(folder + "/no", {}), "No such file")
    with open(os.path.join(folder, "0.npy"), "ab") as file:
        file.write(b"x")
    refused(lambda: read_hot_rows(folder, {tables[0]["name"]: 1}), "expected a NumPy array of")


def check_import(neuroshard):
    """The command counts the same of a batch in files."""
    bags = batches_of([BATCH], 5)[0]
    with tempfile.TemporaryDirectory() as folder:
        single = {table: [a + b for a, b in zip(*(bags[name] for name in features))]
                  if len(features) == 2 else bags[features[0]]
                  for table, (_, features, _, _) in TABLES.items()}
        indices = [row for table in TABLES for bag in single[table] for row in bag]
        lengths = [len(bag) for table in TABLES for bag in single[table]]
        np.save(os.path.join(folder, "indices.npy"), np.array(indices, dtype=np.int64))
        np.save(os.path.join(folder, "lengths.npy"),
                np.array(lengths, dtype=np.int64).reshape(len(TABLES), BATCH))
        np.save(os.path.join(folder, "offsets.npy"),
                np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        path = os.path.join(folder, "tables.json")
        subprocess.run([neuroshard, "tables", "import", "--indices", folder, "--dim", "16",
                        "--output", path, "--hot-rows", os.path.join(folder, "hot")],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            imported = json.load(file)["tables"]
        check_hot_rows(os.path.join(folder, "hot"), imported, [
            [row for bag in single[table] for row in bag] for table in TABLES])
    counted = statistics_from_kjt(model_of(), [kjt_of(bags)], BATCH)
    for table, (name, shares) in zip(imported, counted.reuse_histograms.items(), strict=True):
        assert np.allclose(table["reuse_histogram"], shares, atol=1e-12), name
        factor = sum(counted.pooling_factors[each] for each in TABLES[name][1])
        assert abs(table["pooling_factor"] - factor) < 1e-9, name


def check_planner():
    """Costs go by what was counted: skewed lookups are cheaper than uniform ones."""
    batches = batches_of([512] * 16, 6)
    counted = statistics_from_kjt(model_of(), map(kjt_of, batches), 8192)
    topology = Topology(world_size=4, compute_device="cuda", hbm_cap=8 << 30)
    sharders = [EmbeddingBagCollectionSharder()]
    # On one rank each: on all of them, small tables cost an all-reduce, whatever is looked up.
    apart = {name: ParameterConstraints(sharding_types=["table_wise"]) for name in TABLES}

    def costs(statistics=None, **other):
        planner = NeuroShardPlanner(topology=topology, batch_size=2048, statistics=statistics,
                                    constraints=apart, cost_model="h200_sim", evaluations=2000,
                                    **other)
        planner.plan(model_of(), sharders)
        tables = {table.name: table for table in planner.last_plan.workload.tables}
        return planner.last_plan.cost_ms, tables

    skewed, tables = costs(counted)
    assert tables["user"].pooling_factor == sum(counted.pooling_factors[each]
                                                for each in ("clicked", "bought"))
    assert np.allclose(tables["user"].reuse_histogram, counted.reuse_histograms["user"])
    uniform, _ = costs(pooling_factors=counted.pooling_factors)
    assert skewed < uniform, (skewed, uniform)
    refused(lambda: NeuroShardPlanner(topology=topology, batch_size=1024, statistics=counted).plan(
        model_of(), sharders), "statistics: found those of batches of 8192 samples, expected 4096")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tables.json")
        save_tables(path, model_of(), counted.pooling_factors, 8192,
                    reuse_histograms=counted.reuse_histograms)
        with open(path, encoding="utf-8") as file:
            saved = {table["name"]: table for table in json.load(file)["tables"]}
    assert saved["user"]["reuse_histogram"] == counted.reuse_histograms["user"]


def run_rank(rank, folder):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=2)
    parts = [batches_of([300, 900, BATCH], 10 + each) for each in range(2)]
    total = statistics_from_kjt(model_of(), map(kjt_of, parts[rank]), BATCH, dist.group.WORLD)
    assert (total.samples, total.batches) == (3800, 4)
    check_equal(total, *parts)
    dist.destroy_process_group()


def main():
    warnings.filterwarnings("ignore")
    for name in "torchrec", "neuroshard_engine":
        logging.getLogger(name).setLevel(logging.ERROR)
    check_counts()
    check_merging()
    check_refusals()
    check_import(os.path.abspath(sys.argv[1]))
    check_planner()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run_rank, args=(folder,), nprocs=2)
    print("torchrec: statistics_from_kjt(): pooling factors, bag lengths and reuse of rows are those of "
          "a count by hand")


if __name__ == "__main__":
    main()
