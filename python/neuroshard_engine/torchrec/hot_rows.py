"""An EmbeddingCollection of whose tables every rank holds the rows that are looked up most.

What goes through TorchRec's all-to-all then are the lookups of the other rows. TorchRec has no such
sharding; split_hot_rows() changes a model so.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

import torch
from torchrec.distributed.comm_ops import get_gradient_division
from torchrec.modules.embedding_modules import EmbeddingCollection
from torchrec.sparse.jagged_tensor import JaggedTensor, KeyedJaggedTensor

from ..errors import InvalidInputError
from ._collections import listed, table_words


class HotRowsEmbeddingCollection(torch.nn.Module):
    """An EmbeddingCollection some of whose rows every rank has: the same features in, the same
    outputs out.

    `cold` is the collection itself, for DistributedModelParallel to shard. Its hot rows keep what they
    began with: nobody looks them up. `hot` are those rows, one parameter [hot rows, dim] for all
    tables in their order, ids ascending, which DistributedModelParallel replicates as it does dense
    layers: all ranks begin with those of the first, and add their gradients up before the optimizer.
    Where TorchRec divides the gradients of sharded tables by the number of ranks, as it does by
    default, these are divided too, and where set_gradient_division(False) says so neither are. So all
    rows train as those of the whole table would, up to the order of addition, where both have the
    same optimizer and it leaves rows alone that are not looked up: SGD without momentum and weight
    decay, and row-wise Adagrad (torchrec.optim.RowWiseAdagrad of `hot` beside EXACT_ROWWISE_ADAGRAD),
    but not Adam.

    Beside the rows, a rank keeps 8 bytes for each (`hot_keys`, which checkpoints have).
    """

    def __init__(self, collection: EmbeddingCollection, ids: Mapping[str, torch.Tensor],
                 name: str = "") -> None:
        """`ids`: {table: ids that are hot, each once}. `name`: of the collection, for messages. Of a
        collection on the meta device fetch_hot_rows() gives hot rows what they begin with, once it is
        sharded. Raises InvalidInputError for anything else than a plain EmbeddingCollection, tables
        that it has not, that are not FP32 or share a feature with others, and ids that the table has
        not, has twice or of which there are none.
        """
        super().__init__()
        if type(collection) is not EmbeddingCollection:
            raise InvalidInputError(f"{name or 'the collection'}: found a {type(collection).__name__}, "
                                    "expected an EmbeddingCollection that is not sharded yet")
        self._configs = list(collection.embedding_configs())
        self._features = [each for config in self._configs for each in config.feature_names]
        self._need_indices = bool(collection.need_indices())
        self._name = name
        # By feature, where the keys of its table's ids begin, and how many rows that has: the key of an
        # id is its own among all ids of the collection's hot tables.
        self._keys_of: Dict[str, Tuple[int, int]] = {}
        self._hot_of: Dict[str, Tuple[int, int]] = {}  # by table, its part of `hot`
        strange = set(ids) - {config.name for config in self._configs}
        if strange or not ids:
            raise InvalidInputError(f"ids: found {listed(strange) if strange else 'no table'}, expected "
                                    f"tables of {name or 'the collection'}: "
                                    + listed(config.name for config in self._configs))
        keys: List[torch.Tensor] = []
        rows: List[torch.Tensor] = []
        first = begin = 0
        for config in self._configs:
            if config.name not in ids:
                continue
            own = _checked(config, ids[config.name], self._features, table_words(config.name, name))
            weight = collection.embeddings[config.name].weight.detach()
            keys.append(own + first)
            rows.append(weight.new_zeros(len(own), weight.shape[1], device="cpu") if weight.is_meta
                        else weight[own.to(weight.device)])
            self._keys_of.update({each: (first, config.num_embeddings)
                                  for each in config.feature_names})
            self._hot_of[config.name] = (begin, begin + len(own))
            first += config.num_embeddings
            begin += len(own)
        self.begun = not any(collection.embeddings[table].weight.is_meta for table in self._hot_of)
        self.hot = torch.nn.Parameter(torch.cat(rows))
        self.hot_keys: torch.Tensor
        self.register_buffer("hot_keys", torch.cat(keys).to(self.hot.device))
        self.cold: Any = collection

    def forward(self, features: KeyedJaggedTensor) -> Dict[str, JaggedTensor]:
        """Outputs by feature, [lookups, dim] each in the order of `features`, as the collection's."""
        whole, outputs, found = self.looked_up(features)
        counts, values, begin = whole.length_per_key(), whole.values(), 0
        lengths = whole.lengths().view(-1, whole.stride())
        for place, key in enumerate(whole.keys()[:len(self._keys_of)]):
            end = begin + counts[place]
            found[key] = JaggedTensor(values=outputs[begin:end], lengths=lengths[place],
                                      weights=values[begin:end] if self._need_indices else None)
            begin = end
        return found

    def looked_up(self, features: KeyedJaggedTensor
                  ) -> Tuple[KeyedJaggedTensor, torch.Tensor, Dict[str, JaggedTensor]]:
        """The collection's features, those of tables with hot rows first; the outputs of these, one
        after the other; and of the others by name."""
        self._check_ready()
        whole, is_hot, places = self._hot_places(features)
        cold_at, hot_at = torch.nonzero(~is_hot).flatten(), torch.nonzero(is_hot).flatten()
        sent = self.cold(self._cold(whole, is_hot, cold_at))
        hot = torch.nn.functional.embedding(places[hot_at], self.hot)
        self._scale_gradient(hot)
        found = dict((sent.wait() if hasattr(sent, "wait") else sent).items())  # hot ones meanwhile
        cold = torch.cat([found.pop(key).values() for key in whole.keys()[:len(self._keys_of)]])
        outputs = cold.new_empty(len(is_hot), cold.shape[1])
        outputs = outputs.index_copy_(0, cold_at, cold)
        return whole, outputs.index_copy_(0, hot_at, hot.to(cold.dtype)), found

    def cold_features(self, features: KeyedJaggedTensor) -> KeyedJaggedTensor:
        """The lookups that are sent: those of `features` but of hot rows, for statistics_from_kjt()."""
        whole, is_hot, _ = self._hot_places(features)
        return self._cold(whole, is_hot, torch.nonzero(~is_hot).flatten())

    def _check_ready(self) -> None:
        if not self.begun:  # of a collection on the meta device
            raise InvalidInputError(f"{self._name or 'the collection'}: found hot rows without values, "
                                    "expected fetch_hot_rows(model) first")
        if hasattr(self.hot, "_in_backward_optimizers"):
            raise InvalidInputError(f"{self._name or 'the collection'}: found an optimizer in backward for "
                                    "hot rows, expected one that steps after it: their gradients are not "
                                    "added up before")

    def _hot_places(self, features: KeyedJaggedTensor
                    ) -> Tuple[KeyedJaggedTensor, torch.Tensor, torch.Tensor]:
        """Of the collection's features, those of tables with hot rows first: which lookups of these are
        of hot rows, and of which; all features in a few kernels."""
        if features.variable_stride_per_key():
            raise InvalidInputError("features: found a batch size for each key, expected one for all")
        keys = features.keys()
        for key in self._features:
            if key not in keys:
                raise InvalidInputError(f"features: found no {key!r}, expected all of "
                                        f"{self._name or 'the collection'}: {listed(self._features)}")
        order = ([*self._keys_of] + [key for key in self._features if key not in self._keys_of])
        order = list(dict.fromkeys(order))
        whole = features if order == keys else features.permute([keys.index(key) for key in order])
        counts = whole.length_per_key()[:len(self._keys_of)]
        values = whole.values()[:sum(counts)].long()
        spans = torch.tensor([*self._keys_of.values()], device=values.device)
        first, rows = torch.repeat_interleave(
            spans, torch.tensor(counts, device=values.device), dim=0, output_size=len(values)
        ).unbind(1)
        wanted = values + first
        places = torch.searchsorted(self.hot_keys, wanted).clamp_(max=len(self.hot_keys) - 1)
        # An id that the table has not must not pass for one of the next: the cold table tells of it.
        return whole, (self.hot_keys[places] == wanted) & (values >= 0) & (values < rows), places

    def _cold(self, whole: KeyedJaggedTensor, is_hot: torch.Tensor, cold_at: torch.Tensor
              ) -> KeyedJaggedTensor:
        values, lengths = whole.values(), whole.lengths()
        own = len(self._keys_of) * whole.stride()
        ends = torch.cumsum(lengths[:own].long(), 0)
        hot_before = torch.nn.functional.pad(torch.cumsum(is_hot.long(), 0), (1, 0))
        hot = hot_before[ends] - hot_before[ends - lengths[:own].long()]
        return KeyedJaggedTensor(
            keys=whole.keys(), stride=whole.stride(),
            values=torch.cat([values[:len(is_hot)][cold_at], values[len(is_hot):]]),
            lengths=torch.cat([lengths[:own] - hot.to(lengths.dtype), lengths[own:]]))

    def _scale_gradient(self, hot: torch.Tensor) -> None:
        """DDP always divides gradients by the number of ranks, TorchRec unless it is told not to."""
        environment = getattr(self.cold, "_env", None)
        ranks = int(environment.world_size) if environment is not None else 1
        if ranks > 1 and hot.requires_grad and not get_gradient_division():
            hot.register_hook(  # type: ignore[no-untyped-call, unused-ignore]
                lambda gradient: gradient * ranks)

    def tables(self) -> List[str]:
        """Those with hot rows."""
        return list(self._hot_of)

    def hot_ids(self, table: str) -> torch.Tensor:
        """The ids of the table's hot rows, ascending."""
        begin, end = self._part(table)
        config = next(each for each in self._configs if each.name == table)
        return self.hot_keys[begin:end] - self._keys_of[config.feature_names[0]][0]

    def hot_weight(self, table: str) -> torch.Tensor:
        """The table's hot rows, [rows, dim], in the order of hot_ids(): a part of `hot`."""
        begin, end = self._part(table)
        return self.hot[begin:end]

    def embedding_configs(self) -> List[Any]:
        return list(self._configs)

    def embedding_dim(self) -> int:
        return int(self._configs[0].embedding_dim)

    def need_indices(self) -> bool:
        return self._need_indices

    @torch.no_grad()  # type: ignore[untyped-decorator, unused-ignore]
    def put_hot_rows_into(self, table: str, weight: torch.Tensor) -> None:
        """Writes the table's hot rows to their places in `weight`, [rows, dim], the whole table as a
        checkpoint of the model unsplit has it. Raises InvalidInputError for a table without any, and
        for another shape."""
        hot, ids = self.hot_weight(table), self.hot_ids(table)
        rows = next(each.num_embeddings for each in self._configs if each.name == table)
        if tuple(weight.shape) != (rows, hot.shape[1]):
            raise InvalidInputError(f"weight: found shape {tuple(weight.shape)}, expected "
                                    f"{(rows, int(hot.shape[1]))}")
        weight[ids.to(weight.device)] = hot.to(weight.device, weight.dtype)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        self.begun = self.begun or prefix + "hot" in state_dict

    def _part(self, table: str) -> Tuple[int, int]:
        if table not in self._hot_of:
            raise InvalidInputError(f"found table {table!r}, expected one with hot rows: "
                                    f"{listed(self._hot_of)}")
        return self._hot_of[table]


def _checked(config: Any, ids: torch.Tensor, features: List[str], words: str) -> torch.Tensor:
    """`ids` in ascending order."""
    if config.data_type.name != "FP32":
        raise InvalidInputError(f"ids: found {words} of {config.data_type.name}, expected FP32: hot rows "
                                "of others would train otherwise than cold ones")
    if any(features.count(feature) > 1 for feature in config.feature_names):
        raise InvalidInputError(f"ids: found {words}, a feature of which looks up other tables, too, "
                                "expected features of one table")
    own = torch.sort(ids.detach().cpu().long().flatten()).values
    if not len(own):
        raise InvalidInputError(f"ids: found none of {words}, expected some, or not that table")
    if len(torch.unique(own)) != len(own):
        raise InvalidInputError(f"ids: found a row of {words} twice, expected each once")
    for row in int(own[0]), int(own[-1]):
        if not 0 <= row < config.num_embeddings:
            raise InvalidInputError(f"ids: found row {row} of {words}, expected 0 to "
                                    f"{config.num_embeddings - 1}")
    return own
