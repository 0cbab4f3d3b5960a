"""Collections with managed collisions, planned by NeuroShardPlanner, on gloo ranks. See
scripts/test-torchrec.sh.

    python managed_collisions.py
"""

import json
import logging
import os
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.mc_embeddingbag import ManagedCollisionEmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection
from torchrec.modules.mc_modules import (
    DistanceLFU_EvictionPolicy,
    ManagedCollisionCollection,
    MCHManagedCollisionModule,
)

from neuroshard_engine import InvalidInputError
from neuroshard_engine.torchrec import NeuroShardPlanner, plan_of
from planner import bags, logged, refused
from run_plans import leave_groups, lookups

TABLES = [("seen", 4000, 16), ("bought", 1000, 32)]
PLAIN = [("country", 200, 8, 1.0)]
FACTORS = {"feature_seen": 3.0, "feature_bought": 2.0, "f_country": 1.0}
SHARDERS = [ManagedCollisionEmbeddingBagCollectionSharder(), EmbeddingBagCollectionSharder()]


def managed(device="cpu"):
    collection = EmbeddingBagCollection(device=torch.device(device), tables=[
        EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim,
                           feature_names=["feature_" + name]) for name, rows, dim in TABLES])
    remapped = {name: MCHManagedCollisionModule(
        zch_size=rows, device=torch.device(device), eviction_policy=DistanceLFU_EvictionPolicy(),
        eviction_interval=4, input_hash_size=1 << 20) for name, rows, _ in TABLES}
    return ManagedCollisionEmbeddingBagCollection(
        collection, ManagedCollisionCollection(remapped, collection.embedding_bag_configs()))


def model_of(device="cpu"):
    model = torch.nn.Module()
    model.managed = managed(device)
    model.plain = bags(PLAIN, device=device)
    return model


def planner_of(ranks, **changes):
    return NeuroShardPlanner(**{
        "topology": Topology(world_size=ranks, local_world_size=ranks, compute_device="cuda"),
        "batch_size": 16, "pooling_factors": FACTORS, "evaluations": 2000, **changes})


def check_plans():
    plan, lines = logged(lambda: planner_of(4).plan(model_of(), SHARDERS))
    kinds = {name: sharding.sharding_type for name, sharding in plan.plan["managed"].items()}
    assert kinds == {"seen": "row_wise", "bought": "row_wise"}, kinds
    assert list(plan.plan["plain"]) == ["country"]
    assert any("what remaps ids counts neither" in line for line in lines), lines
    refused(InvalidInputError, lambda: planner_of(1).plan(model_of(), SHARDERS),
            "expected row_wise over all ranks")
    constraints = {"seen": ParameterConstraints(sharding_types=["column_wise"])}
    refused(InvalidInputError,
            lambda: planner_of(4, constraints=constraints).plan(model_of(), SHARDERS), "row_wise")


def run_managed(rank, ranks):
    """With weights of ones, a bag's output is its length, however ids are remapped."""
    model = model_of()
    for weight in model.managed._embedding_module.parameters():
        torch.nn.init.ones_(weight)
    # TorchRec's sharders offer no row_wise on CPU, but run it: the plan is one for GPUs, moved there.
    planner = planner_of(ranks)
    planner.plan(model, SHARDERS)
    written = json.loads(planner.last_plan.to_torchrec(trainer_device="cpu"))["plan"]
    plan = plan_of(written)
    sharded = DistributedModelParallel(
        model, device=torch.device("cpu"), plan=plan, sharders=SHARDERS,
        env=ShardingEnv.from_process_group(dist.group.WORLD))
    for key, held in sharded.state_dict().items():
        if key.endswith(".weight") and ".embedding_bags." in key and "managed" in key:
            for shard in held.local_shards():
                name = key.split(".embedding_bags.")[1].split(".")[0]
                rows = dict((table, count) for table, count, _ in TABLES)[name]
                assert shard.metadata.shard_offsets == [rank * rows // ranks, 0], shard.metadata
                shard.tensor.fill_(1.0)
    sharded.eval()
    given = lookups([{"name": name, "rows": 1 << 19} for name, _, _ in TABLES], rank)
    with torch.no_grad():
        found = sharded.module.managed(given)
        found = found.wait() if hasattr(found, "wait") else found[0].wait()
    found = (found[0] if isinstance(found, tuple) else found).to_dict()
    lengths = given.lengths().view(len(TABLES), -1)
    for index, (name, _, dim) in enumerate(TABLES):
        output = found["feature_" + name]
        assert output.shape[1] == dim
        assert torch.equal(output[:, 0], lengths[index].to(output.dtype)), name


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    logging.getLogger("neuroshard_engine").setLevel(logging.ERROR)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(ranks))
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=ranks)
    run_managed(rank, ranks)
    if rank == 0:
        print(f"torchrec: managed collisions: planned by rows and run on {ranks} ranks", flush=True)
    leave_groups()


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    check_plans()
    for ranks in 2, 4:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(run_rank, args=(ranks, folder), nprocs=ranks)


if __name__ == "__main__":
    main()
