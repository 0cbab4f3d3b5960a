"""NeuroShard in a TorchRec trainer: needs torch and torchrec, 1.4 or 1.9.

    from neuroshard_engine.torchrec import NeuroShardPlanner
    planner = NeuroShardPlanner(batch_size=4096, pooling_factors={"user": 40.0, "item": 3.5})
    plan = planner.collective_plan(model, sharders, dist.GroupMember.WORLD)
    model = DistributedModelParallel(model, plan=plan, sharders=sharders)

statistics_from_kjt() counts what the planner should know of lookups from real batches;
save_tables() and load_plan() go by files, for plans that are made elsewhere; qcomm_registry() is
for the sharders of trainers whose plans have an exchange in fewer bits than fp32.
rank_rows() or read_hot_rows(), split_hot_rows() and hot_rows_plan() run plans with hot rows;
unsplit_state_dict() is the checkpoint as without.
NeuroShardPlannerProvider is for the dry-run orchestrator of TorchRec 1.9.
"""

from __future__ import annotations

from typing import Any

from .describe import save_tables
from .exchange import qcomm_registry
from .hot_bags import HotRowsEmbeddingBagCollection
from .hot_files import read_hot_rows
from .hot_ids import rank_rows
from .hot_rows import HotRowsEmbeddingCollection
from .hot_split import hot_rows_plan, split_hot_rows
from .hot_sums import fetch_hot_sums, store_hot_sums
from .hot_weights import fetch_hot_rows, load_unsplit_state_dict, unsplit_state_dict
from .in_trainer import make_plan
from .lookup_statistics import LookupStatistics, statistics_from_kjt
from .plan_files import load_plan, plan_of
from .planner import NeuroShardPlanner


def __getattr__(name: str) -> Any:
    """NeuroShardPlannerProvider, of which only TorchRec 1.9 knows anything."""
    if name == "NeuroShardPlannerProvider":
        try:
            from .provider import NeuroShardPlannerProvider
        except ImportError as error:
            raise ImportError("NeuroShardPlannerProvider: found a TorchRec without "
                              f"torchrec.distributed.planner.provider, expected 1.9: {error}"
                              ) from error
        return NeuroShardPlannerProvider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["HotRowsEmbeddingBagCollection", "HotRowsEmbeddingCollection", "LookupStatistics",
           "NeuroShardPlanner", "fetch_hot_rows", "fetch_hot_sums", "hot_rows_plan", "load_plan",
           "load_unsplit_state_dict", "make_plan", "plan_of", "qcomm_registry", "rank_rows",
           "read_hot_rows", "save_tables", "split_hot_rows", "statistics_from_kjt", "store_hot_sums", "unsplit_state_dict"]
