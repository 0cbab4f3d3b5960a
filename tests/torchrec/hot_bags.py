"""A plan with hot rows, of sequences and of one-hot tables, runs on gloo ranks and trains as the tables
unsplit. See scripts/test-torchrec.sh.

    python hot_bags.py
"""

import logging
import os
import tempfile
import unittest
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed._shard.sharded_tensor import ShardedTensor
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.train_pipeline import TrainPipelineSparseDist
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig, EmbeddingConfig, PoolingType
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor, KeyedTensor

import neuroshard_engine
from hot_rows import BATCH, STEPS, Sent, fused_of, optimizer_of, refused, worst_of
from neuroshard_engine.torchrec import (
    HotRowsEmbeddingBagCollection,
    NeuroShardPlanner,
    hot_rows_plan,
    load_unsplit_state_dict,
    rank_rows,
    save_tables,
    split_hot_rows,
    statistics_from_kjt,
    unsplit_state_dict,
)
from run_plans import leave_groups

# Name: rows, dim, features. One-hot but for the tags, of which the samples have several, and the words,
# which are sequences.
BAGS = {"user": (4000, 16, ["f_user"]), "tags": (500, 32, ["f_tags"]),
        "item": (3000, 32, ["f_item", "f_last_item"]), "ad": (900, 16, ["f_ad"])}
WORDS = (2000, 16, ["f_words"])
MEANS = {"f_user": 0.9, "f_tags": 20.0, "f_item": 1.0, "f_last_item": 0.7, "f_ad": 1.0, "f_words": 8.0}
# So many rows are looked up so often in a batch that some pay on every rank.
REUSE = [0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02, 0, 0, 0, 0, 0, 0]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.sparse = torch.nn.Module()
        self.sparse.bags = EmbeddingBagCollection(device=torch.device("cpu"), tables=[
            EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim, feature_names=features,
                               pooling=PoolingType.MEAN if name == "ad" else PoolingType.SUM)
            for name, (rows, dim, features) in BAGS.items()])
        self.sparse.words = EmbeddingCollection(device=torch.device("cpu"), tables=[EmbeddingConfig(
            name="words", num_embeddings=WORDS[0], embedding_dim=WORDS[1], feature_names=WORDS[2])])

        self.head = Head()

    def forward(self, features):
        """The loss, and {feature: outputs}, [samples or lookups, dim]."""
        return self.head(self.sparse.bags(features), self.sparse.words(features))


class Head(torch.nn.Module):
    """Another gradient for every output, which depends on what is looked up."""

    def forward(self, bags, words):
        pooled = bags.wait() if hasattr(bags, "wait") else bags
        assert isinstance(pooled, KeyedTensor)
        words = words.wait() if hasattr(words, "wait") else words
        found = {**pooled.to_dict(), **{key: each.values() for key, each in words.items()}}
        return sum((each ** 2 * torch.linspace(0.5, 2, each.shape[1])).sum() + each.sum()
                   for each in found.values()) / BATCH, {key: each.detach() for key, each in found.items()}


def rows_of_feature(feature):
    return next((rows for rows, _, names in [*BAGS.values(), WORDS] if feature in names))


def features(seed, empty=False):
    generator = torch.Generator().manual_seed(seed)
    values, lengths = [], []
    for feature, mean in MEANS.items():
        own = (torch.rand(BATCH, generator=generator) < mean).long() if mean <= 1 else torch.poisson(
            torch.full((BATCH,), mean / 4), generator=generator).long()
        own = own * (not empty)
        rows = rows_of_feature(feature)
        draws = torch.rand(int(own.sum()), generator=generator)
        values.append((rows * draws ** 6).long().clamp(max=rows - 1) * 7 % rows)
        lengths.append(own)
    return KeyedJaggedTensor(keys=list(MEANS), values=torch.cat(values), lengths=torch.cat(lengths))


def of_step(step, rank):
    return features(1000 * step + rank, empty=step == 2 and rank == 1)


def planned(folder, ranks, kind):
    """With hot rows of all tables. With SGD two are split by columns, one stays whole, and the rest is as
    costs least. Row-wise Adagrad has a number for each row of each part of the columns: for it tables
    stay whole."""
    path = os.path.join(folder, "tables.json")
    tables = [*BAGS, "words"]
    batch = 1048576 if kind == "sgd" else 524288  # of which hot rows of all tables pay
    # Only a table that may be data_parallel may have hot rows.
    types = {"tags": "column_wise", "words": "column_wise", "user": "table_wise"} if kind == "sgd" else {}
    save_tables(path, Model(), MEANS, batch, reuse_histograms={table: REUSE for table in tables},
                constraints={table: ParameterConstraints(
                    sharding_types=[types[table], "data_parallel"] if table in types else None,
                    min_partition=4 if kind == "sgd" else 32) for table in tables})
    plan = neuroshard_engine.plan(
        path, devices=ranks, device_memory="1GB", cost_model="h100_sim" if kind == "sgd" else "a100_sim",
        hot_rows=True, row_splits="off", evaluations=3000)
    assert {each.table for each in plan.hot_rows} == set(tables), plan.hot_rows
    return plan


def ids_of(plan, ranks):
    """Of a plan for many more samples a step: a small part, since there are not as many here."""
    batches = [of_step(step, rank) for step in range(STEPS) for rank in range(ranks)]
    return rank_rows(Model(), batches, {each.table: each.rows // 40 for each in plan.hot_rows
                                        if each.table != "tags"})


def unsplit(kind, ranks):
    """Outputs of the first step by rank, and weights after the last one."""
    model = Model()
    optimizer = optimizer_of(kind, model.parameters())
    outputs = []
    for step in range(STEPS):
        optimizer.zero_grad()
        found = [model(of_step(step, rank)) for rank in range(ranks)]
        outputs = outputs or [own for _, own in found]
        (sum(loss for loss, _ in found) / ranks).backward()
        optimizer.step()
    return outputs, model.state_dict()


def sharded(kind, plan, ranks):
    """The split model in DistributedModelParallel, with the weights of Model(), and its ShardingPlan."""
    model = Model()
    split = split_hot_rows(model, ids_of(plan, ranks))
    assert sorted(split) == ["sparse.bags", "sparse.words"]
    sharding = hot_rows_plan(plan, model, "cpu")
    assert {"sparse.bags.bags", "sparse.words.cold"} < set(sharding.plan), set(sharding.plan)
    made = DistributedModelParallel(
        module=model, device=torch.device("cpu"), plan=sharding,
        sharders=[EmbeddingBagCollectionSharder(fused_params=fused_of(kind)),
                  EmbeddingCollectionSharder(fused_params=fused_of(kind))],
        env=ShardingEnv.from_process_group(dist.group.WORLD))
    state = unsplit_state_dict(made)  # TorchRec begins bags anew when it shards them
    copy_into(state, Model().state_dict())
    load_unsplit_state_dict(made, state)
    return made, sharding


def copy_into(state, whole):
    assert sorted(state) == sorted(whole), (sorted(state), sorted(whole))
    for key, held in state.items():
        for shard in held.local_shards():
            (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
            shard.tensor.copy_(whole[key][row:row + rows, column:column + columns])


def worst_weights(state, whole):
    assert sorted(state) == sorted(whole) and all(isinstance(each, ShardedTensor) for each in state.values())
    worst = 0.0
    for key, held in state.items():
        for shard in held.local_shards():
            (row, column), (rows, columns) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
            part = whole[key][row:row + rows, column:column + columns]
            worst = max(worst, float((shard.tensor - part).abs().max()))
    return worst


def expected_bytes(plan, sharding, rank, ranks, split):
    """What the formula says that a rank sends in all steps: of pooled tables outputs for every sample,
    of tables with hot rows, which are sequences then, for every cold lookup."""
    ids = ids_of(plan, ranks) if split else {}
    entries = {table: entry for tables in sharding.plan.values() for table, entry in tables.items()}
    total = 0
    for step in range(STEPS):
        for asking in range(ranks):
            lookups = of_step(step, asking).to_dict()
            for table, (_, dim, names) in [*BAGS.items(), ("words", WORDS)]:
                shards = entries[table].sharding_spec.shards
                width = sum(each.shard_sizes[1] for each in shards if each.placement.rank() == rank)
                for name in names:
                    values = lookups[name].values()
                    if table in ids:
                        count = int((~torch.isin(values, ids[table])).sum())
                    else:
                        count = len(values) if table == "words" else BATCH
                    total += 4 * count * (width + (dim if asking == rank else 0))
    return total


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    logging.getLogger("neuroshard_engine").setLevel(logging.ERROR)
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(ranks))
    dist.init_process_group("gloo", init_method=f"file://{folder}/group{ranks}", rank=rank,
                            world_size=ranks)
    for kind, piped in ("sgd", False), ("sgd", True), ("rowwise_adagrad", False):
        plan = planned(f"{folder}/{rank}", ranks, kind)
        outputs, weights = unsplit(kind, ranks)
        model, sharding = sharded(kind, plan, ranks)
        types = {entry.sharding_type for tables in sharding.plan.values() for entry in tables.values()}
        assert types == ({"table_wise", "column_wise"} if kind == "sgd" else {"table_wise"}), types
        optimizer = optimizer_of(kind, [each for name, each in model.named_parameters()
                                        if name.endswith(".hot")])
        first, sent = train(model, optimizer, rank, piped)
        assert list(first) == list(outputs[rank])
        worst = max(worst_of(first, outputs[rank]), worst_weights(unsplit_state_dict(model), weights))
        assert worst < 1e-5, f"{kind}, {ranks} ranks, rank {rank}: differ by {worst}"
        whole, split = (expected_bytes(plan, sharding, rank, ranks, each) for each in (False, True))
        assert sent == split < whole, (sent, split, whole)
        if rank == 0:
            print(f"torchrec: a plan with hot rows of {len(ids_of(plan, ranks))} tables, "
                  f"{', '.join(sorted(types))}, with {kind} on {ranks} ranks{', pipelined' * piped}: as the "
                  f"tables unsplit, rank 0 sends {sent:,} bytes in {STEPS} steps, by the formula {whole:,} "
                  "without", flush=True)
        del model, optimizer
    leave_groups()


def train(model, optimizer, rank, piped):
    """Outputs of the first step, and bytes that were sent in all."""
    batches = iter([of_step(step, rank) for step in range(STEPS)])
    if piped:
        pipeline = TrainPipelineSparseDist(model, optimizer, torch.device("cpu"), pipeline_postproc=True)
        with Sent() as counter:
            first = [pipeline.progress(batches) for _ in range(STEPS)][0]
        assert len(pipeline._pipelined_modules) == 4, pipeline._pipelined_modules  # all that are sharded
        return first, counter.bytes
    with Sent() as counter:
        outputs = []
        for batch in batches:
            optimizer.zero_grad()
            loss, found = model(batch)
            loss.backward()
            optimizer.step()
            outputs.append(found)
    return outputs[0], counter.bytes


def check_module():
    """The same outputs, also of ids never seen, of longer bags and of none."""
    model, whole = Model(), Model()
    ids = {"user": torch.tensor([0, 7, 14]), "tags": torch.tensor([0, 7]), "ad": torch.tensor([0]),
           "words": torch.arange(0, 500, 7)}
    split = split_hot_rows(model, ids)["sparse.bags"]
    assert list(split.sequences) == ["16", "32"]
    assert [each.name for each in split.bags.embedding_bag_configs()] == ["item"]
    for batch in features(2), features(3, empty=True):
        found, expected = model(batch)[1], whole(batch)[1]
        assert list(found) == list(expected) and worst_of(found, expected) < 1e-6
    assert [each.name for each in split.embedding_bag_configs()] == list(BAGS)
    every = Model()
    assert split_hot_rows(every, {table: torch.tensor([3]) for table in BAGS})["sparse.bags"].bags is None
    assert worst_of(every(features(2))[1], whole(features(2))[1]) < 1e-6
    state = unsplit_state_dict(every)
    assert all(torch.equal(state[key], each) for key, each in whole.state_dict().items())
    assert sorted(state) == sorted(whole.state_dict())


def check_planner():
    """The planner in the trainer takes the split model, and the lookups that are left to it."""
    model = Model()
    plain = statistics_from_kjt(model, [features(1)], BATCH)
    split = split_hot_rows(model, {"user": torch.arange(0, 4000, 7), "words": torch.arange(0, 2000, 7)})
    sequences = [split["sparse.words"], *split["sparse.bags"].sequences.values()]
    left = [{f"{at}": each.cold_features(features(1)) for at, each in enumerate(sequences)}
            | {"bags": features(1).permute([1, 2, 3, 4])}]  # those of tags, items and ads
    counted = statistics_from_kjt(model, left, BATCH)
    for feature in "f_user", "f_words":
        assert counted.pooling_factors[feature] < plain.pooling_factors[feature]
    planner = NeuroShardPlanner(topology=Topology(world_size=2, compute_device="cpu"),
                                batch_size=BATCH // 2, statistics=counted, evaluations=500)
    made = planner.plan(model, [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()])
    assert set(made.plan) == {"sparse.bags.bags", "sparse.bags.sequences.16.cold", "sparse.words.cold"}


def without_hot_rows(plan):
    return neuroshard_engine.plan(plan.workload, devices=2, device_memory="1GB", evaluations=100)


def check_refusals(folder):
    one = torch.tensor([1])
    refused(lambda: rank_rows(Model(), [features(1)], {"tags": 3}),
            "expected at most one: no released trainer saves the exchange of pooled tables")
    bags = [EmbeddingBagConfig(name=name, num_embeddings=9, embedding_dim=4, feature_names=["f"])
            for name in "ab"]
    weighted = EmbeddingBagCollection(tables=bags[:1], is_weighted=True)
    refused(lambda: HotRowsEmbeddingBagCollection(weighted, {"a": one}), "Collection with weights, expected")
    shared = EmbeddingBagCollection(tables=bags)
    refused(lambda: HotRowsEmbeddingBagCollection(shared, {"a": one}), "which several tables look up")
    refused(lambda: HotRowsEmbeddingBagCollection(shared, {"c": one}), "found tables 'c'")
    refused(lambda: HotRowsEmbeddingBagCollection(torch.nn.Linear(1, 1), {"a": one}), "found a Linear")
    plan = planned(folder, 2, "sgd")
    ids = ids_of(plan, 2)
    model = Model()
    refused(lambda: hot_rows_plan(plan, model), "found hot rows in the plan alone")
    split_hot_rows(model, ids)
    refused(lambda: hot_rows_plan(without_hot_rows(plan), model), "found hot rows in the model alone")
    model = Model()
    model.further = shared
    split_hot_rows(model, ids)
    refused(lambda: hot_rows_plan(plan, model), "table 'a': found it in the model alone")
    refused(lambda: hot_rows_plan({}, model), "plan: found {}")
    # The tags have none, as TorchRec would save nothing: all of their lookups are sent.
    model = Model()
    split_hot_rows(model, ids)
    with unittest.TestCase().assertLogs("neuroshard_engine.torchrec", "WARNING") as told:
        hot_rows_plan(plan, model)
    assert len(told.output) == 1 and "'tags': found hot rows in the plan alone" in told.output[0], told.output


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("neuroshard_engine").setLevel(logging.ERROR)
    check_module()
    check_planner()
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(folder)
    for ranks in 2, 4:
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(ranks):
                os.mkdir(f"{folder}/{rank}")
            mp.spawn(run_rank, (ranks, folder), nprocs=ranks)
    print("torchrec: hot rows of one-hot tables: outputs, checkpoints, what is refused")


if __name__ == "__main__":
    main()
