"""The numbers in which a plan's exchanges travel, as TorchRec's sharders take them."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import torch
from torchrec.distributed.fbgemm_qcomm_codec import (
    CommType,
    QCommsConfig,
    get_qcomm_codecs_registry,
)
from torchrec.distributed.types import CommOp, QuantizedCommCodecs

from .._arguments import Path, shown
from .._files import read_whole
from ..errors import InvalidInputError
from ..plans import Plan
from ..values import PRECISIONS

# Values that have a scale in common, which costs count 8 bytes for. TorchRec has no setting for int8's
# rows: FBGEMM takes 32.
FP8_ROW = 128
# What TorchRec adds up in a reduce-scatter cannot have scales. For fp8 it takes these itself; its int8
# fails there (FBGEMM's codec finds no context).
SUMMED = {"fp8": ("fp16", "bf16"), "int8": ("fp16", "bf16")}


def qcomm_registry(plan: Union[Plan, Path, Mapping[str, Any]],
                   device: Optional[torch.device] = None) -> Optional[Dict[str, QuantizedCommCodecs]]:
    """The `qcomm_codecs_registry` of the sharders of a trainer that runs `plan`, None for fp32.

        sharder = EmbeddingBagCollectionSharder(qcomm_codecs_registry=qcomm_registry(plan))

    plan: a Plan, a plan file (ours or TorchRec's JSON, as `neuroshard plan` writes them), or what
        such a file holds.
    device: where the ranks run, CUDA where it is None; Gloo has no bf16, TorchRec takes fp16.

    fp8 has rows of 128 values and int8 of 32: each rank's samples times its columns must be a
    multiple of that, as powers of 2 are. Partial sums of row-wise tables travel in fp16, and their
    gradients in bf16, where the format is fp8 or int8. Raises InvalidInputError for files that are
    no plan.
    """
    forward, backward = _formats(plan)
    sums = [SUMMED.get(way, (way, way))[place] for place, way in enumerate((forward, backward))]
    exact = get_qcomm_codecs_registry(
        _config(forward, backward),
        [CommOp.POOLED_EMBEDDINGS_ALL_TO_ALL, CommOp.SEQUENCE_EMBEDDINGS_ALL_TO_ALL], device)
    summed = get_qcomm_codecs_registry(
        _config(*sums), [CommOp.POOLED_EMBEDDINGS_REDUCE_SCATTER], device)
    if exact is None or summed is None:
        return None
    return {**exact, **summed}


def _config(forward: str, backward: str) -> QCommsConfig:
    rows = FP8_ROW if "fp8" in (forward, backward) else None
    return QCommsConfig(forward_precision=CommType(forward), backward_precision=CommType(backward),
                        fp8_quantize_dim=rows)


def _formats(plan: Any) -> Tuple[str, str]:
    if isinstance(plan, Plan):
        ways = plan.exchange.split(",")
        return ways[0], ways[-1]
    source = "plan"
    if not isinstance(plan, Mapping):
        source = str(plan)
        try:
            plan = json.loads(read_whole(plan, "plan").decode("utf-8"))
        except ValueError as error:
            raise InvalidInputError(f"{source}: not a plan's JSON: {error}") from None
    if not isinstance(plan, Mapping) or not ("shards" in plan or "plan" in plan):
        raise InvalidInputError(f"{source}: found no key 'shards' or 'plan', expected a plan's JSON")
    ours = plan if "shards" in plan else plan.get("neuroshard", {})
    said = ours.get("exchange", {"forward": "fp32", "backward": "fp32"})
    if not (isinstance(said, Mapping) and {"forward", "backward"} == set(said)
            and all(way in PRECISIONS for way in said.values())):
        raise InvalidInputError(f"{source}: exchange: found {shown(said)}, expected forward and backward, "
                                f"each one of {', '.join(PRECISIONS)}")
    return said["forward"], said["backward"]
