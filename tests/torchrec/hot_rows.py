"""Sequence tables whose hot rows every rank has, beside the same tables unsplit, on gloo ranks. See
scripts/test-torchrec.sh.

    python hot_rows.py
"""

import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.sharding_plan import (
    construct_module_sharding_plan,
    row_wise,
    table_wise,
)
from torchrec.distributed.types import ShardingEnv, ShardingPlan
from torchrec.modules.embedding_configs import EmbeddingBagConfig, EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
from torchrec.optim.rowwise_adagrad import RowWiseAdagrad
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from fbgemm_gpu.split_embedding_configs import EmbOptimType
from neuroshard_engine import InvalidInputError
from neuroshard_engine.torchrec import (
    HotRowsEmbeddingCollection,
    rank_rows,
    split_hot_rows,
    statistics_from_kjt,
)
from run_plans import leave_groups

TABLES = [("words", 2000, 16, 6.0), ("bought", 300, 16, 2.0), ("cities", 40, 16, 1.0)]
HOT = {"words": 200, "bought": 50}
BATCH = 32  # samples of a rank
STEPS = 4
RATE, EPS = 0.05, 1e-8


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.sequences = EmbeddingCollection(device=torch.device("cpu"), tables=[
            EmbeddingConfig(name=name, num_embeddings=rows, embedding_dim=dim,
                            feature_names=["f_" + name]) for name, rows, dim, _ in TABLES])

    def forward(self, features):
        found = self.sequences(features)
        return found.wait() if hasattr(found, "wait") else found


def features(seed, empty=False):
    """Skewed lookups; some samples have none, and with `empty` no sample has any."""
    generator = torch.Generator().manual_seed(seed)
    values, lengths = [], []
    for _, rows, _, mean in TABLES:
        own = torch.poisson(torch.full((BATCH,), 0.0 if empty else mean), generator=generator).long()
        draws = torch.rand(int(own.sum()), generator=generator)
        values.append((rows * draws ** 4).long().clamp(max=rows - 1) * 7 % rows)  # hot ids anywhere
        lengths.append(own)
    return KeyedJaggedTensor(keys=["f_" + name for name, *_ in TABLES], values=torch.cat(values),
                             lengths=torch.cat(lengths))


def of_step(step, rank):
    return features(1000 * step + rank, empty=step == 2 and rank == 1)


def every_row():
    """Each table's rows in order, as one sample."""
    return KeyedJaggedTensor(keys=["f_" + name for name, *_ in TABLES],
                             values=torch.cat([torch.arange(rows) for _, rows, *_ in TABLES]),
                             lengths=torch.tensor([rows for _, rows, *_ in TABLES]))


def loss_of(found):
    """Another gradient for every lookup, which depends on what is looked up."""
    return sum((each.values() ** 2 * torch.linspace(0.5, 2, each.values().shape[1])).sum()
               + each.values().sum() for each in found.values()) / BATCH


def optimizer_of(kind, parameters):
    return (torch.optim.SGD(parameters, lr=RATE) if kind == "sgd"
            else RowWiseAdagrad(parameters, lr=RATE, eps=EPS))


def unsplit(kind, ranks):
    """Outputs of the first step by rank, and all rows after the last one. TorchRec divides gradients by
    the number of ranks."""
    model = Model()
    optimizer = optimizer_of(kind, model.parameters())
    outputs = []
    for step in range(STEPS):
        optimizer.zero_grad()
        found = [model(of_step(step, rank)) for rank in range(ranks)]
        if step == 0:
            outputs = [{key: each.values().detach() for key, each in own.items()} for own in found]
        (sum(loss_of(own) for own in found) / ranks).backward()
        optimizer.step()
    return outputs, {key: each.values().detach() for key, each in model(every_row()).items()}


class Sent:
    """Bytes of floats that this rank gives to all-to-alls."""

    def __enter__(self):
        self.bytes, self.real = 0, dist.all_to_all_single

        def counted(output, input, *rest, **named):
            if input.is_floating_point():
                self.bytes += input.numel() * input.element_size()
            return self.real(output, input, *rest, **named)

        dist.all_to_all_single = counted
        return self

    def __exit__(self, *_):
        dist.all_to_all_single = self.real


def sharded(model, module, kind, ranks):
    sharder = EmbeddingCollectionSharder(fused_params={
        "optimizer": EmbOptimType.EXACT_SGD if kind == "sgd" else EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        "learning_rate": RATE, "eps": EPS})
    plan = construct_module_sharding_plan(
        model.get_submodule(module),
        {"words": row_wise(compute_kernel="fused"), "bought": table_wise(rank=ranks - 1, compute_kernel="fused"),
         "cities": table_wise(rank=0, compute_kernel="fused")},
        sharder=sharder, world_size=ranks, local_size=ranks, device_type="cpu")
    return DistributedModelParallel(
        module=model, device=torch.device("cpu"), plan=ShardingPlan({module: plan}),
        sharders=[sharder], env=ShardingEnv.from_process_group(dist.group.WORLD))


def train(kind, rank, ranks, hot):
    """Outputs, rows and bytes as unsplit() has them."""
    model = Model()
    module = "sequences"
    if hot:
        batches = [of_step(step, rank) for step in range(STEPS)]
        ids = rank_rows(model, batches, HOT, dist.group.WORLD)
        assert list(split_hot_rows(model, ids)) == ["sequences"]
        module = "sequences.cold"
    model = sharded(model, module, kind, ranks)
    dense = [each for name, each in model.named_parameters() if ".hot." in name]
    assert len(dense) == (len(HOT) if hot else 0)
    optimizer = optimizer_of(kind, dense) if dense else None
    first, sent = {}, 0
    for step in range(STEPS):
        if optimizer:
            optimizer.zero_grad()
        with Sent() as counter:
            found = model(of_step(step, rank))
            loss_of(found).backward()
        sent += counter.bytes
        if step == 0:
            first = {key: each.values().detach() for key, each in found.items()}
        if optimizer:
            optimizer.step()
    with torch.no_grad():
        rows = {key: each.values() for key, each in model(every_row()).items()}
    return first, rows, sent


def worst_of(found, expected):
    assert found.keys() == expected.keys()
    return max(float((found[key] - expected[key]).abs().max()) for key in expected if len(expected[key]))


def sent_bytes(rank, ranks, hot):
    """What the formula says that a rank sends: the outputs of the lookups that it answers, and the
    gradients of those that it asks for."""
    ids = rank_rows(Model(), [of_step(step, each) for step in range(STEPS) for each in range(ranks)], HOT)
    block = -(-2000 // ranks)
    total = 0
    for step in range(STEPS):
        for asking in range(ranks):
            for key, own in of_step(step, asking).to_dict().items():
                name = key[2:]
                dim = next(dim for table, _, dim, _ in TABLES if table == name)
                values = own.values()
                if hot and name in ids:
                    values = values[~torch.isin(values, ids[name])]
                owner = {"words": values // block, "bought": torch.full_like(values, ranks - 1),
                         "cities": torch.zeros_like(values)}[name]
                total += int((owner == rank).sum()) * dim * 4
                total += len(values) * dim * 4 if asking == rank else 0
    return total


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/group{ranks}", rank=rank,
                            world_size=ranks)
    for kind in "sgd", "rowwise_adagrad":
        outputs, rows = unsplit(kind, ranks)
        bytes_of = {}
        for hot in False, True:
            first, found, bytes_of[hot] = train(kind, rank, ranks, hot)
            worst = max(worst_of(first, outputs[rank]), worst_of(found, rows))
            assert worst < 1e-5, f"{kind}, hot {hot}, rank {rank}: differ by {worst}"
            assert bytes_of[hot] == sent_bytes(rank, ranks, hot), (bytes_of, sent_bytes(rank, ranks, hot))
        assert bytes_of[True] < 0.6 * bytes_of[False], bytes_of
        if rank == 0:
            print(f"torchrec: hot rows with {kind} on {ranks} ranks: as the tables unsplit, rank 0 sends "
                  f"{bytes_of[True]:,} bytes in {STEPS} steps, {bytes_of[False]:,} without")
    leave_groups()


def refused(call, words):
    try:
        call()
    except InvalidInputError as error:
        assert words in str(error) and "\n" not in str(error), error
        return
    raise AssertionError(f"not refused: {words}")


def check_ranks():
    model = Model()
    batches = [features(seed) for seed in range(5)]
    ids = rank_rows(model, batches, {"words": 5, "cities": 1000})
    for table, name in ("words", "f_words"), ("cities", "f_cities"):
        values = torch.cat([batch.to_dict()[name].values() for batch in batches]).tolist()
        counts = {each: values.count(each) for each in set(values)}
        expected = sorted(counts, key=lambda each: (-counts[each], each))
        assert ids[table].tolist() == expected[:5 if table == "words" else 1000]
    assert rank_rows(model, [], {"words": 3})["words"].tolist() == []
    refused(lambda: rank_rows(model, [], {"nobody": 1}), "found table 'nobody'")
    refused(lambda: rank_rows(model, [], {"words": -1}), "found -1 of table 'words'")


def check_module():
    model, whole = Model(), Model()
    split = split_hot_rows(model, rank_rows(model, [features(1)], HOT))["sequences"]
    for batch in features(2), features(3, empty=True):  # of ids never seen, too
        found, expected = model(batch), whole(batch)
        for key in expected:
            assert torch.equal(found[key].values(), expected[key].values())
            assert torch.equal(found[key].lengths(), expected[key].lengths())
    cold = split.cold_features(features(1))
    assert cold.keys() == features(1).keys() and len(cold.values()) < len(features(1).values())
    counted = statistics_from_kjt(model, [cold], BATCH)
    assert counted.pooling_factors["f_words"] < 3 < 5 < statistics_from_kjt(
        whole, [features(1)], BATCH).pooling_factors["f_words"]
    with torch.no_grad():
        split.hot["words"].fill_(5)
    weight = whole.sequences.embeddings["words"].weight.detach().clone()
    split.put_hot_rows_into("words", weight)
    assert int((weight == 5).all(dim=1).sum()) == len(split.hot["words"])
    uneven = KeyedJaggedTensor(keys=features(1).keys(), values=torch.tensor([1, 2, 3, 4]),
                               lengths=torch.tensor([1, 1, 1, 1]),
                               stride_per_key_per_rank=[[2], [1], [1]])
    refused(lambda: model(uneven), "found a batch size for each key")
    refused(lambda: split.put_hot_rows_into("cities", weight), "found table 'cities'")
    refused(lambda: split.put_hot_rows_into("words", weight[:7]), "found shape (7, 16)")


def check_refusals():
    one = torch.tensor([1])
    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([2000])}), "found row 2000 of table")
    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([-1])}), "found row -1 of table")
    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([1, 1])}), "twice")
    refused(lambda: split_hot_rows(Model(), {"words": one, "nobody": one}), "'nobody'")
    refused(lambda: split_hot_rows(Model().sequences, {"words": one}), "expected a model that has it")
    model = torch.nn.Module()
    model.bags = EmbeddingBagCollection(tables=[EmbeddingBagConfig(
        name="bag", num_embeddings=10, embedding_dim=4, feature_names=["f"])])
    refused(lambda: split_hot_rows(model, {"bag": one}), "which is pooled")
    shared = EmbeddingCollection(tables=[
        EmbeddingConfig(name=name, num_embeddings=10, embedding_dim=4, feature_names=["f"])
        for name in ("a", "b")])
    refused(lambda: HotRowsEmbeddingCollection(shared, {"a": one}), "looks up other tables")
    meta = EmbeddingCollection(device=torch.device("meta"), tables=[
        EmbeddingConfig(name="a", num_embeddings=10, embedding_dim=4, feature_names=["f"])])
    refused(lambda: HotRowsEmbeddingCollection(meta, {"a": one}), "device meta")


if __name__ == "__main__":
    check_ranks()
    check_module()
    check_refusals()
    for count in 2, 4:
        with tempfile.TemporaryDirectory() as temporary:
            mp.spawn(run_rank, (count, temporary), nprocs=count)
    print("torchrec: hot rows: ranks of ids, what is refused")
