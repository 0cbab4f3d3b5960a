"""What a hardware costs: networks that were trained on its costs, or TorchRec's formula."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, List, Optional, Union

from . import _binding as binding
from . import _structs as structs
from ._arguments import Path, number, optional_text, path, shown, text
from ._files import read_whole
from .errors import InvalidInputError

# The formulas of TorchRec's estimator, the newest release's first.
TORCHREC_MODELS = ("torchrec", "torchrec-1.4")


class DenseModel:
    """What a model computes beside its tables: a file of docs/FILE_FORMATS.md, "Model", or what it
    holds as a dict. Checked where it is used.

    profile: the hardware of the dense layers, such as "H100-80G+cluster", or a profile's file; None
        for the simulated one that the cost models are of.
    """

    def __init__(self, model: Union[Path, Dict[str, Any]], profile: Optional[Path] = None) -> None:
        if isinstance(model, dict):
            try:
                self.content = json.dumps(model).encode("utf-8")
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"model: found {shown(model)}, expected what a model file "
                                        f"holds: {shown(str(error))}") from None
            self.source = "model.json"
        else:
            self.content = read_whole(model, "model")
            self.source = os.fspath(model)
        self.profile = None if profile is None else path("profile", profile)
        self._words = (text("model", self.source), optional_text("profile", self.profile))

    @classmethod
    def of(cls, model: Union[DenseModel, Path, Dict[str, Any]]) -> DenseModel:
        """A model as it is, its file, or what that holds."""
        return model if isinstance(model, DenseModel) else cls(model)

    def _struct(self) -> Any:
        return structs.sized(structs.DenseModel, bytes=structs.text_of(self.content),
                             source=structs.text_of(self._words[0]),
                             profile=structs.text_of(self._words[1]))


class CostModels:
    """A set of cost models; made by shipped(), read(), torchrec() or of_steps(). Shared by threads
    freely."""

    def __init__(self, handle: binding.Handle, content: Optional[bytes] = None,
                 bandwidths: Optional[List[float]] = None,
                 cache_hits: str = "load-factor", model: Optional[DenseModel] = None) -> None:
        self._handle = handle
        self._content = content  # of a file, for the command
        self._model = model
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

    def of_steps(self, model: Union[DenseModel, Path, Dict[str, Any]]) -> CostModels:
        """These networks with that model's dense part: costs are then of whole training steps, in
        which exchanges hide behind dense layers. The dense part is SIMULATED. TorchRec's formula
        has none."""
        dense = DenseModel.of(model)
        made = binding.make("cost_models", "cost_models_of_steps", self._handle,
                            ctypes.byref(dense._struct()))
        return CostModels(made, self._content, self._bandwidths, self._cache_hits, dense)

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
        """Whether costs, or parts of them, are those of simulated hardware rather than measured."""
        return bool(self._info.simulated)

    @property
    def dense_model(self) -> str:
        """The file, without folders, of the model whose whole steps costs are of; "": of the tables
        alone."""
        return self._text("dense_model")

    @property
    def dense_hardware(self) -> str:
        """What its dense part is simulated on; "" without one."""
        return self._text("dense_hardware")

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
        """How the command is told to use them; files of theirs are written to `folder`."""
        if self._bandwidths:
            return ["--cost-model", self.name,
                    "--bandwidths", ",".join(map(repr, self._bandwidths)),
                    "--cache-hits", self._cache_hits]
        return [*self._network_flags(folder), *self._model_flags(folder)]

    def _network_flags(self, folder: str) -> List[str]:
        if self._content is None:
            return ["--cost-model", self.name]
        return ["--cost-model", _written(folder, self.name, self._content)]

    def _model_flags(self, folder: str) -> List[str]:
        if self._model is None:
            return []
        profile = [] if self._model.profile is None else ["--profile", self._model.profile]
        own = os.path.join(folder, "of_steps")  # a file of cost models may have the same name
        os.mkdir(own)
        return ["--model", _written(own, self._model.source, self._model.content), *profile]


def _written(folder: str, name: str, content: bytes) -> str:
    file_name = os.path.join(folder, os.path.basename(name))
    with open(file_name, "wb") as file:
        file.write(content)
    return file_name
