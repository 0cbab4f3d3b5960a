"""An EmbeddingBagCollection of whose one-hot tables every rank holds the rows that are looked up most.

TorchRec sends a bag's output for every sample, whether it has a cold row or not. A bag of one id at
most is a sequence of one, and of sequences TorchRec sends the lookups that there are.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Optional, Set

import torch
from torchrec.modules.embedding_configs import EmbeddingConfig, PoolingType
from torchrec.modules.embedding_modules import (
    EmbeddingBagCollection,
    EmbeddingCollection,
    get_embedding_names_by_table,
)
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor, KeyedTensor

from ..errors import InvalidInputError
from ._collections import listed
from .hot_lookups import LookedUp
from .hot_rows import HotRowsEmbeddingCollection


class HotRowsEmbeddingBagCollection(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """An EmbeddingBagCollection with hot rows of some tables: the same features in, the same KeyedTensor
    out, its keys in the order of the tables.

    Tables with hot rows become sequences, in `sequences`: a HotRowsEmbeddingCollection for each dim, by
    its number. The others stay in `bags`, an EmbeddingBagCollection, or None where there are none. All
    are the parameters of before. Sums (and means) of longer bags are right, too, but each of their cold
    ids is sent, which is more than the sum would be: rank_rows() refuses tables that have them.
    """

    def __init__(self, collection: EmbeddingBagCollection, ids: Mapping[str, torch.Tensor],
                 name: str = "") -> None:
        """See HotRowsEmbeddingCollection. Raises InvalidInputError for weighted collections, too."""
        super().__init__()
        if type(collection) is not EmbeddingBagCollection or collection.is_weighted():
            found = type(collection).__name__
            if isinstance(collection, EmbeddingBagCollection):
                found += " with weights" if collection.is_weighted() else ""
            raise InvalidInputError(f"{name or 'the collection'}: found a {found}, expected an "
                                    "EmbeddingBagCollection without weights that is not sharded yet")
        self._configs = list(collection.embedding_bag_configs())
        everywhere = [feature for config in self._configs for feature in config.feature_names]
        shared = sorted({feature for config in self._configs if config.name in ids
                         for feature in config.feature_names if everywhere.count(feature) > 1})
        strange = sorted(set(ids) - {config.name for config in self._configs})
        if strange or shared or not ids:
            raise InvalidInputError(
                "ids: found " + (f"tables {listed(strange)}, expected those of the collection"
                                 if strange else f"feature {shared[0]!r}, which several tables look up, "
                                 "expected features of one table" if shared else
                                 "no table, expected some"))
        dims: Dict[int, List[Any]] = {}
        for config in self._configs:
            if config.name in ids:
                dims.setdefault(config.embedding_dim, []).append(config)
        self.sequences: Any = torch.nn.ModuleDict({
            str(dim): HotRowsEmbeddingCollection(
                _sequences_of(collection, configs), {each.name: ids[each.name] for each in configs}, name)
            for dim, configs in dims.items()})
        rest = [config for config in self._configs if config.name not in ids]
        self.bags: Optional[Any] = _bags_of(collection, rest) if rest else None
        self.pool = _Pool([each for names in get_embedding_names_by_table(self._configs) for each in names],
                          {feature for config in self._configs if config.pooling == PoolingType.MEAN
                           for feature in config.feature_names})

    def forward(self, features: KeyedJaggedTensor) -> KeyedTensor:
        """Pooled outputs, [samples, dim] for each feature."""
        bags = self.bags(features) if self.bags is not None else None
        found: KeyedTensor = self.pool(bags, [each.looked_up(features) for each in self.sequences.values()])
        return found

    def embedding_bag_configs(self) -> List[Any]:
        return list(self._configs)

    def is_weighted(self) -> bool:
        return False


class _Pool(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """Adds the outputs of sequences up by samples, beside what the bags have added up."""

    def __init__(self, names: List[str], means: Set[str]) -> None:
        super().__init__()
        self._names = names
        self._means = means

    def forward(self, sent: Any, sequences: List[LookedUp]) -> KeyedTensor:
        pooled: Dict[str, torch.Tensor] = {}
        for each in sequences:
            pooled.update(self._pooled(each))
        if sent is not None:
            pooled.update((sent.wait() if hasattr(sent, "wait") else sent).to_dict())
        return KeyedTensor(keys=self._names, length_per_key=[pooled[key].shape[1] for key in self._names],
                           values=torch.cat([pooled[key] for key in self._names], dim=1))

    def _pooled(self, sequences: LookedUp) -> Dict[str, torch.Tensor]:
        whole, outputs = sequences.features, sequences.outputs  # all of its tables have hot rows
        samples, lengths = whole.stride(), whole.lengths().long()
        bags = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths,
                                       output_size=len(outputs))
        sums = outputs.new_zeros(len(lengths), outputs.shape[1]).index_add_(0, bags, outputs)
        found = dict(zip(whole.keys(), torch.split(sums, samples)))
        for key, own in zip(whole.keys(), torch.split(lengths, samples)):
            if key in self._means:
                found[key] = found[key] / own.clamp(min=1).unsqueeze(1)
        return found


def _sequences_of(collection: Any, configs: List[Any]) -> EmbeddingCollection:
    """The same tables, as sequences."""
    own = [EmbeddingConfig(**{field.name: getattr(config, field.name)
                              for field in dataclasses.fields(EmbeddingConfig) if field.init})
           for config in configs]
    made = EmbeddingCollection(tables=own, device=torch.device("meta"))
    for config in configs:
        made.embeddings[config.name].weight = collection.embedding_bags[config.name].weight
    made._device = collection.device  # by which TorchRec knows whether there are weights to take along
    return made


def _bags_of(collection: Any, configs: List[Any]) -> EmbeddingBagCollection:
    made = EmbeddingBagCollection(tables=configs, device=torch.device("meta"))
    for config in configs:
        made.embedding_bags[config.name].weight = collection.embedding_bags[config.name].weight
    made._device = collection.device
    return made
