"""save_tables() and load_plan() of neuroshard_engine.torchrec on a model with two collections.

    python save_and_load.py tables TABLES.json     describes the model
    python save_and_load.py limited TABLES.json    the same with constraints that allow little
    python save_and_load.py bound TABLES.json      the same with one kind or rank for each
    python save_and_load.py sequences TABLES.json  saves the tables of a model with sequences
    python save_and_load.py refusals PLAN.json     the plan is of this model, and no other is taken

See scripts/test-torchrec.sh.
"""

import json
import math
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import BoundsCheckMode, CacheAlgorithm, CacheParams, ShardingType
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig, EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingCollection
from torchrec.modules.mc_modules import (
    DistanceLFU_EvictionPolicy,
    ManagedCollisionCollection,
    MCHManagedCollisionModule,
)
from torchrec.optim import PartialRowWiseAdam, RowWiseAdagrad
from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

from neuroshard_engine.torchrec import load_plan, save_tables

USER = [("user", 20000, 64), ("country", 300, 16)]
ITEM = [("item", 5000, 128), ("shop", 9000, 32), ("brand", 700, 8)]
HISTORY = [("clicks", 20000, 32), ("buys", 3000, 32), ("visits", 40, 32)]
SEQUENCE_FACTORS = {"feature_clicks": 50, "feature_buys": 5, "feature_visits": 20}
FACTORS = {"feature_user": 40, "feature_country": 1, "feature_item": 30.5, "feature_shop": 12,
           "feature_brand": 2}


def bags(tables, data_type=DataType.FP32):
    return EmbeddingBagCollection(device=torch.device("meta"), tables=[
        EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim, data_type=data_type,
                           feature_names=["feature_" + name]) for name, rows, dim in tables])


def sequences(tables):
    return EmbeddingCollection(device=torch.device("meta"), tables=[
        EmbeddingConfig(name=name, num_embeddings=rows, embedding_dim=dim,
                        feature_names=["feature_" + name]) for name, rows, dim in tables])


def managed(table):
    """A collection of sequences whose ids are remapped."""
    name, rows, _ = table
    history = sequences([table])
    remapped = MCHManagedCollisionModule(rows, torch.device("cpu"), DistanceLFU_EvictionPolicy(), 1,
                                         input_hash_size=1 << 20)
    return ManagedCollisionEmbeddingCollection(history, ManagedCollisionCollection(
        {name: remapped}, history.embedding_configs()))


def towers(user, item):
    model = torch.nn.Module()
    for name, collection in (("user", user), ("item", item)):
        tower = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Module())
        tower[1].add_module("bags", collection)
        model.add_module(name, tower)
    return model


def refused(call, *parts):
    try:
        call()
    except ValueError as error:
        text = str(error)
        missing = [part for part in parts if part not in text]
        assert not missing and "\n" not in text, f"{text!r} lacks {missing}"
        return
    raise AssertionError(f"not refused: {parts}")


def check_saving(path):
    """Nothing that is refused touches the file."""
    def saved(model, factors=None, batch=64):
        return lambda: save_tables(path, model, FACTORS if factors is None else factors, batch)

    model = towers(bags(USER), bags(ITEM))
    refused(saved(towers(bags(USER, DataType.UINT8), bags(ITEM))),
            "table 'user' of module 'user.1.bags'", "UINT8")
    refused(saved(towers(bags(USER), bags(ITEM, DataType.INT32))), "table 'item'", "INT32")
    for bad in float("nan"), float("inf"), -1, 2e9, None, "many":
        refused(saved(model, {**FACTORS, "feature_item": bad}), "'feature_item'", repr(bad))
    refused(saved(model, {**FACTORS, "feature_itme": 3}), "'feature_itme'", "no table looks up")
    refused(saved(model, {"feature_user": 1}), "table 'country'", "no pooling factor",
            "'feature_country'")
    refused(saved(towers(bags(USER), bags(USER))), "table 'user' of module 'item.1.bags'",
            "module 'user.1.bags' too")
    for bad in 0, -1, 1.5, None:
        refused(saved(model, batch=bad), "batch_size", repr(bad))
    refused(saved(towers(bags(USER), sequences(USER[:1]))), "table 'user' of module 'item.1.bags'",
            "too, expected unique names")
    refused(saved(sequences(HISTORY)), "no pooling factor of feature 'feature_clicks'")
    refused(saved(torch.nn.Linear(1, 1)),
            "neither EmbeddingBagCollection nor EmbeddingCollection in Linear")
    refused(saved({"a": torch.nn.Linear(1, 1)}), "module 'a'", "Linear")
    assert not os.path.exists(path)
    saved({"x.y": model.user[1].bags}, {"feature_user": 1, "feature_country": 2})()
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    assert [(t["name"], t["module"]) for t in tables] == [("user", "x.y"), ("country", "x.y")]
    saved(bags(USER), {"feature_user": 1, "feature_country": 2})()
    with open(path, encoding="utf-8") as file:
        assert not any("module" in table for table in json.load(file)["tables"])
    # What remaps ids is sharded by rows over all ranks, and so the table.
    saved(managed(HISTORY[0]), {"feature_" + HISTORY[0][0]: 3})()
    with open(path, encoding="utf-8") as file:
        table, = json.load(file)["tables"]
    assert (table["name"], table["sharding_types"]) == (HISTORY[0][0], ["row_wise"]), table


def check_weights(path):
    """Whether lookups have weights, a matter of the collection, and every feature's factor."""
    def saved(weighted):
        model = EmbeddingBagCollection(device=torch.device("meta"), is_weighted=weighted, tables=[
            EmbeddingBagConfig(name="user", num_embeddings=9, embedding_dim=8,
                               feature_names=["viewer", "author"])])
        save_tables(path, model, {"viewer": 3, "author": 1}, 64)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["tables"][0]

    assert saved(True)["is_weighted"] is True
    assert "is_weighted" not in saved(False)
    assert saved(False)["pooling_factors"] == [3, 1]


def check_sequences(path):
    """Tables that are not pooled, beside such as are; each with its own optimizer."""
    history = sequences(HISTORY)
    apply_optimizer_in_backward(RowWiseAdagrad, history.embeddings["buys"].parameters(), {"lr": 0.1})
    save_tables(path, towers(bags(USER), history), {
        "feature_user": 1, "feature_country": 2, **SEQUENCE_FACTORS}, 64)
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    assert [t.get("is_pooled", True) for t in tables] == [True, True, False, False, False]
    assert [t["optimizer"] for t in tables] == ["sgd"] * 3 + ["rowwise_adagrad", "sgd"]
    assert "is_weighted" not in tables[2]


def check_optimizers(path):
    """Each table's own optimizer, and the given one where it has none."""
    def saved(model, **options):
        save_tables(path, model, {"feature_user": 1, "feature_country": 2}, 64, **options)
        with open(path, encoding="utf-8") as file:
            return [table["optimizer"] for table in json.load(file)["tables"]]

    def optimized(optimizer, tables=USER):
        model = bags(USER)
        for name, _, _ in tables:
            apply_optimizer_in_backward(optimizer, model.embedding_bags[name].parameters(),
                                        {"lr": 0.1})
        return model

    assert saved(bags(USER)) == ["sgd", "sgd"]
    assert saved(bags(USER), optimizer="adam") == ["adam", "adam"]
    assert saved(optimized(RowWiseAdagrad)) == ["rowwise_adagrad", "rowwise_adagrad"]
    assert saved(optimized(PartialRowWiseAdam, USER[:1]), optimizer="adagrad") == [
        "partial_rowwise_adam", "adagrad"]
    assert saved(optimized(torch.optim.Adam)) == ["adam", "adam"]
    refused(lambda: saved(bags(USER), optimizer="Adam"), "optimizer", "'Adam'", "'rowwise_adagrad'")
    refused(lambda: saved(optimized(torch.optim.RMSprop)), "table 'user' of the model itself",
            "RMSprop", "'RowWiseAdagrad'")


def check_constraints(path):
    """Those of TorchRec's planner: sharding is saved, the rest is the table's or refused."""
    def saved(weighted=False, **fields):
        model = EmbeddingBagCollection(device=torch.device("meta"), is_weighted=weighted, tables=[
            EmbeddingBagConfig(name="user", num_embeddings=9, embedding_dim=8,
                               feature_names=["viewer", "author"])])
        save_tables(path, model, {"viewer": 3, "author": 1}, 64,
                    constraints={"user": ParameterConstraints(**fields)})
        with open(path, encoding="utf-8") as file:
            table = json.load(file)["tables"][0]
        return {key: table[key] for key in ("sharding_types", "min_partition", "compute_kernels",
                                            "cache_load_factor") if key in table}

    every = [each.value for each in ShardingType]
    assert saved() == {}
    assert saved(sharding_types=[], compute_kernels=[], min_partition=0) == {}
    assert saved(sharding_types=every) == {}
    assert saved(sharding_types=["row_wise", "table_wise", "row_wise"], min_partition=32) == {
        "sharding_types": ["row_wise", "table_wise"], "min_partition": 32}
    # Plans have one kernel for data_parallel and three for the others.
    sharded = [each for each in every if each != "data_parallel"]
    assert saved(compute_kernels=["fused_uvm_caching", "fused", "dense", "fused_uvm"]) == {}
    assert saved(compute_kernels=["fused", "dense", "key_value", "fused_uvm"]) == {
        "compute_kernels": ["fused", "fused_uvm"]}
    assert saved(compute_kernels=["fused"]) == {
        "sharding_types": sharded, "compute_kernels": ["fused"]}
    assert saved(compute_kernels=["fused_uvm_caching"], cache_params=CacheParams(load_factor=0.3)) == {
        "sharding_types": sharded, "compute_kernels": ["fused_uvm_caching"], "cache_load_factor": 0.3}
    assert saved(cache_params=CacheParams(load_factor=1)) == {"cache_load_factor": 1.0}
    assert saved(cache_params=CacheParams()) == {}
    assert saved(sharding_types=["table_wise", "data_parallel"], compute_kernels=["dense"]) == {
        "sharding_types": ["data_parallel"]}
    # What the table is described as anyway.
    assert saved(pooling_factors=[3.0, 1.0], num_poolings=[1.0, 1.0], is_weighted=True, weighted=True,
                 feature_names=["viewer", "author"]) == {}

    user = "table 'user' of the model itself: found the constraint "
    os.remove(path)
    for fields, part in (
            ({"sharding_types": ["whole"]}, "sharding_types with 'whole'"),
            ({"sharding_types": [ShardingType.ROW_WISE]}, "sharding_types with <ShardingType."),
            ({"compute_kernels": ["key_value"]}, "compute_kernels=['key_value'], expected some of "
             "'fused', 'fused_uvm', 'fused_uvm_caching', or 'dense'"),
            ({"compute_kernels": ["fused_uvm"], "sharding_types": ["data_parallel"]},
             "compute_kernels=['fused_uvm']"),
            ({"compute_kernels": ["dense"], "sharding_types": ["row_wise"]}, "compute_kernels="),
            ({"pooling_factors": [3.0, 2.0]}, "pooling_factors=[3.0, 2.0], expected [3.0, 1.0]"),
            ({"num_poolings": [1.0, 2.0]}, "num_poolings=[1.0, 2.0], expected [1, 1]"),
            ({"feature_names": ["viewer"]}, "feature_names=['viewer'], expected ['viewer', 'author']"),
            ({"is_weighted": True}, "is_weighted=True, expected False"),
            ({"batch_sizes": [64, 64]}, "batch_sizes=[64, 64], expected none"),
            ({"cache_params": CacheParams(load_factor=0.2, prefetch_pipeline=True)},
             "cache_params with prefetch_pipeline=True, expected a load_factor alone"),
            ({"cache_params": CacheParams(algorithm=CacheAlgorithm.LFU)}, "cache_params with algorithm="),
            ({"cache_params": CacheParams(load_factor=0)}, "cache_params with load_factor=0, expected"),
            ({"cache_params": CacheParams(load_factor=1.5)}, "cache_params with load_factor=1.5"),
            ({"cache_params": CacheParams(load_factor=math.nan)}, "cache_params with load_factor=nan"),
            ({"cache_params": CacheParams(load_factor="0.2")}, "cache_params with load_factor='0.2'"),
            ({"enforce_hbm": True}, "enforce_hbm=True"),
            ({"stochastic_rounding": False}, "stochastic_rounding=False"),
            ({"bounds_check_mode": BoundsCheckMode.NONE}, "bounds_check_mode="),
            ({"output_dtype": DataType.FP16}, "output_dtype="),
            ({"device_group": "cuda"}, "device_group='cuda'"),
            ({"use_virtual_table": True}, "use_virtual_table=True")):
        refused(lambda: saved(**fields), user + part)
    for bad in -32, 1.5, (1 << 20) + 1:
        refused(lambda: saved(min_partition=bad),
                f"table 'user' of the model itself: min_partition: found {bad}, expected an integer")

    def constrained(constraints):
        return lambda: save_tables(path, towers(bags(USER), bags(ITEM)), FACTORS, 64,
                                   constraints=constraints)

    refused(constrained({"usr": ParameterConstraints()}), "constraints: found table 'usr', which the "
            "model has not, expected some of 'brand', 'country', ")
    def on_ranks(ranks):
        return lambda: save_tables(path, towers(bags(USER), bags(ITEM)), FACTORS, 64, ranks=ranks)

    refused(on_ranks({"usr": [0]}), "ranks: found table 'usr', which the model has not")
    for bad in [], [0, 0], [-1], [1 << 16], [True], [1.0], ["0"], [[]], 0, None:
        refused(on_ranks({"user": bad}), f"table 'user' of module 'user.1.bags': found ranks {bad!r}")
    refused(constrained({"shop": None}), "table 'shop' of module 'item.1.bags': found the constraint "
            "None, expected ParameterConstraints")
    assert not os.path.exists(path)
    on_ranks({"shop": (3, 0)})()
    with open(path, encoding="utf-8") as file:
        assert [t.get("devices") for t in json.load(file)["tables"]] == [
            None, None, None, [0, 3], None]
    constrained({"shop": ParameterConstraints(min_partition=16)})()
    with open(path, encoding="utf-8") as file:
        assert [t.get("min_partition") for t in json.load(file)["tables"]] == [
            None, None, None, 16, None]


def check_loading(path):
    model = towers(bags(USER), bags(ITEM))
    plan = load_plan(path, model)
    assert list(plan.plan) == ["user.1.bags", "item.1.bags"]
    assert list(plan.plan["user.1.bags"]) == ["user", "country"]
    load_plan(path, {"user.1.bags": bags(USER), "item.1.bags": bags(ITEM)})

    def loaded(other):
        return lambda: load_plan(path, other)

    refused(loaded(model.user), path, "module '1.bags' is in the model only",
            "module 'item.1.bags' is in the plan only, the model has '1.bags'")
    refused(loaded(bags(USER)), "the model itself is in the model only")
    refused(loaded(towers(bags(USER), bags(ITEM[:2]))),
            "table 'brand' of module 'item.1.bags' is in the plan only")
    refused(loaded(towers(bags(USER + [("new", 4, 4)]), bags(ITEM))),
            "table 'new' of module 'user.1.bags' is in the model only")
    refused(loaded(towers(bags([USER[0], ("country", 301, 16)]), bags(ITEM))),
            "table 'country' of module 'user.1.bags' is 300 x 16 in the plan, 301 x 16 in the model")


def grid(entries, device="cpu"):
    """The plan of {table: (sharding type, ranks of each block of columns)}, 10 rows a rank, with
    ranks on `device`."""
    return {"plan": {"bags": {
        name: {"sharding_type": sharding, "compute_kernel": "fused",
               "ranks": [rank for ranks in columns for rank in ranks],
               "shards": [{"shard_offsets": [10 * row, 4 * column], "shard_sizes": [10, 4],
                           "placement": f"rank:{rank}/" + device.format(rank=rank)}
                          for column, ranks in enumerate(columns) for row, rank in enumerate(ranks)]}
        for name, (sharding, columns) in entries.items()}}}


def check_hosts(path):
    """Tables over a host's ranks are for hosts of as many, if anybody knows those here, and so are
    the GPUs."""
    def loaded(device="cpu", **entries):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(grid(entries, device), file)
        return lambda: load_plan(path)

    rows, both = ("table_row_wise", [[2, 3]]), ("grid_shard", [[0, 1], [2, 3], [0, 1]])
    loaded(rows=rows, both=both)()
    os.environ["LOCAL_WORLD_SIZE"] = "2"
    loaded(rows=rows, both=both)()
    refused(loaded(rows=("table_row_wise", [[1, 2]])), path, "hosts of 2 ranks (LOCAL_WORLD_SIZE)",
            "table 'rows' of module 'bags' is table_row_wise over ranks [1, 2], expected all ranks")
    refused(loaded(rows=("table_row_wise", [[1, 0]])), "over ranks [1, 0]")
    refused(loaded(both=("grid_shard", [[0, 1], [2, 3, 4]])), "grid_shard over ranks [2, 3, 4]")
    for local in "1", "4":
        os.environ["LOCAL_WORLD_SIZE"] = local
        refused(loaded(rows=rows, both=both), f"hosts of {local} ranks", "table 'both'",
                "over ranks [0, 1]", "table 'rows'", "over ranks [2, 3]")
        loaded(rows=("row_wise", [[0, 1]]), whole=("table_wise", [[3]]))()
        if local == "4":
            loaded("cuda:{rank}", whole=("table_wise", [[3]]))()
            refused(loaded("cuda:{rank}", whole=("table_wise", [[3]]), far=("column_wise", [[1], [5]])),
                    "hosts of 4 ranks", "table 'far' of module 'bags' is on rank:5/cuda:5, expected "
                    "the GPU of that rank's number on its host")
            refused(loaded("cuda:0", whole=("table_wise", [[3]])), "is on rank:3/cuda:0")
            loaded("cuda", whole=("table_wise", [[5]]))()
    os.environ["WORLD_SIZE"] = "6"  # no hosts of 4: TorchRec takes all ranks for one
    refused(loaded(rows=rows), "hosts of 6 ranks")
    del os.environ["LOCAL_WORLD_SIZE"], os.environ["WORLD_SIZE"]
    loaded(rows=rows)()
    loaded("cuda:{rank}", whole=("table_wise", [[11]]))()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    refused(loaded(rows=rows), "hosts of 1 ranks")
    loaded(rows=("table_row_wise", [[0]]))()
    dist.destroy_process_group()


def main():
    command, path = sys.argv[1:]
    if command == "tables":
        save_tables(path, towers(bags(USER), bags(ITEM)), FACTORS, 4096)
        return
    if command == "limited":
        whole = ParameterConstraints(sharding_types=["table_wise"], min_partition=64)
        save_tables(path, towers(bags(USER), bags(ITEM)), FACTORS, 4096,
                    constraints={name: whole for name, _, _ in USER + ITEM})
        return
    if command == "sequences":
        types = {"clicks": ["column_wise"], "buys": ["row_wise"], "visits": ["table_wise"]}
        save_tables(path, towers(bags(USER), sequences(HISTORY)), {
            "feature_user": 40, "feature_country": 1, **SEQUENCE_FACTORS}, 4096,
                    constraints={name: ParameterConstraints(sharding_types=of, min_partition=16)
                                 for name, of in types.items()})
        return
    if command == "bound":
        types = {"user": ["row_wise"], "item": ["column_wise"], "shop": ["data_parallel"],
                 "brand": ["table_wise"]}
        save_tables(path, towers(bags(USER), bags(ITEM)), FACTORS, 4096,
                    constraints={name: ParameterConstraints(sharding_types=of, min_partition=32)
                                 for name, of in types.items()},
                    ranks={"brand": [1], "country": [1]})
        return
    with tempfile.TemporaryDirectory() as folder:
        check_saving(os.path.join(folder, "tables.json"))
        check_optimizers(os.path.join(folder, "tables.json"))
        check_weights(os.path.join(folder, "tables.json"))
        check_sequences(os.path.join(folder, "tables.json"))
        check_constraints(os.path.join(folder, "tables.json"))
        check_hosts(os.path.join(folder, "plan.json"))
    check_loading(path)
    print("torchrec: save_tables() and load_plan() tell what is wrong with models, pooling factors, "
          "constraints, plans and hosts")


if __name__ == "__main__":
    main()
