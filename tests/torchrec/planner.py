"""NeuroShardPlanner in the place of TorchRec's planner, on gloo ranks. See scripts/test-torchrec.sh.

    python planner.py
"""

import json
import logging
import os
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed._shard.sharded_tensor import ShardedTensor
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, Topology
from torchrec.distributed.types import BoundsCheckMode, ShardingEnv
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection
from torchrec.modules.feature_processor_ import PositionWeightedModule
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from neuroshard_engine import EngineError, InfeasibleError, InvalidInputError
from neuroshard_engine.torchrec import NeuroShardPlanner, statistics_from_kjt
from plan_in_trainer import FACTORS, MODULES, TABLES
from run_plans import Model, leave_groups, lookups, run_case

SHARDERS = [EmbeddingBagCollectionSharder(), EmbeddingCollectionSharder()]
BATCH = 2048  # of one rank
# As many bytes a millisecond as TorchRec counts in GB/s of 2^30 bytes.
GBPS = (1 << 30) / 1000
LOG = logging.getLogger("neuroshard_engine")


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def logged(call):
    """What `call` returns, and the lines that it logs."""
    handler = Lines()
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    try:
        return call(), handler.lines
    finally:
        LOG.removeHandler(handler)


def refused(kind, call, part):
    try:
        call()
    except kind as error:
        assert part in str(error) and "\n" not in str(error), str(error)
        return
    raise AssertionError(f"not refused: {part}")


def bags(tables, weighted=False, device="meta"):
    return EmbeddingBagCollection(device=torch.device(device), is_weighted=weighted, tables=[
        EmbeddingBagConfig(name=name, num_embeddings=rows, embedding_dim=dim,
                           feature_names=["f_" + name]) for name, rows, dim, _ in tables])


MANY = [(f"t{index}", 10 ** (4 + index % 3), 32 * (1 + index % 4), 1.5 + 7 * index)
        for index in range(12)]
MANY_FACTORS = {"f_" + name: factor for name, _, _, factor in MANY}


def gpus(ranks=8, memory=4 << 30, **other):
    return Topology(world_size=ranks, compute_device="cuda", hbm_cap=memory, **other)


def planner_of(topology=None, **changes):
    return NeuroShardPlanner(**{
        "topology": topology or gpus(), "batch_size": BATCH, "pooling_factors": MANY_FACTORS,
        "evaluations": 20000, "storage_reservation": FixedPercentageStorageReservation(0.1),
        **changes})


def serialized(plan):
    return plan._serialize()["plan"]


def check_costs():
    """What the engine says of its plan is what TorchRec's estimators say of it: costs, and bytes."""
    model = bags(MANY)
    planner = planner_of(gpus(hbm_mem_bw=2000 * GBPS, intra_host_bw=300 * GBPS))
    assert planner.get_selected_options() == []
    planner.plan(model, SHARDERS)
    options = planner.get_selected_options()
    assert sorted(option.name for option in options) == sorted(name for name, _, _, _ in MANY)
    costs, memory = [0.0] * 8, [0] * 8
    for option in options:
        for shard in option.shards:
            costs[shard.rank] += shard.perf.total
            memory[shard.rank] += shard.storage.hbm
    for found, device in zip(costs, planner.last_plan.per_device, strict=True):
        assert abs(found / device.total_ms - 1) < 1e-6, (found, device)
    for found, device in zip(memory, planner.last_plan.per_device, strict=True):
        assert abs(found / device.memory_bytes - 1) < 1e-4, (memory, planner.last_plan.per_device)
    slow = planner_of(gpus(hbm_mem_bw=200 * GBPS, intra_host_bw=300 * GBPS))
    slow.plan(model, SHARDERS)
    assert slow.last_plan.cost_ms > 2 * planner.last_plan.cost_ms


def check_log_and_stats():
    class Seen:
        def log(self, **given):
            self.given = given

    seen = Seen()
    plan, lines = logged(lambda: planner_of(stats=[seen]).plan(bags(MANY), SHARDERS))
    table = [line for line in lines if line.lstrip()[:1].isdigit()]
    assert len(table) == 8, lines
    assert any("SIMULATED" in line for line in lines)
    assert sum("slowest" in line for line in table) == 1
    assert any(line.startswith("t3: ") for line in lines)
    assert len(seen.given["best_plan"]) == len(MANY) and seen.given["sharding_plan"] is plan
    _, quiet = logged(lambda: planner_of(debug=False).plan(bags(MANY), SHARDERS))
    assert not any(line.startswith("t3: ") for line in quiet)


def check_beside():
    """TorchRec's own plan of the same terms costs here what its estimators say of it, on one host
    and on two."""
    for ranks in 8, 16:
        planner = planner_of(gpus(ranks), compare_torchrec=True, constraints={
            "t0": ParameterConstraints(sharding_types=["row_wise"])})
        _, lines = logged(lambda: planner.plan(bags(MANY), SHARDERS))
        theirs = planner.torchrec_plan
        [line] = [line for line in lines if line.startswith("TorchRec's planner: ")]
        assert line.startswith(f"TorchRec's planner: {theirs.cost_ms:.3f} ms of the slowest rank"), line
        assert planner.last_plan.cost_ms <= theirs.cost_ms * (1 + 1e-6)
        own = EmbeddingShardingPlanner(
            topology=gpus(ranks), batch_size=BATCH, debug=False, stats=[],
            storage_reservation=FixedPercentageStorageReservation(0.1), constraints={
                name: ParameterConstraints(pooling_factors=[factor],
                                           sharding_types=["row_wise"] if name == "t0" else None)
                for name, _, _, factor in MANY})
        own.plan(bags(MANY), SHARDERS)
        costs = [0.0] * ranks
        for option in own._best_plan:
            for shard in option.shards:
                costs[shard.rank] += shard.perf.total
        assert abs(max(costs) / theirs.cost_ms - 1) < 1e-6, (costs, theirs.cost_ms)
    # Where it finds none, a warning says so, and our plan stands.
    class Refusing(FixedPercentageStorageReservation):
        asked = 0

        def reserve(self, **given):
            self.asked += 1
            if self.asked > 1:
                raise PlannerError("no\nspace")
            return super().reserve(**given)

    planner = planner_of(compare_torchrec=True, storage_reservation=Refusing(0.1))
    plan, lines = logged(lambda: planner.plan(bags(MANY), SHARDERS))
    assert plan.plan and planner.torchrec_plan is None
    assert "TorchRec's planner: nothing to compare: no space" in lines, lines


def check_parts_of_torchrecs_search():
    _, lines = logged(lambda: planner_of(proposer=[object()], partitioner=None))
    assert lines == ["proposer: nothing changes by it, TorchRec's own search has such a part"], lines
    refused(TypeError, lambda: planner_of(propser=None), "unexpected keyword argument 'propser'")


def check_constraints():
    constraints = {
        "t0": ParameterConstraints(sharding_types=["row_wise"], stochastic_rounding=True,
                                   bounds_check_mode=BoundsCheckMode.FATAL),
        "t1": ParameterConstraints(pooling_factors=[40.0]),
        "t2": ParameterConstraints(sharding_types=["column_wise"], min_partition=32)}
    factors = {name: value for name, value in MANY_FACTORS.items() if name != "f_t1"}
    planner = planner_of(constraints=constraints, pooling_factors=factors)
    plan = serialized(planner.plan(bags(MANY), SHARDERS))[""]
    assert plan["t0"]["sharding_type"] == "row_wise" and len(plan["t2"]["ranks"]) > 1
    assert min(shard["shard_sizes"][1] for shard in plan["t2"]["shards"]) >= 32
    sharding = planner.plan(bags(MANY), SHARDERS).plan[""]["t0"]
    assert sharding.stochastic_rounding and sharding.bounds_check_mode == BoundsCheckMode.FATAL
    assert planner.last_plan.workload.tables[1].pooling_factor == 40
    bad = InvalidInputError
    for constraint, part in [
            (ParameterConstraints(batch_sizes=[7]), "found the constraint batch_sizes=[7]"),
            (ParameterConstraints(sharding_types=["table_wise", "sideways"]), ""),
            (ParameterConstraints(device_group="cpu"), "found the constraint device_group='cpu'"),
            (ParameterConstraints(num_poolings=[3.0]), "found the constraint num_poolings=[3.0]")]:
        if part:
            refused(bad, lambda c=constraint: planner_of(constraints={"t3": c}).plan(
                bags(MANY), SHARDERS), part)
    _, lines = logged(lambda: planner_of(constraints={"other": ParameterConstraints()}).plan(
        bags(MANY), SHARDERS))
    assert any("found table 'other', which is not planned" in line for line in lines)


def check_refusals():
    bad = InvalidInputError
    refused(bad, lambda: NeuroShardPlanner(topology=gpus()), "batch_size: found none")
    for name, value in [("batch_size", "4096"), ("batch_size", 2**63), ("evaluations", 0),
                        ("threads", 2**32), ("move_limit", "4 GB"), ("buffers", "all"),
                        ("save_to", 7), ("pooling_factors", [1.0]), ("constraints", 3),
                        ("statistics", {}), ("timeout_seconds", 0), ("timeout_seconds", "soon"),
                        ("previous_plan", 5), ("topology", 8), ("storage_reservation", 0.1)]:
        refused(bad, lambda n=name, v=value: planner_of(**{n: v}), f"{name}: found ")
    refused(bad, lambda: planner_of(constraints={"t0": {}}), "constraints: table 't0': found {}")
    for factor in float("nan"), float("inf"), 10**400, -1, "many", None:
        refused(bad, lambda f=factor: planner_of(pooling_factors={**MANY_FACTORS, "f_t0": f}).plan(
            bags(MANY), SHARDERS), "for feature 'f_t0', expected lookups")
        refused(bad, lambda f=factor: planner_of(
            pooling_factors={name: own for name, own in MANY_FACTORS.items() if name != "f_t0"},
            constraints={"t0": ParameterConstraints(pooling_factors=[f])}).plan(
                bags(MANY), SHARDERS), "for feature 'f_t0', expected lookups")
    refused(bad, lambda: planner_of(pooling_factors={}).plan(bags(MANY), SHARDERS),
            "found no pooling factor of feature 'f_t0', expected one, as "
            "NeuroShardPlanner(pooling_factors={'f_t0': 20.0}) or statistics=")
    refused(bad, lambda: planner_of(pooling_factors={}, constraints={
        "t0": ParameterConstraints()}).plan(bags(MANY), SHARDERS), "feature 'f_t0'")
    refused(bad, lambda: planner_of().plan(bags(MANY), [EmbeddingCollectionSharder()]),
            "sharders: found none")
    refused(bad, lambda: planner_of(previous_plan="/nowhere").plan(bags(MANY), SHARDERS),
            "previous_plan: /nowhere: No such file")
    refused(InfeasibleError, lambda: planner_of(gpus(memory=1 << 20)).plan(bags(MANY), SHARDERS),
            "more")
    refused(bad, lambda: planner_of(storage_reservation=FixedPercentageStorageReservation(1.0)).plan(
        bags(MANY), SHARDERS), "bytes of hbm_cap after what the storage reservation takes")
    _, lines = logged(lambda: planner_of(gpus(bwd_compute_multiplier=3)).plan(bags(MANY), SHARDERS))
    assert any("bwd_compute_multiplier=3 changes nothing" in line for line in lines), lines
    optimizer = [EmbeddingBagCollectionSharder(fused_params={"optimizer": "NOVEL"})]
    refused(bad, lambda: planner_of().plan(bags(MANY), optimizer), "found the optimizer NOVEL")


def slowest_by_torchrec(planner):
    """Milliseconds of its last plan's slowest rank as TorchRec's own estimators have it."""
    costs = [0.0] * 8
    for option in planner.get_selected_options():
        for shard in option.shards:
            costs[shard.rank] += shard.perf.total
    return max(costs)


def check_robust():
    """One plan for a network and TorchRec's formula, which knows the topology's bandwidths."""
    model, slow = bags(MANY), gpus(intra_host_bw=300 * GBPS)
    with tempfile.TemporaryDirectory() as folder:
        planner = planner_of(slow, cost_model="h200_sim", robust=True, save_to=folder)
        _, lines = logged(lambda: planner.plan(model, SHARDERS))
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            written = json.load(file)["robust"]
        with open(os.path.join(folder, "report.txt"), encoding="utf-8") as file:
            report = file.read()
    network, formula = planner.last_plan.robust
    assert network.cost_model == "h200_sim" and formula.cost_model in ("torchrec", "torchrec-1.4")
    assert [each["regret"] for each in written] == [network.regret, formula.regret]
    assert network.cost_ms == planner.last_plan.cost_ms
    assert abs(formula.cost_ms / slowest_by_torchrec(planner) - 1) < 1e-6
    for each in network, formula:
        assert sum(line.startswith(f"by {each.cost_model}: ") for line in lines) == 1, lines
        assert f"by {each.cost_model}: {each.cost_ms:.3f} ms, " in report
    alone = planner_of(slow, cost_model="h200_sim")
    alone.plan(model, SHARDERS)
    assert alone.last_plan.robust == ()
    regret = slowest_by_torchrec(alone) / formula.best_ms - 1
    assert regret > planner.last_plan.largest_regret, (regret, planner.last_plan.robust)
    named = planner_of(slow, robust=["h200_sim", "h100_sim"])
    named.plan(model, SHARDERS)
    assert [each.cost_model for each in named.last_plan.robust] == [
        formula.cost_model, "h200_sim", "h100_sim"]
    assert abs(named.last_plan.cost_ms / slowest_by_torchrec(named) - 1) < 1e-6

    # A restart moves nothing, or no more than it may.
    for limit in 0, "300MB":
        again = planner_of(slow, cost_model="h200_sim", robust=True, move_limit=limit,
                           previous_plan=alone.last_plan)
        again.plan(model, SHARDERS)
        moved = alone.last_plan.moved_bytes(again.last_plan)
        assert moved == 0 if limit == 0 else moved <= 300_000_000, moved
        network, formula = again.last_plan.robust
        assert abs(formula.cost_ms / slowest_by_torchrec(again) - 1) < 1e-6

    bad = InvalidInputError
    refused(bad, lambda: planner_of(robust=True), "robust: found True without a cost_model")
    refused(bad, lambda: planner_of(robust="torchrec"), "robust: found 'torchrec', expected True, or a")
    refused(bad, lambda: planner_of(robust=[]), "robust: found []")
    refused(bad, lambda: planner_of(robust=["torchrec-1.4", "torchrec"]).plan(model, SHARDERS),
            "cost models: found 'torchrec")


def check_restarts():
    """The same plan each time; near the previous one when lookups change."""
    model = bags(MANY)
    with tempfile.TemporaryDirectory() as folder:
        first = planner_of(save_to=folder)
        plan = first.plan(model, SHARDERS)
        assert serialized(plan) == serialized(planner_of(threads=1).plan(model, SHARDERS))
        assert sorted(os.listdir(folder)) == [
            "plan.json", "report.html", "report.txt", "tables.json", "torchrec.json"]
        with open(os.path.join(folder, "report.txt"), encoding="utf-8") as file:
            assert "SIMULATED" in file.read()
        with open(os.path.join(folder, "torchrec.json"), encoding="utf-8") as file:
            assert json.load(file)["plan"] == serialized(plan)
        other = {name: 80 - value for name, value in MANY_FACTORS.items()}
        for previous in folder, os.path.join(folder, "plan.json"), plan, first.last_plan:
            again = planner_of(previous_plan=previous, pooling_factors=other)
            assert serialized(again.plan(model, SHARDERS)) == serialized(plan), previous
        stays = again.last_plan
        near = planner_of(previous_plan=folder, pooling_factors=other, move_limit="300MB")
        near.plan(model, SHARDERS)
        moved = first.last_plan.moved_bytes(near.last_plan)
        assert 0 < moved <= 300_000_000, moved
        assert near.last_plan.cost_ms < stays.cost_ms
        # A table more, first in the model: all others stay.
        grown = [("new", 1000, 32, 2.0), *MANY]
        wide = planner_of(previous_plan=folder, pooling_factors={**MANY_FACTORS, "f_new": 2.0})
        placed = serialized(wide.plan(bags(grown), SHARDERS))[""]
        kept = serialized(plan)[""]
        assert {name: placed[name] for name in kept} == kept and "new" in placed
        # The same with a table less, in a module of the model.
        inside, older = torch.nn.Module(), torch.nn.Module()
        older.ebc, inside.ebc = bags(MANY), bags(grown[:-1])
        before = planner_of(save_to=folder).plan(older, SHARDERS)
        for previous in folder, os.path.join(folder, "plan.json"), before:
            changed = planner_of(previous_plan=previous,
                                 pooling_factors={**MANY_FACTORS, "f_new": 2.0})
            placed, kept = (serialized(each)["ebc"] for each in (
                changed.plan(inside, SHARDERS), before))
            assert {name: placed[name] for name in placed if name != "new"} == {
                name: kept[name] for name in kept if name != MANY[-1][0]} and "new" in placed


def processed(tables, device="meta"):
    """A collection whose lookups are weighted by their places."""
    return FeatureProcessedEmbeddingBagCollection(
        bags(tables, weighted=True, device=device),
        {"f_" + name: PositionWeightedModule(max_feature_length=10) for name, _, _, _ in tables})


def check_feature_processors():
    model = torch.nn.Module()
    model.bags = processed(MANY[:4])
    factors = {name: MANY_FACTORS[name] for name in ["f_t0", "f_t1", "f_t2", "f_t3"]}
    plan = planner_of(pooling_factors=factors).plan(
        model, [FeatureProcessedEmbeddingBagCollectionSharder(), *SHARDERS])
    assert list(plan.plan) == ["bags"] and len(plan.plan["bags"]) == 4


def run_processed(ranks):
    """Their outputs are those of the unsharded model's; returns the largest difference."""
    tables = MANY[:4]
    torch.manual_seed(7)  # the same weights on all ranks
    whole, model = torch.nn.Module(), torch.nn.Module()
    whole.bags, model.bags = processed(tables, "cpu"), processed(tables, "cpu")
    sharders = [FeatureProcessedEmbeddingBagCollectionSharder(), *SHARDERS]
    plan = planner_of(Topology(world_size=ranks, compute_device="cpu"), batch_size=16,
                      pooling_factors={"f_" + name: factor for name, _, _, factor in tables}
                      ).collective_plan(model, sharders)
    sharded = DistributedModelParallel(
        model, device=torch.device("cpu"), plan=plan, sharders=sharders,
        env=ShardingEnv.from_process_group(dist.group.WORLD))
    for gone in sharded, model:
        refused(InvalidInputError, lambda gone=gone: statistics_from_kjt(gone, [], batch_size=16),
                f"found {type(gone).__name__} sharded already")
    for key, held in sharded.state_dict().items():
        full = whole.state_dict()[key]
        if not isinstance(held, ShardedTensor):
            held.copy_(full)
            continue
        for shard in held.local_shards():
            (row, column), (rows, columns) = (shard.metadata.shard_offsets,
                                              shard.metadata.shard_sizes)
            shard.tensor.copy_(full[row:row + rows, column:column + columns])
    bags_of = lookups([{"name": name, "rows": rows} for name, rows, _, _ in tables], dist.get_rank())
    bags_of = KeyedJaggedTensor(keys=["f_" + name for name, _, _, _ in tables],
                                values=bags_of.values(), lengths=bags_of.lengths())
    with torch.no_grad():
        found = sharded.module.bags(bags_of).wait().to_dict()
        expected = whole.bags(bags_of).to_dict()
    return max(float((found[key] - expected[key]).abs().max()) for key in expected)


def run_rank(rank, ranks, folder):
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    logging.getLogger("neuroshard_engine").setLevel(logging.ERROR)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(ranks))
    topology = Topology(world_size=ranks, compute_device="cpu", ddr_cap=40 << 20)
    model = Model(TABLES, MODULES)

    def planned(pg=None, **changes):
        planner = planner_of(topology, pooling_factors=FACTORS, **changes)
        return planner.collective_plan(model, SHARDERS, pg)

    refused(InvalidInputError, planned, "found no process group")
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=ranks)
    # The first rank alone finds out; both are told.
    refused(InvalidInputError, lambda: planned(cost_model="nobody"), "'nobody'")
    refused(InfeasibleError, lambda: planned(move_limit=0, previous_plan=None, buffers="off",
                                             storage_reservation=Little()), "more")
    refused(EngineError, lambda: planned(storage_reservation=Broken()), "ZeroDivisionError: of it")
    # Topology and reservation are TorchRec's own where nobody gives any.
    plain = NeuroShardPlanner(batch_size=BATCH, pooling_factors=FACTORS, evaluations=1000)
    assert set(plain.collective_plan(model).plan) == set(MODULES)
    own = dist.new_group(ranks=list(range(ranks)), backend="gloo")
    assert serialized(planned(own)) == serialized(planned())
    dist.destroy_process_group(own)
    del own
    plan = planned()
    shards, worst = run_case(rank, TABLES, serialized(plan), lambda _: plan)
    worst_processed = run_processed(ranks)
    assert worst_processed <= 1e-5, worst_processed
    if rank == 0:
        print(f"torchrec: NeuroShardPlanner: {len(TABLES)} tables in {len(MODULES)} modules, planned "
              f"on rank 0 of {ranks}: {shards} shards in place, outputs differ by {worst:.1g} at most",
              flush=True)
    leave_groups()


class Little(FixedPercentageStorageReservation):
    """Leaves a megabyte of a rank."""

    def __init__(self):
        super().__init__(0.0)

    def reserve(self, topology, **other):
        reserved = super().reserve(topology=topology, **other)
        for device in reserved.devices:
            device.storage.ddr = 1 << 20
        return reserved


class Broken(FixedPercentageStorageReservation):
    def __init__(self):
        super().__init__(0.0)

    def reserve(self, **_):
        raise ZeroDivisionError("of it")


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("torchrec").setLevel(logging.ERROR)
    LOG.addHandler(logging.NullHandler())
    LOG.propagate = False
    for check in (check_costs, check_log_and_stats, check_beside, check_parts_of_torchrecs_search,
                  check_constraints, check_refusals, check_robust, check_restarts,
                  check_feature_processors):
        check()
    print("torchrec: NeuroShardPlanner: costs and bytes are TorchRec's, plans stay, constraints hold")
    for ranks in 2, 4:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(run_rank, args=(ranks, folder), nprocs=ranks)


if __name__ == "__main__":
    main()
