"""What a hardware costs: networks that were trained on its costs, or TorchRec's formula."""

from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Union

from . import _binding as binding
from . import _structs as structs
from ._arguments import Path, number, shown, text
from ._files import read_whole
from .errors import InvalidInputError

# The formulas of TorchRec's estimator, the newest release's first.
TORCHREC_MODELS = ("torchrec", "torchrec-1.4")


class CostModels:
    """A set of cost models; made by shipped(), read() or torchrec(). Shared by threads freely."""

    def __init__(self, handle: binding.Handle, content: Optional[bytes] = None,
                 bandwidths: Optional[List[float]] = None,
                 cache_hits: str = "load-factor") -> None:
        self._handle = handle
        self._content = content  # of a file, for the command
        self._bandwidths = bandwidths or []
        self._cache_hits = cache_hits
        info = structs.sized(structs.CostModelsInfo)
        binding.call("cost_models_get_info", handle, ctypes.byref(info))
        self._info = info

    @staticmethod
    def names() -> List[str]:
        """Those inside the package, such as "h200_sim" and "torchrec"."""
        return binding.names("shipped_model")

    @classmethod
    def shipped(cls, name: str = "h200_sim") -> CostModels:
        """The cost models of that name inside the package, one of names()."""
        words = text("cost model", name)
        return cls(binding.make("cost_models", "cost_models_shipped", structs.text_of(words)))

    @classmethod
    def read(cls, path: Path) -> CostModels:
        """Those of a file that `neuroshard train` has written."""
        content = read_whole(path, "cost model")
        source = text("cost model", os.fspath(path))
        return cls(binding.make("cost_models", "cost_models_parse", structs.text_of(content),
                                structs.text_of(source)), content)

    @classmethod
    def torchrec(cls, device_gbps: float = 0, intra_host_gbps: float = 0,
                 inter_host_gbps: float = 0, host_memory_gbps: float = 0,
                 model: str = "torchrec", cache_hits: str = "load-factor") -> CostModels:
        """The formula of TorchRec's performance estimator with these bandwidths.

        model: of which release: "torchrec", the newest known, or "torchrec-1.4".
        cache_hits: what a cache of 5 % of a table's rows serves: "load-factor", 5 % of the lookups as
        in TorchRec's planner, or "curve", what the reuse histogram tells of the table's hot rows.

        All in GB/s of 2^30 bytes, 0 for TorchRec's own: a device's memory (897), all-to-all on one
        host (600), between hosts (12.5), between a device and its host's memory (32).
        """
        given = {"device_gbps": device_gbps, "intra_host_gbps": intra_host_gbps,
                 "inter_host_gbps": inter_host_gbps, "host_memory_gbps": host_memory_gbps}
        numbers = [number(what, each, 0, 1e300, "GB/s above 0, or 0 for TorchRec's own")
                   for what, each in given.items()]
        words = text("model", model)
        hits = text("cache_hits", cache_hits)
        bandwidths = structs.sized(
            structs.Bandwidths, device_gbps=numbers[0], intra_host_gbps=numbers[1],
            inter_host_gbps=numbers[2], host_memory_gbps=numbers[3], model=structs.text_of(words),
            cache_hits=structs.text_of(hits))
        defaults = (897.0, 600.0, 12.5, 32.0)
        return cls(binding.make("cost_models", "cost_models_torchrec", ctypes.byref(bandwidths)),
                   bandwidths=[each or own for each, own in zip(numbers, defaults)],
                   cache_hits=cache_hits)

    @classmethod
    def of(cls, which: Union[CostModels, Path]) -> CostModels:
        """Cost models as they are, a shipped name, or else a file."""
        if isinstance(which, CostModels):
            return which
        if isinstance(which, str) and which in cls.names():
            return cls.shipped(which)
        if isinstance(which, str) and ("\0" in which or not os.path.exists(which)):
            raise InvalidInputError(f"cost model: found {shown(which)}, which is no file, expected "
                                    f"one, or one of {', '.join(cls.names())}")
        return cls.read(which)

    @property
    def name(self) -> str:
        """The shipped name, or the file's without folders."""
        return self._text("name")

    @property
    def sha256(self) -> str:
        """Of the file's bytes, 64 hexadecimal digits."""
        return self._text("sha256")

    @property
    def compute_hardware(self) -> str:
        return self._text("compute_hardware")

    @property
    def communication_hardware(self) -> str:
        return self._text("communication_hardware")

    @property
    def simulated(self) -> bool:
        """Whether costs are those of simulated hardware rather than measured."""
        return bool(self._info.simulated)

    @property
    def min_batch_size(self) -> int:
        """Samples per step over all devices, the least that they know; max_batch_size the most."""
        return int(self._info.min_batch_size)

    @property
    def max_batch_size(self) -> int:
        return int(self._info.max_batch_size)

    def __repr__(self) -> str:
        kind = "SIMULATED " if self.simulated else ""
        return f"CostModels({self.name!r}, {kind}{self.compute_hardware})"

    def _text(self, field: str) -> str:
        found: Any = getattr(self._info, field)
        return str(found.text())

    def _flags(self, folder: str) -> List[str]:
        """How the command is told to use them; a file of theirs is written to `folder`."""
        if self._bandwidths:
            return ["--cost-model", self.name,
                    "--bandwidths", ",".join(map(repr, self._bandwidths)),
                    "--cache-hits", self._cache_hits]
        if self._content is None:
            return ["--cost-model", self.name]
        path = os.path.join(folder, os.path.basename(self.name))
        with open(path, "wb") as file:
            file.write(self._content)
        return ["--cost-model", path]
