"""The cost models that one plan is for, beside the one in use: NeuroShardPlanner's `robust`."""

from __future__ import annotations

from typing import Any, List, Sequence, Union

from .._arguments import Path, several, shown
from ..cost_models import CostModels
from ..errors import InvalidInputError
from ._topology import cost_models_of

Robust = Union[None, bool, Sequence[Union[CostModels, Path]]]


def check_robust(robust: Any, cost_model: Any) -> None:
    """Raises InvalidInputError for what is none, or does not go with the cost model."""
    if robust is None or robust is False:
        return
    if robust is not True:
        several("robust", robust, "True, or a list of one or more cost models")
    elif cost_model is None:
        raise InvalidInputError("robust: found True without a cost_model, expected one beside TorchRec's "
                                "formula, as cost_model='h200_sim'")


def check_replicated(tables: Sequence[str], devices: int) -> None:
    """Raises InvalidInputError where there are tables that may be data_parallel alone, on several
    ranks: plans for a network and another cost model have none."""
    if tables and devices > 1:
        raise InvalidInputError(f"table {shown(tables[0])}: found constraints that leave data_parallel "
                                "alone, expected another sharding type, too: with robust, plans have "
                                "tables on every rank where all cost models are TorchRec's formula")


def further_models_of(robust: Robust, topology: Any) -> List[CostModels]:
    """TorchRec's formula of the release that runs where it is True, else those named; formulas have
    the topology's bandwidths. None of them for None and False."""
    if robust is None or robust is False:
        return []
    return [cost_models_of(each, topology) for each in ([None] if robust is True else robust)]
