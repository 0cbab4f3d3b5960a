"""Rows that are looked up most on every rank, the rest sharded: for tables that are not pooled.

A plan's hot rows (Plan.hot_rows) are not exchanged: every rank looks them up by itself, and what goes
through the all-to-all are the lookups of the other rows. TorchRec has no such sharding. This is a
change of the model that gives it one:

    ids = rank_rows(model, batches, {each.table: each.rows for each in plan.hot_rows})
    split_hot_rows(model, ids)                  # before DistributedModelParallel
    model = DistributedModelParallel(model, ..)

Pooled tables are refused: the cold output of a bag is sent for every sample that has a cold row, so that
TorchRec would send as much as before.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import torch
import torch.distributed as dist
from torchrec.modules.embedding_modules import EmbeddingCollection
from torchrec.sparse.jagged_tensor import JaggedTensor, KeyedJaggedTensor

from ..errors import InvalidInputError
from ._collections import collections_of, configs_of, is_pooled, listed, table_words

_COLD = -1  # in a map from ids to ranks


def rank_rows(model: Any, batches: Iterable[KeyedJaggedTensor], rows: Mapping[str, int],
              pg: Optional[dist.ProcessGroup] = None) -> Dict[str, torch.Tensor]:
    """{table: its ids that `batches` look up most, hottest first}, int64, `rows[table]` at most.

    Ids that are looked up equally often are in ascending order. Ids that no batch has are not among
    them: fewer are given then. With `pg` the counts of all its ranks are added up, and all get the
    same ids. Memory: the distinct ids of these tables. Raises InvalidInputError for a table that the
    model has not, a feature that a batch has not, and numbers of rows below 0.
    """
    features: Dict[str, List[str]] = {}
    for collection in collections_of(model).values():
        for config in configs_of(collection):
            if config.name in rows:
                features[config.name] = list(config.feature_names)
    for table, most in rows.items():
        if table not in features:
            raise InvalidInputError(f"rows: found table {table!r}, expected tables of the model")
        if most < 0:
            raise InvalidInputError(f"rows: found {most} of table {table!r}, expected 0 or more")
    counts = {table: _Counts() for table in features}
    for batch in batches:
        looked_up = batch.to_dict()
        for table, names in features.items():
            for name in names:
                if name not in looked_up:
                    raise InvalidInputError(f"batch: found no feature {name!r}, expected all of table "
                                            f"{table!r}")
                counts[table].add(*torch.unique(looked_up[name].values().cpu().long(),
                                                return_counts=True))
    if pg is not None:
        for each in counts.values():
            each.gather(pg)
    return {table: each.hottest(int(rows[table])) for table, each in counts.items()}


class _Counts:
    """How often each id is looked up."""

    def __init__(self) -> None:
        self.ids = torch.zeros(0, dtype=torch.int64)
        self.counts = torch.zeros(0, dtype=torch.int64)

    def add(self, ids: torch.Tensor, counts: torch.Tensor) -> None:
        together, places = torch.unique(torch.cat([self.ids, ids]), return_inverse=True)
        summed = torch.zeros_like(together)
        self.counts = summed.index_add_(0, places, torch.cat([self.counts, counts]))
        self.ids = together

    def gather(self, pg: dist.ProcessGroup) -> None:
        parts: List[Any] = [None] * dist.get_world_size(pg)
        dist.all_gather_object(parts, (self.ids, self.counts), group=pg)
        self.__init__()  # type: ignore[misc]
        for ids, counts in parts:
            self.add(ids, counts)

    def hottest(self, most: int) -> torch.Tensor:
        order = torch.sort(self.counts, descending=True, stable=True).indices  # ids are in order
        return self.ids[order[:most]]


class HotRowsEmbeddingCollection(torch.nn.Module):
    """An EmbeddingCollection some of whose rows every rank has: the same features in, the same
    outputs out.

    `cold` is the collection itself, for DistributedModelParallel to shard: of its hot rows it keeps
    what they began with, and nobody looks them up. `hot` has a parameter [hot rows, dim] for each
    table in `ids`, which is replicated like dense layers: all ranks begin with those of the first, and
    gradients are averaged, as TorchRec averages those of sharded tables. So both train as the whole
    table would where their optimizers are the same, and leave rows alone that are not looked up: SGD
    without momentum and weight decay, and row-wise Adagrad (torchrec.optim.RowWiseAdagrad beside
    EXACT_ROWWISE_ADAGRAD), but not Adam.

    A map from ids to hot rows takes 4 bytes a row of such a table, on every rank.
    """

    def __init__(self, collection: EmbeddingCollection, ids: Mapping[str, torch.Tensor],
                 name: str = "") -> None:
        """`ids`: {table: ids that are hot, each once}. Raises InvalidInputError for pooled tables,
        others than the collection's, features of several tables, weights that are not there yet
        (meta), and ids that the table has not or has twice; `name`: of the collection, for its text.
        """
        super().__init__()
        configs = {config.name: config for config in configs_of(collection)}
        features = [feature for config in configs.values() for feature in config.feature_names]
        self._configs = list(configs.values())
        self._need_indices = bool(not is_pooled(collection) and collection.need_indices())
        self.cold = collection  # which knows none of this any more once it is sharded
        self.hot = torch.nn.ParameterDict()
        self._table_of: Dict[str, str] = {}
        self._ids: Dict[str, torch.Tensor] = {}
        for table, own in ids.items():
            words = table_words(table, name)
            if table not in configs:
                raise InvalidInputError(f"ids: found {words}, expected its tables: {listed(configs)}")
            if is_pooled(collection):
                raise InvalidInputError(f"ids: found {words}, which is pooled, expected tables of an "
                                        "EmbeddingCollection: TorchRec sends a bag's output for every "
                                        "sample, whatever rows are hot")
            config = configs[table]
            if any(features.count(feature) > 1 for feature in config.feature_names):
                raise InvalidInputError(f"ids: found {words}, a feature of which looks up other tables, "
                                        "too, expected features of one table")
            self._add(config, own.detach().cpu().long(), collection.embeddings[table].weight, words)

    def _add(self, config: Any, ids: torch.Tensor, weight: torch.Tensor, words: str) -> None:
        if ids.dim() != 1 or len(torch.unique(ids)) != len(ids):
            raise InvalidInputError(f"ids: found a row of {words} twice, expected each once")
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < config.num_embeddings:
            wrong = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
            raise InvalidInputError(f"ids: found row {wrong} of {words}, expected 0 to "
                                    f"{config.num_embeddings - 1}")
        if weight.is_meta:
            raise InvalidInputError(f"{words}: found no weights yet (device meta), expected some, which "
                                    "hot rows begin with")
        ranks = torch.full((config.num_embeddings,), _COLD, dtype=torch.int32)
        ranks[ids] = torch.arange(len(ids), dtype=torch.int32)
        self.register_buffer("ranks_" + config.name, ranks.to(weight.device), persistent=False)
        self.hot[config.name] = torch.nn.Parameter(weight.detach()[ids.to(weight.device)].clone())
        self._ids[config.name] = ids
        for feature in config.feature_names:
            self._table_of[feature] = config.name

    def forward(self, features: KeyedJaggedTensor) -> Dict[str, JaggedTensor]:
        """Outputs by feature, [lookups, dim] each in the order of `features`, as the collection's.
        Raises InvalidInputError for a batch size for each key."""
        whole, ranks = self._ranked(features)
        cold = self.cold(self._cold(features, whole, ranks))
        hot = {feature: torch.nn.functional.embedding(own[own != _COLD], self.hot[table])
               for (feature, table), own in zip(self._table_of.items(), ranks.values())}
        outputs = cold.wait() if hasattr(cold, "wait") else cold  # hot rows are looked up meanwhile
        found = dict(outputs.items())
        for feature, own in ranks.items():
            jagged = whole[feature]
            found[feature] = JaggedTensor(
                values=_together(own, hot[feature], found[feature].values()),
                lengths=jagged.lengths(),
                weights=jagged.values() if self._need_indices else None)
        return found

    def cold_features(self, features: KeyedJaggedTensor) -> KeyedJaggedTensor:
        """The lookups that are sent: those of `features` but of hot rows, for statistics_from_kjt()."""
        return self._cold(features, *self._ranked(features))

    def _ranked(self, features: KeyedJaggedTensor
                ) -> Tuple[Dict[str, JaggedTensor], Dict[str, torch.Tensor]]:
        """The features, and of those of tables with hot rows the hot row of each lookup or _COLD."""
        if features.variable_stride_per_key():
            raise InvalidInputError("features: found a batch size for each key, expected one for all")
        whole: Dict[str, JaggedTensor] = features.to_dict()
        return whole, {
            feature: getattr(self, "ranks_" + table)[whole[feature].values().long()].long()
            for feature, table in self._table_of.items()}

    def _cold(self, features: KeyedJaggedTensor, whole: Mapping[str, JaggedTensor],
              ranks: Mapping[str, torch.Tensor]) -> KeyedJaggedTensor:
        values, lengths = [], []
        for key in features.keys():
            own = whole[key]
            if key not in ranks:
                values.append(own.values())
                lengths.append(own.lengths())
                continue
            is_cold = ranks[key] == _COLD
            values.append(own.values()[is_cold])
            lengths.append(_lengths_of(is_cold, own.lengths()))
        return KeyedJaggedTensor(keys=features.keys(), values=torch.cat(values),
                                 lengths=torch.cat(lengths))

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
        if table not in self._ids:
            raise InvalidInputError(f"found table {table!r}, expected one with hot rows: "
                                    f"{listed(self._ids)}")
        hot = self.hot[table]
        rows = int(getattr(self, "ranks_" + table).shape[0])
        if tuple(weight.shape) != (rows, hot.shape[1]):
            raise InvalidInputError(f"weight: found shape {tuple(weight.shape)}, expected "
                                    f"{(rows, int(hot.shape[1]))}")
        weight[self._ids[table].to(weight.device)] = hot.to(weight.device, weight.dtype)


def _lengths_of(is_cold: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """By sample, how many of its lookups are cold."""
    before = torch.cat([is_cold.new_zeros(1, dtype=torch.int64), torch.cumsum(is_cold.long(), 0)])
    ends = torch.cumsum(lengths.long(), 0)
    return (before[ends] - before[ends - lengths.long()]).to(lengths.dtype)


def _together(ranks: torch.Tensor, hot: torch.Tensor, cold: torch.Tensor) -> torch.Tensor:
    """Outputs, [lookups, dim], in the order of the lookups."""
    is_cold = ranks == _COLD
    outputs = cold.new_zeros(len(ranks), hot.shape[1])
    outputs = outputs.index_copy(0, torch.nonzero(is_cold).flatten(), cold)
    return outputs.index_copy(0, torch.nonzero(~is_cold).flatten(), hot.to(cold.dtype))


def split_hot_rows(model: torch.nn.Module, ids: Mapping[str, torch.Tensor]
                   ) -> Dict[str, HotRowsEmbeddingCollection]:
    """Puts a HotRowsEmbeddingCollection in the place of every EmbeddingCollection of `model` that has
    tables in `ids` (see rank_rows()); returns them by their dotted names. The collection that
    DistributedModelParallel shards, and that a plan names, is `NAME.cold` then.

    Raises InvalidInputError as HotRowsEmbeddingCollection does, where the model itself is the
    collection, and for tables that it has not; nothing is replaced then.
    """
    left = set(ids)
    made: List[Tuple[str, HotRowsEmbeddingCollection]] = []
    for name, collection in collections_of(model).items():
        own = {config.name: ids[config.name] for config in configs_of(collection)
               if config.name in ids}
        if not own:
            continue
        if not name:
            raise InvalidInputError("found the collection itself, expected a model that has it: make a "
                                    "HotRowsEmbeddingCollection of it")
        made.append((name, HotRowsEmbeddingCollection(collection, own, name)))
        left -= set(own)
    if left:
        raise InvalidInputError(f"ids: found tables that the model has not: {listed(left)}")
    for name, module in made:
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, module)
    return dict(made)
