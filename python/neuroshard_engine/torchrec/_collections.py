"""The embedding collections of a model, and how messages name them and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, Iterable, List

from torchrec.distributed.types import ShardedModule
from torchrec.modules.embedding_modules import (
    EmbeddingBagCollectionInterface,
    EmbeddingCollectionInterface,
)
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
from torchrec.modules.mc_embedding_modules import BaseManagedCollisionEmbeddingCollection

from ..errors import InvalidInputError

COLLECTIONS = (EmbeddingBagCollectionInterface, EmbeddingCollectionInterface)


def collections_of(model: Any) -> Dict[str, Any]:
    """{dotted name: collection}, by name "" when the model itself is one.

    A FeatureProcessedEmbeddingBagCollection, and one with managed collisions, stands for the
    collection in it, by its own name: TorchRec shards the two together. Raises InvalidInputError
    where there are none.
    """
    modules = model if isinstance(model, Mapping) else dict(model.named_modules())
    found: Dict[str, Any] = {}
    inner = set()
    for name, module in modules.items():
        if isinstance(module, BaseManagedCollisionEmbeddingCollection):
            found[name] = module._embedding_module
            inner.add(id(module._embedding_module))
        elif isinstance(module, FeatureProcessedEmbeddingBagCollection):
            found[name] = module._embedding_bag_collection
            inner.add(id(module._embedding_bag_collection))
        elif isinstance(module, COLLECTIONS) and id(module) not in inner:
            found[name] = module
        elif isinstance(model, Mapping):
            raise InvalidInputError(f"{module_words(name)}: found {type(module).__name__}, "
                                    "expected an "
                                    "EmbeddingBagCollection or EmbeddingCollection")
    if not found:
        if any(isinstance(module, ShardedModule) for module in modules.values()):
            raise InvalidInputError(f"found {type(model).__name__} sharded already, expected the model as "
                                    "it was before DistributedModelParallel, which changes it")
        raise InvalidInputError(f"found neither EmbeddingBagCollection nor EmbeddingCollection in "
                                f"{type(model).__name__}, expected some")
    return found


def remapped_tables(model: Any) -> Dict[str, str]:
    """{table: name of its module} of those whose ids are remapped: TorchRec shards what remaps them by
    rows over all ranks, and so the table."""
    modules = model if isinstance(model, Mapping) else dict(model.named_modules())
    return {config.name: name for name, module in modules.items()
            if isinstance(module, BaseManagedCollisionEmbeddingCollection)
            for config in configs_of(module._embedding_module)}


def is_pooled(collection: Any) -> bool:
    return isinstance(collection, EmbeddingBagCollectionInterface)


def configs_of(collection: Any) -> List[Any]:
    return list(collection.embedding_bag_configs() if is_pooled(collection)
                else collection.embedding_configs())


def module_words(name: str) -> str:
    return f"module {name!r}" if name else "the model itself"


def table_words(table: str, module: str) -> str:
    return f"table {table!r} of {module_words(module)}"


def listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(repr(name) for name in ordered[:10]) + (", .." if len(ordered) > 10 else "")
