"""NeuroShard in a TorchRec trainer: needs torch and torchrec, 1.4 or 1.9.

    from neuroshard_engine.torchrec import NeuroShardPlanner
    planner = NeuroShardPlanner(batch_size=4096, pooling_factors={"user": 40.0, "item": 3.5})
    plan = planner.collective_plan(model, sharders, dist.GroupMember.WORLD)
    model = DistributedModelParallel(model, plan=plan, sharders=sharders)

statistics_from_kjt() counts what the planner should know of lookups from real batches;
save_tables() and load_plan() go by files, for plans that are made elsewhere.
"""

from .describe import save_tables
from .in_trainer import make_plan
from .lookup_statistics import LookupStatistics, statistics_from_kjt
from .plan_files import load_plan, plan_of
from .planner import NeuroShardPlanner

__all__ = ["LookupStatistics", "NeuroShardPlanner", "load_plan", "make_plan", "plan_of",
           "save_tables", "statistics_from_kjt"]
