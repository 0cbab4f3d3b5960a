"""A model whose collections have hot rows, and the plan that shards it."""

from __future__ import annotations

import json
import logging
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import torch
from torchrec.distributed.types import ShardingPlan

from .._arguments import instance
from ..errors import InvalidInputError
from ..plans import Plan
from ..workload import Workload
from ._collections import collections_of, configs_of, is_pooled, listed, module_words
from .hot_bags import HotRowsEmbeddingBagCollection
from .hot_rows import HotRowsEmbeddingCollection
from .plan_files import plan_of

logger = logging.getLogger("neuroshard_engine.torchrec")
HotRowsModule = Union[HotRowsEmbeddingCollection, HotRowsEmbeddingBagCollection]


def split_hot_rows(model: torch.nn.Module, ids: Mapping[str, torch.Tensor]) -> Dict[str, HotRowsModule]:
    """Gives every rank the rows `ids` (see rank_rows()): before DistributedModelParallel.

    In the place of every EmbeddingCollection of `model` that has tables in `ids` comes a
    HotRowsEmbeddingCollection, of every EmbeddingBagCollection a HotRowsEmbeddingBagCollection; they are
    returned by their dotted names. The collections that DistributedModelParallel shards are `NAME.cold`
    of the one, and `NAME.bags` and `NAME.sequences.DIM.cold` of the other.

    Raises InvalidInputError as these two do, where the model itself is the collection, where it is
    inside a module that TorchRec shards with it (managed collisions, feature processors), and for tables
    that the model has not; nothing is replaced then.
    """
    left = set(ids)
    made: List[Tuple[str, Any, HotRowsModule]] = []
    for name, collection in collections_of(model).items():
        own = {config.name: ids[config.name] for config in configs_of(collection)
               if config.name in ids}
        if not own:
            continue
        if model.get_submodule(name) is collection and not name:
            raise InvalidInputError("found the collection itself, expected a model that has it: make a "
                                    "HotRowsEmbeddingCollection or HotRowsEmbeddingBagCollection of it")
        if model.get_submodule(name) is not collection:
            raise InvalidInputError(f"{module_words(name)}: found a "
                                    f"{type(model.get_submodule(name)).__name__}, expected a plain "
                                    f"collection for hot rows of {listed(own)}")
        made.append((name, collection,
                     HotRowsEmbeddingBagCollection(collection, own, name) if is_pooled(collection)
                     else HotRowsEmbeddingCollection(collection, own, name)))
        left -= set(own)
    if left:
        raise InvalidInputError(f"ids: found tables that the model has not: {listed(left)}")
    for parent in list(model.modules()):  # a collection may have several
        for key, child in list(parent._modules.items()):
            for _, collection, module in made:
                if child is collection and parent is not module:
                    setattr(parent, key, module)
    return {name: module for name, _, module in made}


def hot_rows_plan(plan: Plan, model: torch.nn.Module, trainer_device: Optional[str] = None) -> ShardingPlan:
    """The ShardingPlan of `plan`, which has hot rows, for `model` after split_hot_rows().

    Tables with hot rows are sharded as the plan says, for the lookups that are left to them.
    `trainer_device`: "cuda" (where it is None) or "cpu". Of pooled tables with more than one lookup a
    sample the model needs no hot rows, as TorchRec saves none of their exchange: without, all of their
    lookups go to their shards, which costs more than the plan says, and a warning tells. Raises
    InvalidInputError where the model has no hot rows of another table of which the plan has some, or some
    of one of which it has none, where the plan places other tables, and for what TorchRec cannot run:
    make the plan with row_splits="off", or "even". Sequences, which one-hot tables are then, have their
    rows over all ranks or none, and columns in equal parts.
    """
    instance("plan", plan, Plan)
    planned = {each.table: plan.workload.tables[each.table_index] for each in plan.hot_rows}
    module_of: Dict[str, str] = {}
    split: Dict[str, str] = {}
    for name, module in model.named_modules():
        if isinstance(module, HotRowsEmbeddingCollection):
            split.update({table: name for table in module.tables()})
    for name, collection in collections_of(model).items():
        module_of.update({config.name: name for config in configs_of(collection)})
    for table in sorted(set(planned) - set(split)):
        if planned[table].pooled and planned[table].pooling_factor > planned[table].features:
            logger.warning("table %r: found hot rows in the plan alone: all lookups go to its shards, which "
                           "costs more than the plan says", table)
            continue
        raise InvalidInputError(f"table {table!r}: found hot rows in the plan alone, expected some in the "
                                "model: split_hot_rows(model, ids) with its ids")
    for table in sorted(set(split) - set(planned)):
        raise InvalidInputError(f"table {table!r}: found hot rows in the model alone, expected them in the "
                                "plan")
    names = [each.name for each in plan.workload.tables]
    for table in sorted(set(names) ^ set(module_of)):
        raise InvalidInputError(f"table {table!r}: found it in the {'plan' if table in names else 'model'} "
                                "alone, expected a plan of this model")
    workload = plan.workload
    tables = json.loads(Workload(workload._content, "tables", workload.batch_size).to_json())  # in our words
    for name, each in zip(names, tables["tables"]):
        each["module"] = module_of[name]
        if name in split:
            each["pooled"] = False
    cold = json.loads(plan.to_json())
    cold.pop("hot_rows", None)
    made = Plan.parse(json.dumps(cold).encode("utf-8"), "the plan", Workload.of(tables), plan.cost_models,
                      plan.cluster)
    return plan_of(json.loads(made.to_torchrec(trainer_device=trainer_device))["plan"])
