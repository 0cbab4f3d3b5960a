"""Runs exported plans on real TorchRec, on gloo ranks of this CPU. See scripts/test-torchrec.sh.

    python run_plans.py RANKS [--ranks-per-host N] [--cap-rows N] TABLES.json PLAN.json [..]

For each pair: a model with an EmbeddingBagCollection in every module of the plan, or an
EmbeddingCollection where its tables are not pooled, is wrapped in DistributedModelParallel with that
plan. Every shard must stand where the plan says and hold that part of the table, and the outputs of
random lookups must equal those of the same model unsharded.
Prints a line a plan.
"""

import argparse
import contextlib
import gc
import json
import os
import sys
import tempfile
import traceback
import warnings
import weakref

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

BATCH = 16


def read_case(tables_path, plan_path, cap):
    """Tables and plan, both with rows cut to `cap` to save memory: whole rows or row_wise blocks."""
    with open(tables_path, encoding="utf-8") as file:
        tables = [{"name": t["name"], "rows": t.get("rows", t.get("num_embeddings")),
                   "dim": t.get("dim", t.get("embedding_dim")),
                   "pooled": t.get("pooled", t.get("is_pooled", True))}
                  for t in json.load(file)["tables"]]
    with open(plan_path, encoding="utf-8") as file:
        modules = json.load(file)["plan"]
    for table in tables if cap else []:
        rows, table["rows"] = table["rows"], min(table["rows"], cap)
        for entries in modules.values():
            if table["name"] not in entries:
                continue
            entry = entries[table["name"]]
            shards, left = entry.get("shards", []), table["rows"]
            row_wise = entry["sharding_type"] == "row_wise"
            block = -(-left // len(shards)) if row_wise else left
            for shard in shards:
                assert row_wise or shard["shard_sizes"][0] == rows, "only whole rows can be cut"
                if row_wise:
                    shard["shard_offsets"][0] = table["rows"] - left
                    shard["shard_sizes"][0] = min(block, left)
                    left -= shard["shard_sizes"][0]
                else:
                    shard["shard_sizes"][0] = table["rows"]
    return tables, modules


def collection(tables):
    from torchrec.modules.embedding_configs import EmbeddingBagConfig, EmbeddingConfig
    from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection

    pooled = tables[0]["pooled"]
    assert all(t["pooled"] == pooled for t in tables), "a collection pools all of its tables or none"
    of, configs = ((EmbeddingBagCollection, EmbeddingBagConfig) if pooled
                   else (EmbeddingCollection, EmbeddingConfig))
    return of(device=torch.device("cpu"), tables=[
        configs(name=t["name"], num_embeddings=t["rows"], embedding_dim=t["dim"],
                feature_names=["feature_" + t["name"]]) for t in tables])


class Model(torch.nn.Module):
    """Collections at the dotted names of a plan; their outputs by feature."""

    def __init__(self, tables, modules):
        super().__init__()
        self.names = list(modules)
        for name in self.names:
            *parents, last = name.split(".")
            place = self
            for parent in parents:
                if parent not in dict(place.named_children()):
                    place.add_module(parent, torch.nn.Module())
                place = place.get_submodule(parent)
            place.add_module(last, collection([t for t in tables if t["name"] in modules[name]]))

    def forward(self, bags):
        return [self.get_submodule(name)(bags) for name in self.names]


def model_of(tables, modules):
    """The collection itself for a plan of module ""."""
    return collection(tables) if "" in modules else Model(tables, modules)


def outputs(found):
    """By feature, of one collection or several, sharded or not."""
    by_feature = {}
    for part in found if isinstance(found, list) else [found]:
        part = part.wait() if hasattr(part, "wait") else part
        # Bags are one KeyedTensor, sequences a JaggedTensor for each feature.
        by_feature.update({key: jagged.values() for key, jagged in part.items()}
                          if isinstance(part, dict) else part.to_dict())
    return by_feature


def lookups(tables, rank):
    """Random bags, others on every rank; some are empty."""
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    generator = torch.Generator().manual_seed(1000 + rank)
    lengths = torch.randint(0, 5, (len(tables), BATCH), generator=generator)
    values = [torch.randint(0, t["rows"], (int(n),), generator=generator)
              for t, n in zip(tables, lengths.sum(dim=1))]
    return KeyedJaggedTensor(keys=["feature_" + t["name"] for t in tables],
                             values=torch.cat(values), lengths=lengths.reshape(-1))


def check_placement(state, whole, modules, rank):
    """Shards as in the file, those of this rank here; fills them from the whole tables."""
    shards = 0
    for module, entries in modules.items():
        for name, entry in entries.items():
            key, = (key for key in (f"{module}.embedding_bags.{name}.weight".lstrip("."),
                                    f"{module}.embeddings.{name}.weight".lstrip(".")) if key in whole)
            held = state[key]
            if "shards" not in entry:
                assert entry["sharding_type"] == "data_parallel"
                assert tuple(held.shape) == tuple(whole[key].shape), key
                held.copy_(whole[key])
                continue
            written = [(s["shard_offsets"], s["shard_sizes"], s["placement"])
                       for s in entry["shards"]]
            found = [(list(m.shard_offsets), list(m.shard_sizes), str(m.placement))
                     for m in held.metadata().shards_metadata]
            assert found == written, f"{key}: found {found}, the plan says {written}"
            here = [(list(s.metadata.shard_offsets), list(s.metadata.shard_sizes))
                    for s in held.local_shards()]
            mine = [(s["shard_offsets"], s["shard_sizes"])
                    for s, r in zip(entry["shards"], entry["ranks"]) if r == rank]
            assert here == mine, f"{key}: rank {rank} holds {here}, the plan says {mine}"
            for shard in held.local_shards():
                (row, column), (rows, columns) = (shard.metadata.shard_offsets,
                                                  shard.metadata.shard_sizes)
                shard.tensor.copy_(whole[key][row:row + rows, column:column + columns])
                shards += 1
    return shards


def run_case(rank, tables, modules, plan_of_model):
    from torchrec.distributed import DistributedModelParallel
    from torchrec.distributed.embedding import EmbeddingCollectionSharder
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.types import ShardingEnv

    torch.manual_seed(7)
    whole, model = model_of(tables, modules), model_of(tables, modules)
    sharded = DistributedModelParallel(
        module=model, device=torch.device("cpu"), plan=plan_of_model(model),
        sharders=[EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()],
        env=ShardingEnv.from_process_group(dist.group.WORLD))
    shards = check_placement(sharded.state_dict(), whole.state_dict(), modules, rank)
    bags = lookups(tables, rank)
    with torch.no_grad():
        found, expected = outputs(sharded(bags)), outputs(whole(bags))
    assert len(expected) == len(tables)
    assert found.keys() == expected.keys()
    worst = max(float((found[key] - expected[key]).abs().max()) for key in expected)
    assert worst <= 1e-5, f"rank {rank}: outputs differ by {worst}"
    total = torch.tensor([float(shards), worst])
    dist.all_reduce(total[:1])
    dist.all_reduce(total[1:], op=dist.ReduceOp.MAX)
    return int(total[0]), float(total[1])


def leave_groups():
    """Ends the process groups and Gloo's threads with them, while the interpreter still runs.

    Waking from a collective says nothing of the thread that ran it: it may still hold the tensors,
    and frees them later, with Python's lock. If the interpreter is ending by then, Python ends the
    thread inside a C++ destructor: "terminate called without an active exception". A group's own
    destructor joins the threads, but comes only with the last reference to the group. Sharded modules,
    which refer to groups, are in cycles that only the collector frees, and TorchRec keeps those of a
    host's ranks, and of equal ranks of all hosts, for good."""
    from torchrec.distributed import comm

    groups = [weakref.ref(group) for group in (dist.group.WORLD, comm._INTRA_PG, comm._CROSS_PG)
              if group is not None]
    comm._INTRA_PG = comm._CROSS_PG = None
    gc.collect()
    dist.destroy_process_group()
    assert not any(group() for group in groups), "a process group is in use when its rank ends"


def run_cases(rank, ranks, folder, arguments):
    from neuroshard_engine.torchrec import load_plan, plan_of

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    of_host = arguments.ranks_per_host or ranks
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank % of_host),
                      LOCAL_WORLD_SIZE=str(of_host))
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=ranks)
    for tables_path, plan_path in zip(arguments.files[::2], arguments.files[1::2]):
        tables, modules = read_case(tables_path, plan_path, arguments.cap_rows)
        # Cut rows are no longer the file's, so that it cannot be held against the model.
        plan_of_model = (lambda _, modules=modules: plan_of(modules)) if arguments.cap_rows else (
            lambda model, path=plan_path: load_plan(path, model))
        shards, worst = run_case(rank, tables, modules, plan_of_model)
        if rank == 0:
            types = sorted({e["sharding_type"] for m in modules.values() for e in m.values()})
            several = f" in {len(modules)} modules" if len(modules) > 1 else ""
            hosts = f" on hosts of {of_host}" if of_host < ranks else ""
            print(f"{os.path.basename(plan_path)}: {len(tables)} tables{several}, {', '.join(types)}, "
                  f"{ranks} ranks{hosts}: {shards} shards in place, outputs differ by {worst:.1g} at "
                  "most", flush=True)
        dist.barrier()
    leave_groups()


def run_rank(rank, ranks, folder, arguments):
    try:
        run_cases(rank, ranks, folder, arguments)
    except Exception:
        # The other ranks fail, too, when this one's connections close: the first one knows why.
        with contextlib.suppress(FileExistsError), \
                open(f"{folder}/failure", "x", encoding="utf-8") as file:
            file.write(f"rank {rank} failed first:\n{traceback.format_exc()}")
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ranks", type=int)
    parser.add_argument("--ranks-per-host", type=int, help="all on one host if not given")
    parser.add_argument("--cap-rows", type=int, default=0)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if len(arguments.files) % 2:
        parser.error("expected pairs of tables and plan")
    with tempfile.TemporaryDirectory() as folder:
        try:
            mp.spawn(run_rank, args=(arguments.ranks, folder, arguments), nprocs=arguments.ranks)
        except mp.ProcessRaisedException:
            with open(f"{folder}/failure", encoding="utf-8") as file:
                sys.exit(file.read())


if __name__ == "__main__":
    main()
