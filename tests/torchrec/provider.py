"""NeuroShardPlannerProvider in TorchRec's dry-run orchestrator. See scripts/test-torchrec.sh.

    python provider.py

TorchRec 1.4 has no such orchestrator: there the name must not be found.
"""

import logging

import torch
from importlib.metadata import version
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.types import ParameterConstraints

import neuroshard_engine.torchrec as ours
from neuroshard_engine import InvalidInputError
from planner import MANY, MANY_FACTORS, bags, logged, planner_of, refused, serialized

BATCH = 2048


def request_of(**changes):
    from torchrec.distributed.planner.dry_run import DryRunRequest
    from torchrec.distributed.planner.types import (PlannerConfig, StorageReservationPolicy,
                                                    TrainingFramework)
    config = {"storage_reservation_policy": StorageReservationPolicy.FIXED_PERCENTAGE,
              "storage_reservation_percentage": 0.1, **changes.pop("config", {})}
    return DryRunRequest(**{
        "model": bags(MANY), "sharders": [EmbeddingBagCollectionSharder()], "world_size": 8,
        "local_world_size": 8, "batch_size": BATCH, "hbm_gb": 4.0, "compute_device": "cuda",
        "training_framework": TrainingFramework.APF, "sku_list": ["small", "other"],
        "planner_config": PlannerConfig(**config), **changes})


def results_of(request, **options):
    from torchrec.distributed.planner.dry_run import DryRunOrchestrator
    from torchrec.distributed.planner.executor import DefaultPlannerExecutor
    from torchrec.distributed.planner.types import PlannerSessionContext
    provider = ours.NeuroShardPlannerProvider(**{
        "pooling_factors": MANY_FACTORS, "evaluations": 20000, **options})
    orchestrator = DryRunOrchestrator(executor=DefaultPlannerExecutor(provider))
    return orchestrator.plan(request, PlannerSessionContext(request=request, results={}))


def check_plans():
    """The plan is that of the planner alone, with costs and bytes of TorchRec's estimators."""
    results = results_of(request_of())
    assert list(results) == ["small", "other"]
    alone = planner_of()
    expected = serialized(alone.plan(bags(MANY), [EmbeddingBagCollectionSharder()]))
    for result in results.values():
        assert result.success, result.planner_failure_reason
        assert serialized(result.sharding_plan) == expected
        assert len(result.sharding_options) == len(MANY)
        most = max(device.memory_bytes for device in alone.last_plan.per_device)
        assert abs(result.estimated_max_hbm_bytes / most - 1) < 1e-4
        assert abs(result.max_rank_perf / alone.last_plan.cost_ms - 1) < 1e-6


def check_request_is_heeded():
    constraints = {"t0": ParameterConstraints(sharding_types=["row_wise"])}
    result = results_of(request_of(constraints=constraints))["small"]
    assert result.success and result.sharding_plan.plan[""]["t0"].sharding_type == "row_wise"
    wide = results_of(request_of(), buffers="train_base")["small"]
    more = results_of(request_of(config={"pipeline_type": "train_prefetch_sparse_dist"}))["small"]
    assert wide.success and more.success
    _, lines = logged(lambda: results_of(request_of(config={"proposer_type": "greedy"})))
    assert any("proposer_type change nothing" in line for line in lines), lines


def check_failures():
    logging.getLogger("torchrec").setLevel(logging.CRITICAL)
    small = results_of(request_of(hbm_gb=0.01))
    for result in small.values():
        assert not result.success
        assert result.planner_error_type.value == "insufficient_storage", result
        assert "\n" not in result.planner_failure_reason
    unknown = results_of(request_of(), pooling_factors={})["small"]
    assert not unknown.success and "no pooling factor" in unknown.planner_failure_reason
    from torchrec.distributed.planner.types import PlannerVariant
    other = results_of(request_of(config={"planner_variant": PlannerVariant.LINEAR_PROGRAMMING}))
    assert "planner_variant: found" in other["small"].planner_failure_reason
    refused(InvalidInputError, lambda: ours.NeuroShardPlannerProvider(batch_size=4),
            "batch_size: found it as an option")


def main():
    torch.manual_seed(1)
    if tuple(map(int, version("torchrec").split(".")[:2])) < (1, 9):
        try:
            ours.NeuroShardPlannerProvider
        except ImportError as error:
            assert "1.9" in str(error), error
            print("torchrec-provider: TorchRec", version("torchrec"), "has no dry-run orchestrator")
            return
        raise AssertionError("a provider without an orchestrator")
    check_plans()
    check_request_is_heeded()
    check_failures()
    print("torchrec-provider: the dry-run orchestrator plans with it, and says why where it cannot")


if __name__ == "__main__":
    main()
