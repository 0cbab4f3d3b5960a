"""What NeuroShardPlanner makes of compute kernels: tables whole on every rank, which are dense, by
every cost model and on a single rank, and caches of a plan that runs. See scripts/test-torchrec.sh.

    python kernels.py
"""

import dataclasses
import logging
import os
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchrec.distributed.planner.types import ParameterConstraints, Topology
from torchrec.distributed.types import CacheAlgorithm, CacheParams
from torchrec.modules.embedding_configs import EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingCollection

from neuroshard_engine import CostModels, InvalidInputError
from plan_in_trainer import FACTORS, MODULES, TABLES
from planner import LOG, SHARDERS, bags, gpus, logged, planner_of, refused, serialized
from run_plans import Model, leave_groups, run_case

SMALL = [("a", 50, 4, 3.0), ("b", 5000, 64, 2.0)]
SMALL_FACTORS = {"f_a": 3.0, "f_b": 2.0}
# Two ways to ask for the same.
REPLICATED = [ParameterConstraints(sharding_types=["data_parallel"]),
              ParameterConstraints(compute_kernels=["dense"])]
DENSE = ("data_parallel", "dense")


def small(topology, **changes):
    return planner_of(topology, pooling_factors=SMALL_FACTORS, evaluations=300, **changes)


def kinds(plan):
    [tables] = plan.plan.values()
    return {name: (each.sharding_type, each.compute_kernel) for name, each in tables.items()}


def check_every_cost_model():
    for cost_model in (None, *CostModels.names()):
        for own in REPLICATED:
            planner = small(gpus(2), cost_model=cost_model, constraints={"a": own})
            plan = planner.plan(bags(SMALL), SHARDERS)
            assert kinds(plan)["a"] == DENSE and plan.plan[""]["a"].ranks == [0, 1], cost_model
        limits = {name: ParameterConstraints(sharding_types=["table_wise"]) for name in ("a", "b")}
        plan = small(gpus(2), cost_model=cost_model, constraints=limits).plan(bags(SMALL), SHARDERS)
        assert set(kinds(plan).values()) == {("table_wise", "fused")}, cost_model


def check_where_that_is_cheaper():
    """By networks, too, small tables are on every rank without a word where hosts exchange slowly."""
    tables = [(f"t{k}", 20 + 9 * k if k < 60 else 10 ** 6, 64, 1.0) for k in range(80)]
    planner = planner_of(Topology(world_size=32, local_world_size=8, compute_device="cuda"),
                         pooling_factors={"f_" + name: 1.0 for name, _, _, _ in tables},
                         cost_model="h100_sim", evaluations=20000)
    found = kinds(planner.plan(bags(tables), SHARDERS))
    assert list(found.values()).count(DENSE) > 20, found


def check_restarts():
    """Such tables stay on every rank, and a new one beside them is placed."""
    for cost_model in None, "h200_sim":
        limits = {"cost_model": cost_model, "constraints": {"a": REPLICATED[0]}}
        before = small(gpus(2), **limits).plan(bags(SMALL), SHARDERS)
        after = planner_of(gpus(2), pooling_factors={**SMALL_FACTORS, "f_c": 1.0}, evaluations=300,
                           previous_plan=before, **limits).plan(
                               bags([*SMALL, ("c", 90, 8, 1.0)]), SHARDERS)
        kept = serialized(after)[""]
        assert kinds(after)["a"] == DENSE and "c" in kept, kept
        assert {name: kept[name] for name in ("a", "b")} == serialized(before)[""]


def check_refusals():
    refused(InvalidInputError, lambda: small(
        gpus(2), cost_model="h200_sim", robust=True, constraints={"a": REPLICATED[1]}).plan(
            bags(SMALL), SHARDERS), "table 'a': found constraints that leave data_parallel alone")
    words = EmbeddingCollection(device=torch.device("meta"), tables=[
        EmbeddingConfig(name="a", num_embeddings=50, embedding_dim=8, feature_names=["f_a"])])
    for cost_model in None, "h200_sim":
        planner = planner_of(gpus(2), pooling_factors={"f_a": 3.0}, evaluations=300,
                             cost_model=cost_model, constraints={"a": REPLICATED[0]})
        assert kinds(planner.plan(words, SHARDERS))["a"] == DENSE
        # TorchRec fails on such on CPUs.
        refused(InvalidInputError, lambda c=cost_model: planner_of(
            Topology(world_size=2, compute_device="cpu"), pooling_factors={"f_a": 3.0}, cost_model=c,
            constraints={"a": REPLICATED[0]}).plan(words, SHARDERS),
            "expected some of 'column_wise', 'row_wise', 'table_wise', which run on cpu")


def check_one_rank():
    """There, too, it is dense, as in TorchRec's planner: other optimizers step such tables."""
    for cost_model in None, "h200_sim":
        for own in REPLICATED:
            planner = small(gpus(1), cost_model=cost_model, constraints={"a": own})
            plan, lines = logged(lambda p=planner: p.plan(bags(SMALL), SHARDERS))
            assert kinds(plan) == {"a": DENSE, "b": ("table_wise", "fused")}, kinds(plan)
            assert not any("data_parallel alone" in line for line in lines), lines
        robust = small(gpus(1), cost_model="h200_sim", robust=True, constraints={"a": own})
        plan, lines = logged(lambda p=robust: p.plan(bags(SMALL), SHARDERS))
        assert any("table 'a' of the model itself: constraints leave data_parallel alone, the plan has "
                   "it table_wise, with the kernel fused" in line for line in lines), lines


def check_caches():
    """The cache of a plan that runs is the one that its ShardingPlan says."""
    cached = [("a", 100_000, 64, 3.0)]
    cache = CacheParams(load_factor=0.3)
    own = ParameterConstraints(compute_kernels=["fused_uvm_caching"], cache_params=cache)

    def restarted(previous, own=own):
        return planner_of(gpus(2, ddr_cap=400 << 30), pooling_factors={"f_a": 3.0}, evaluations=300,
                          constraints={"a": own}, previous_plan=previous).plan(bags(cached), SHARDERS)

    first = restarted(None)
    assert first.plan[""]["a"].cache_params.load_factor == 0.3
    running = first.plan[""]["a"]
    # What a cache does besides changes no plan, and without one there is nothing to say.
    running.cache_params = CacheParams(algorithm=CacheAlgorithm.LFU, load_factor=0.3)
    again = restarted(first)
    assert serialized(again) == serialized(first)
    assert again.plan[""]["a"].cache_params == cache
    for params, part in [(None, "'fused_uvm_caching' without cache_params"),
                         (CacheParams(), "'fused_uvm_caching' without cache_params"),
                         (CacheParams(load_factor=float("nan")), "table 'a': load_factor: found nan"),
                         (CacheParams(load_factor="much"), "table 'a': load_factor: found 'much'")]:
        running.cache_params = params
        refused(InvalidInputError, lambda: restarted(first), part)
    first.plan[""]["a"] = dataclasses.replace(running, compute_kernel="fused_uvm", cache_params=cache)
    [found] = kinds(restarted(first, dataclasses.replace(own, compute_kernels=["fused_uvm"]))).values()
    assert found[1] == "fused_uvm", found


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    LOG.setLevel(logging.ERROR)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(ranks))
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=ranks)
    planner = planner_of(Topology(world_size=ranks, compute_device="cpu"), pooling_factors=FACTORS,
                         cost_model="h200_sim", constraints={"country": REPLICATED[1]})
    plan = planner.collective_plan(Model(TABLES, MODULES), SHARDERS)
    assert plan.plan["user.bags"]["country"].compute_kernel == "dense"
    shards, worst = run_case(rank, TABLES, serialized(plan), lambda _: plan)
    if rank == 0:
        print(f"torchrec: NeuroShardPlanner: by h200_sim, a table on every rank of {ranks}: {shards} "
              f"shards in place, outputs differ by {worst:.1g} at most", flush=True)
    leave_groups()


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    LOG.addHandler(logging.NullHandler())
    LOG.propagate = False
    for check in (check_every_cost_model, check_where_that_is_cheaper, check_restarts, check_refusals,
                  check_one_rank, check_caches):
        check()
    print("torchrec: NeuroShardPlanner: kernels are those of constraints and of plans that run, by every "
          "cost model")
    for ranks in 1, 2:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(run_rank, args=(ranks, folder), nprocs=ranks)


if __name__ == "__main__":
    main()
