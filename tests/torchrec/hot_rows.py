"""Sequence tables whose hot rows every rank has, beside the same tables unsplit, on gloo ranks. See
scripts/test-torchrec.sh.

    python hot_rows.py
"""

import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.optim import _apply_optimizer_in_backward
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.comm_ops import set_gradient_division
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.sharding_plan import (
    column_wise,
    construct_module_sharding_plan,
    row_wise,
    table_wise,
)
from torchrec.distributed.types import ShardingEnv, ShardingPlan
from torchrec.modules.embedding_configs import DataType, EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingCollection
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingCollection
from torchrec.modules.mc_modules import (
    DistanceLFU_EvictionPolicy,
    ManagedCollisionCollection,
    MCHManagedCollisionModule,
)
from torchrec.optim.rowwise_adagrad import RowWiseAdagrad
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from fbgemm_gpu.split_embedding_configs import EmbOptimType
from neuroshard_engine import InvalidInputError
from neuroshard_engine.torchrec import (
    HotRowsEmbeddingCollection,
    fetch_hot_rows,
    fetch_hot_sums,
    load_unsplit_state_dict,
    rank_rows,
    split_hot_rows,
    statistics_from_kjt,
    store_hot_sums,
    unsplit_state_dict,
)
from run_plans import leave_groups

# Name, rows, dim, mean lookups; the middle one keeps its rows where they are.
TABLES = [("words", 2000, 16, 6.0), ("cities", 40, 16, 1.0), ("bought", 300, 16, 2.0)]
HOT = {"words": 200, "bought": 50}
BATCH = 32  # samples of a rank
STEPS = 4
RATE, EPS = 0.05, 1e-8


class Model(torch.nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        torch.manual_seed(7)
        self.sequences = EmbeddingCollection(device=torch.device(device), tables=[
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
    """Empty on a rank in one step."""
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


def fused_of(kind):
    """The same optimizer in FBGEMM, as sharders take it."""
    return {"optimizer": EmbOptimType.EXACT_SGD if kind == "sgd" else EmbOptimType.EXACT_ROWWISE_ADAGRAD,
            "learning_rate": RATE, "eps": EPS}


def unsplit(kind, ranks, divided=True, steps=STEPS):
    """Outputs of the first step by rank, and all rows after the last one. TorchRec divides gradients by
    the number of ranks, unless it is told not to."""
    model = Model()
    optimizer = optimizer_of(kind, model.parameters())
    outputs = []
    for step in range(steps):
        optimizer.zero_grad()
        found = [model(of_step(step, rank)) for rank in range(ranks)]
        if step == 0:
            outputs = [{key: each.values().detach() for key, each in own.items()} for own in found]
        (sum(loss_of(own) for own in found) / (ranks if divided else 1)).backward()
        optimizer.step()
    return outputs, rows_of(model)


@torch.no_grad()
def rows_of(model):
    return {key: each.values() for key, each in model(every_row()).items()}


class Sent:
    """Bytes that this rank gives to all-to-alls: of outputs and gradients, and of ids."""

    def __enter__(self):
        self.bytes, self.ids, self.real = 0, 0, dist.all_to_all_single

        def counted(output, input, *rest, **named):
            size = input.numel() * input.element_size()
            if input.is_floating_point():
                self.bytes += size
            elif input.dtype == torch.int64:
                self.ids += size
            return self.real(output, input, *rest, **named)

        dist.all_to_all_single = counted
        return self

    def __exit__(self, *_):
        dist.all_to_all_single = self.real


def sharded(model, kind, ranks, module="sequences.cold"):
    sharder = EmbeddingCollectionSharder(fused_params=fused_of(kind))
    # Row-wise Adagrad has a number for each row of each part of the columns: with SGD alone they are
    # the whole table's.
    words = (column_wise(ranks=list(range(ranks)), compute_kernel="fused") if kind == "sgd"
             else row_wise(compute_kernel="fused"))
    plan = construct_module_sharding_plan(
        model.get_submodule(module),
        {"words": words, "bought": table_wise(rank=ranks - 1, compute_kernel="fused"),
         "cities": table_wise(rank=0, compute_kernel="fused")},
        sharder=sharder, world_size=ranks, local_size=ranks, device_type="cpu")
    return DistributedModelParallel(
        module=model, device=torch.device("cpu"), plan=ShardingPlan({module: plan}),
        sharders=[sharder], env=ShardingEnv.from_process_group(dist.group.WORLD))


def split_model(rank):
    model = Model()
    ids = rank_rows(model, [of_step(step, rank) for step in range(STEPS)], HOT, dist.group.WORLD)
    assert list(split_hot_rows(model, ids)) == ["sequences"]
    return model


def train(model, kind, rank, optimizer=None, begin=0):
    """Outputs of the first step, and what was sent in all: of ids what a batch without any does not send,
    as their numbers travel so, too."""
    dense = [each for name, each in model.named_parameters() if name.endswith(".hot")]
    optimizer = optimizer or (optimizer_of(kind, dense) if dense else None)
    with Sent() as nothing, torch.no_grad():
        model(features(0, empty=True))
    first, sent, ids = {}, 0, -STEPS * nothing.ids
    for step in range(begin, begin + STEPS):
        if optimizer:
            optimizer.zero_grad()
        with Sent() as counter:
            found = model(of_step(step, rank))
            loss_of(found).backward()
        sent, ids = sent + counter.bytes, ids + counter.ids
        if step == begin:
            first = {key: each.values().detach() for key, each in found.items()}
        if optimizer:
            optimizer.step()
    return first, sent, ids


def worst_of(found, expected):
    assert found.keys() == expected.keys()
    return max(float((found[key] - expected[key]).abs().max()) for key in expected if len(expected[key]))


def check_trained(model, kind, rank, ranks, divided=True):
    """It trains as the tables unsplit; what was sent."""
    outputs, rows = unsplit(kind, ranks, divided)
    first, sent, ids = train(model, kind, rank)
    worst = max(worst_of(first, outputs[rank]), worst_of(rows_of(model), rows))
    assert worst < 1e-5, f"{kind}, {ranks} ranks, rank {rank}: differ by {worst}"
    return sent, ids


def lookups_of(ranks, hot):
    """By step, rank and table, those that are sent."""
    ids = rank_rows(Model(), [of_step(step, each) for step in range(STEPS) for each in range(ranks)], HOT)
    for step in range(STEPS):
        for asking in range(ranks):
            for key, own in of_step(step, asking).to_dict().items():
                values = own.values()
                if hot and key[2:] in ids:
                    values = values[~torch.isin(values, ids[key[2:]])]
                yield asking, key[2:], values


def expected_bytes(kind, rank, ranks, hot):
    """What the formula says that a rank sends: the outputs of the lookups that it answers, and the
    gradients of those that it asks for; and ids, once to each rank that has some of its columns."""
    block = -(-2000 // ranks)
    total = ids = 0
    for asking, table, values in lookups_of(ranks, hot):
        parts = ranks if table == "words" and kind == "sgd" else 1
        owner = {"words": values // block, "bought": torch.full_like(values, ranks - 1),
                 "cities": torch.zeros_like(values)}[table]
        answered = len(values) if parts > 1 else int((owner == rank).sum())
        total += answered * 16 // parts * 4
        if asking == rank:
            total += len(values) * 16 * 4
            ids += len(values) * parts * 8
    return total, ids


def check_checkpoint(model, kind, ranks):
    """It has the names of before the split, and all rows as they are; a model with other hot rows takes
    it, and so does one whose tables began on the ranks that hold them."""
    rows = rows_of(model)
    state = unsplit_state_dict(model)
    assert sorted(state) == sorted(Model().state_dict()), sorted(state)
    for name, *_ in TABLES:
        for shard in state[f"sequences.embeddings.{name}.weight"].local_shards():
            (row, column), (height, width) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
            assert torch.equal(shard.tensor, rows["f_" + name][row:row + height, column:column + width])
    other = Model("meta")
    split_hot_rows(other, {"words": torch.tensor([5, 3, 700]), "cities": torch.tensor([39])})
    refused(lambda: other(features(1)), "found hot rows without values")
    other = sharded(other, kind, ranks)
    fetch_hot_rows(other)
    began = rows_of(other)
    assert all(float(each.abs().sum(dim=1).min()) > 0 for each in began.values())
    refused(lambda: load_unsplit_state_dict(other, {}), "found no 'sequences.embeddings.")
    load_unsplit_state_dict(other, state)
    assert worst_of(rows_of(other), rows) == 0
    again = sharded(split_model(dist.get_rank()), kind, ranks)
    again.load_state_dict(model.state_dict())  # as the trainer's own checkpoints
    assert worst_of(rows_of(again), rows) == 0


def check_restart(rank, ranks):
    """With other hot rows, as if nothing was split."""
    kind = "rowwise_adagrad"

    def began(model):
        made = sharded(model, kind, ranks)
        return made, optimizer_of(kind, [made.module.sequences.hot])

    model, optimizer = began(split_model(rank))
    train(model, kind, rank, optimizer)
    store_hot_sums(model, optimizer)
    state, sums = unsplit_state_dict(model), model.fused_optimizer.state_dict()
    other = Model()
    split_hot_rows(other, {"words": torch.arange(0, 2000, 5), "bought": torch.arange(0, 300, 7),
                           "cities": torch.tensor([0, 7, 9])})
    other, optimizer = began(other)
    load_unsplit_state_dict(other, state)
    other.fused_optimizer.load_state_dict(sums)
    fetch_hot_sums(other, optimizer)
    train(other, kind, rank, optimizer, begin=STEPS)
    worst = worst_of(rows_of(other), unsplit(kind, ranks, steps=2 * STEPS)[1])
    assert worst < 1e-5, f"{ranks} ranks, rank {rank}: differ by {worst} after a restart"
    plain = torch.optim.SGD([other.module.sequences.hot], lr=RATE)
    refused(lambda: store_hot_sums(other, plain), "found no sum of each hot row")
    columns = sharded(split_model(rank), "sgd", ranks)
    optimizer = optimizer_of(kind, [columns.module.sequences.hot])
    refused(lambda: store_hot_sums(columns, optimizer), "'words': found ")


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/group{ranks}", rank=rank,
                            world_size=ranks)
    for kind in "sgd", "rowwise_adagrad":
        sent = {}
        for hot in False, True:
            model = (sharded(split_model(rank), kind, ranks) if hot
                     else sharded(Model(), kind, ranks, "sequences"))
            sent[hot] = check_trained(model, kind, rank, ranks)
            assert sent[hot] == expected_bytes(kind, rank, ranks, hot), (
                rank, sent[hot], expected_bytes(kind, rank, ranks, hot))
        assert sent[True][0] < 0.6 * sent[False][0], sent
        check_checkpoint(model, kind, ranks)
        if rank == 0:
            print(f"torchrec: hot rows with {kind} on {ranks} ranks: as the tables unsplit, rank 0 sends "
                  f"{sent[True][0]:,} bytes of outputs and gradients in {STEPS} steps, {sent[False][0]:,} "
                  f"without, and {sent[True][1]:,} of ids, {sent[False][1]:,} without", flush=True)
        del model
    check_restart(rank, ranks)
    # Gradients that nobody divides: by SGD, as row-wise Adagrad does not go by how large they are.
    set_gradient_division(False)
    check_trained(sharded(split_model(rank), "sgd", ranks), "sgd", rank, ranks, divided=False)
    set_gradient_division(True)
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
    parts = [[each] for each in batches]  # several tensors of different features are a batch, too
    assert torch.equal(rank_rows(model, parts, {"words": 5})["words"], ids["words"])
    assert rank_rows(model, [], {"words": 3})["words"].tolist() == []
    refused(lambda: rank_rows(model, [], {"nobody": 1}), "found table 'nobody'")
    refused(lambda: rank_rows(model, [], {"words": -1}), "found -1 of table 'words'")
    strange = KeyedJaggedTensor(keys=["f_words"], values=torch.tensor([2000]), lengths=torch.tensor([1]))
    refused(lambda: rank_rows(model, [strange], {"words": 1}), "found row 2000 in feature 'f_words'")
    refused(lambda: rank_rows(model, [strange], {"cities": 1}), "found no feature 'f_cities'")
    refused(lambda: rank_rows(model, [7], {"cities": 1}), "batch: found int")


def check_module():
    """The same outputs, also of ids never seen, of keys in another order, of few ids and of none."""
    model, whole = Model(), Model()
    split = split_hot_rows(model, rank_rows(model, [features(1)], HOT))["sequences"]
    assert split.hot_ids("bought").tolist() == sorted(split.hot_ids("bought").tolist())
    turned = features(4).permute([2, 0, 1])
    further = KeyedJaggedTensor(keys=["other", *turned.keys()], stride=BATCH,
                                values=torch.cat([torch.tensor([9]), turned.values()]),
                                lengths=torch.cat([torch.tensor([1] + [0] * (BATCH - 1)),
                                                   turned.lengths()]))
    few = KeyedJaggedTensor(keys=features(2).keys(), values=features(2).values().int(),
                            lengths=features(2).lengths().int())
    for batch in features(2), features(3, empty=True), turned, further, few:
        found, expected = model(batch), whole(batch)
        assert found.keys() == expected.keys()
        for key in expected:
            assert torch.equal(found[key].values(), expected[key].values())
            assert torch.equal(found[key].lengths(), expected[key].lengths())
    cold = split.cold_features(features(1))
    assert set(cold.keys()) == set(features(1).keys()) and len(cold.values()) < len(features(1).values())
    counted = statistics_from_kjt(model, [cold], BATCH)
    assert counted.pooling_factors["f_words"] < 3 < 5 < statistics_from_kjt(
        whole, [features(1)], BATCH).pooling_factors["f_words"]
    with torch.no_grad():
        split.hot_weight("words").fill_(5)
    weight = whole.sequences.embeddings["words"].weight.detach().clone()
    split.put_hot_rows_into("words", weight)
    assert int((weight == 5).all(dim=1).sum()) == len(split.hot_ids("words"))
    uneven = KeyedJaggedTensor(keys=features(1).keys(), values=torch.tensor([1, 2, 3, 4]),
                               lengths=torch.tensor([1, 1, 1, 1]),
                               stride_per_key_per_rank=[[2], [1], [1]])
    refused(lambda: model(uneven), "found a batch size for each key")
    refused(lambda: model(turned.permute([0, 1])), "found no 'f_cities'")
    refused(lambda: split.put_hot_rows_into("cities", weight), "found table 'cities'")
    refused(lambda: split.put_hot_rows_into("words", weight[:7]), "found shape (7, 16)")
    # Ids that a table has not are not taken for those of the next: the cold table tells of them.
    strange = KeyedJaggedTensor(keys=features(1).keys(), lengths=torch.tensor([1, 0, 0]),
                                values=2000 + split.hot_ids("bought")[:1])
    try:
        model(strange)
    except IndexError:
        return
    raise AssertionError("found a row that the table has not")


def check_shared():
    """A collection with two parents is one in both places."""
    model = Model()
    model.other = torch.nn.Module()
    model.other.again = model.sequences
    split = split_hot_rows(model, {"words": torch.tensor([3, 5])})["sequences"]
    assert model.sequences is split and model.other.again is split


def check_refusals():
    check_shared()
    one = torch.tensor([1])

    def collection(table="a", **other):
        return EmbeddingCollection(tables=[EmbeddingConfig(
            name=name, num_embeddings=10, embedding_dim=4, feature_names=["f"], **other) for name in table])

    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([2000])}), "found row 2000 of table")
    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([-1])}), "found row -1 of table")
    refused(lambda: split_hot_rows(Model(), {"words": torch.tensor([1, 1])}), "twice")
    refused(lambda: split_hot_rows(Model(), {"words": one[:0]}), "found none of table 'words'")
    refused(lambda: split_hot_rows(Model(), {"words": one, "nobody": one}), "'nobody'")
    refused(lambda: split_hot_rows(Model().sequences, {"words": one}), "expected a model that has it")
    early = Model()
    split_hot_rows(early, {"words": one})
    _apply_optimizer_in_backward(torch.optim.SGD, [early.sequences.hot], {"lr": RATE})
    refused(lambda: early(features(1)), "found an optimizer in backward")
    refused(lambda: HotRowsEmbeddingCollection(collection("ab"), {"a": one}), "looks up other tables")
    refused(lambda: HotRowsEmbeddingCollection(collection(data_type=DataType.FP16), {"a": one}),
            "of FP16, expected FP32")
    refused(lambda: HotRowsEmbeddingCollection(collection(), {}), "found no table")
    refused(lambda: HotRowsEmbeddingCollection(torch.nn.Linear(1, 1), {"a": one}), "found a Linear")
    managed = torch.nn.Module()
    inner = collection()
    managed.part = ManagedCollisionEmbeddingCollection(inner, ManagedCollisionCollection(
        {"a": MCHManagedCollisionModule(zch_size=10, device=torch.device("cpu"), eviction_interval=1,
                                        eviction_policy=DistanceLFU_EvictionPolicy())},
        inner.embedding_configs()))
    refused(lambda: split_hot_rows(managed, {"a": one}), "found a ManagedCollisionEmbeddingCollection")


if __name__ == "__main__":
    check_ranks()
    check_module()
    check_refusals()
    for count in 2, 4:
        with tempfile.TemporaryDirectory() as temporary:
            mp.spawn(run_rank, (count, temporary), nprocs=count)
    print("torchrec: hot rows: ranks of ids, checkpoints, what is refused")
