"""What TorchRec's Topology says, in the engine's words; what has no place there is logged."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Optional, Union

from .._arguments import Path
from ..cost_models import TORCHREC_MODELS, CostModels
from ..errors import InvalidInputError

logger = logging.getLogger("neuroshard_engine.torchrec")
# Topology's bandwidths are bytes a millisecond, the engine's GB/s of 2^30 bytes.
_GBPS = 1000 / (1 << 30)


@dataclass(frozen=True)
class Devices:
    """Bytes of one device, and of one host (0: none), that plans may use."""

    count: int
    per_host: int
    memory: int
    host_memory: int
    trainer_device: str  # "cuda" or "cpu"


def devices_of(topology: Any, goes_to_hosts: bool) -> Devices:
    """Of a topology from which storage is reserved already; with the memory of the hosts where
    `goes_to_hosts`. Raises InvalidInputError where nothing is left."""
    kind = str(topology.compute_device)
    if kind not in ("cuda", "cpu"):
        raise InvalidInputError(f"topology: found compute_device {kind!r}, expected 'cuda' or 'cpu'")
    local, world = int(topology.local_world_size), int(topology.world_size)
    if world % local:
        raise InvalidInputError(f"topology: found {world} ranks on hosts of {local}, expected hosts "
                                "that are full")
    sizes = [each.storage.hbm if kind == "cuda" else each.storage.ddr
             for each in topology.devices]
    word = "hbm_cap" if kind == "cuda" else "ddr_cap"
    if min(sizes) < 1:
        raise InvalidInputError(f"topology: found {min(sizes)} bytes of {word} after what the storage "
                                "reservation takes, expected some for embeddings")
    if len(set(sizes)) > 1:
        logger.warning("topology: ranks have different %s, all are taken for the smallest, %d bytes",
                       word, min(sizes))
    hosts = min(each.storage.ddr for each in topology.devices) * local
    return Devices(world, local, min(sizes), hosts if kind == "cuda" and goes_to_hosts else 0, kind)


def cost_models_of(which: Union[None, CostModels, Path], topology: Any) -> CostModels:
    """TorchRec's formula with the topology's bandwidths where nothing else is asked for."""
    if which is not None and which not in TORCHREC_MODELS:
        logger.info("topology: its bandwidths change nothing, the cost model has a hardware of its own")
        return CostModels.of(which)
    _log_unused(topology)
    comms = topology.comms_bandwidths
    device = topology.hbm_mem_bw if topology.compute_device == "cuda" else topology.ddr_mem_bw
    return CostModels.torchrec(
        device_gbps=device * _GBPS, intra_host_gbps=comms.intra_host_bw * _GBPS,
        inter_host_gbps=comms.inter_host_bw * _GBPS,
        host_memory_gbps=topology.hbm_to_ddr_mem_bw * _GBPS,
        model=which if isinstance(which, str) else _of_installed_torchrec())


def _of_installed_torchrec() -> str:
    """The formula that its planner counts with: 1.9 counts fewer outputs of few lookups."""
    release = metadata.version("torchrec").split(".")[:2]
    return "torchrec" if tuple(map(int, release)) >= (1, 9) else "torchrec-1.4"


def _log_unused(topology: Any) -> None:
    """What TorchRec's formula could be told and the engine's cannot: a line each."""
    expected = {"bwd_compute_multiplier": 2, "weighted_feature_bwd_compute_multiplier": 1,
                "uneven_sharding_perf_multiplier": 1}
    for name, value in expected.items():
        found: Optional[float] = getattr(topology, name, value)
        if found != value:
            logger.warning("topology: %s=%s changes nothing, costs are counted with %s", name, found,
                           value)
    if getattr(topology, "intra_group_size", topology.local_world_size) != topology.local_world_size:
        logger.warning("topology: pod_size changes nothing, links between hosts count as such")
    if type(topology.comms_bandwidths).__name__ != "BasicCommsBandwidths":
        logger.warning("topology: of %s only intra_host_bw and inter_host_bw count",
                       type(topology.comms_bandwidths).__name__)
