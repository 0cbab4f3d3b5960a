"""An EmbeddingCollection of whose tables every rank holds the rows that are looked up most.

What goes through TorchRec's all-to-all then are the lookups of the other rows. TorchRec has no such
sharding; split_hot_rows() changes a model so.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

import torch
from torchrec.modules.embedding_modules import EmbeddingCollection
from torchrec.sparse.jagged_tensor import JaggedTensor, KeyedJaggedTensor

from ..errors import InvalidInputError
from ._collections import listed, module_words, table_words
from .hot_lookups import HotJoin, HotOutputs, HotSplit, LookedUp


class HotRowsEmbeddingCollection(torch.nn.Module):  # type: ignore[misc,unused-ignore]
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

    Beside the rows, a rank keeps 8 bytes for each (`split.hot_keys`, which checkpoints have).
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
        words = module_words(name)
        if type(collection) is not EmbeddingCollection:
            raise InvalidInputError(f"{words}: found a {type(collection).__name__}, expected an "
                                    "EmbeddingCollection that is not sharded yet")
        self._configs = list(collection.embedding_configs())
        features = [each for config in self._configs for each in config.feature_names]
        strange = set(ids) - {config.name for config in self._configs}
        if strange or not ids:
            raise InvalidInputError(f"ids: found {listed(strange) if strange else 'no table'}, expected "
                                    f"tables of {words}: "
                                    + listed(config.name for config in self._configs))
        self._hot_of: Dict[str, Tuple[int, int]] = {}  # by table, its part of `hot`
        spans: Dict[str, Tuple[int, int]] = {}
        keys: List[torch.Tensor] = []
        rows: List[torch.Tensor] = []
        first = begin = 0
        for config in self._configs:
            if config.name not in ids:
                continue
            own = _checked(config, ids[config.name], features, table_words(config.name, name))
            weight = collection.embeddings[config.name].weight.detach()
            keys.append(own + first)
            rows.append(weight.new_zeros(len(own), weight.shape[1], device="cpu") if weight.is_meta
                        else weight[own.to(weight.device)])
            spans.update({each: (first, config.num_embeddings) for each in config.feature_names})
            self._hot_of[config.name] = (begin, begin + len(own))
            first += config.num_embeddings
            begin += len(own)
        self.hot = torch.nn.Parameter(torch.cat(rows))
        self.split = HotSplit(torch.cat(keys).to(self.hot.device), spans, features, words)
        self._own = (self.split,)  # train pipelines put another module in its place
        self.join = HotJoin(words)
        self.join.begun = not any(collection.embeddings[table].weight.is_meta for table in self._hot_of)
        self.deal_out = HotOutputs(bool(collection.need_indices()))
        self.cold: Any = collection

    def forward(self, features: KeyedJaggedTensor) -> Dict[str, JaggedTensor]:
        """Outputs by feature, [lookups, dim] each in the order of `features`, as the collection's."""
        found: Dict[str, JaggedTensor] = self.deal_out(self.looked_up(features))
        return found

    def looked_up(self, features: KeyedJaggedTensor) -> LookedUp:
        """The same before it is dealt out to the features."""
        environment = getattr(self.cold, "_env", None)  # of a sharded one
        ranks = 1 if environment is None else int(environment.world_size)
        parts = self.split(features)
        found: LookedUp = self.join(parts, self.cold(parts[0]), self.hot, ranks)
        return found

    def cold_features(self, features: KeyedJaggedTensor) -> KeyedJaggedTensor:
        """The lookups that are sent: those of `features` but of hot rows, for statistics_from_kjt()."""
        return self._own[0](features)[0]

    def tables(self) -> List[str]:
        """Those with hot rows."""
        return list(self._hot_of)

    def hot_ids(self, table: str) -> torch.Tensor:
        """The ids of the table's hot rows, ascending."""
        part = self.hot_part(table)
        config = next(each for each in self._configs if each.name == table)
        return self._own[0].hot_keys[part] - self._own[0].spans[config.feature_names[0]][0]

    def hot_weight(self, table: str) -> torch.Tensor:
        """The table's hot rows, [rows, dim], in the order of hot_ids(): a part of `hot`."""
        return self.hot[self.hot_part(table)]

    def embedding_configs(self) -> List[Any]:
        return list(self._configs)

    def embedding_dim(self) -> int:
        return int(self._configs[0].embedding_dim)

    def need_indices(self) -> bool:
        return self.deal_out.need_indices

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
        self.join.begun = self.join.begun or prefix + "hot" in state_dict

    def hot_part(self, table: str) -> slice:
        """Which rows of `hot` are the table's. Raises InvalidInputError for a table without any."""
        if table not in self._hot_of:
            raise InvalidInputError(f"found table {table!r}, expected one with hot rows: "
                                    f"{listed(self._hot_of)}")
        return slice(*self._hot_of[table])


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
