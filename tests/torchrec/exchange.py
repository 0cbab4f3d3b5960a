"""Whether costs of plans with an exchange in fewer bits are those of TorchRec's estimator with TorchRec's
qcomm registry, and whether qcomm_registry() makes one of every format.

    python tests/torchrec/exchange.py FOLDER
"""

import importlib.util
import json
import os
import random
import sys

import torch
from neuroshard_engine.torchrec import qcomm_registry
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fbgemm_qcomm_codec import (
    CommType,
    QCommsConfig,
    get_qcomm_codecs_registry,
)
from torchrec.distributed.types import CommOp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FORMATS = ["fp32", "fp16", "bf16", "fp8", "int8", "int8,bf16", "fp32,fp16"]
MEMORY = 1 << 40
# What TorchRec cannot add up in a reduce-scatter: the package's registry has these there.
SUMMED = {"int8": torch.float16}


def load(name, *path):
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, *path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_registry(path, ways):
    registry = qcomm_registry(path)
    if ways == ["fp32", "fp32"]:
        assert registry is None, registry
        return
    config = QCommsConfig(CommType(ways[0]), CommType(ways[1]), fp8_quantize_dim=128)
    theirs = get_qcomm_codecs_registry(config)
    assert set(registry) == set(theirs) == {op.name for op in (
        CommOp.POOLED_EMBEDDINGS_ALL_TO_ALL, CommOp.POOLED_EMBEDDINGS_REDUCE_SCATTER,
        CommOp.SEQUENCE_EMBEDDINGS_ALL_TO_ALL)}
    for name, codecs in registry.items():
        expected = theirs[name].forward.quantized_dtype
        if name == CommOp.POOLED_EMBEDDINGS_REDUCE_SCATTER.name:
            expected = SUMMED.get(ways[0], expected)
        assert codecs.forward.quantized_dtype == expected, (name, ways)


def main():
    study = load("torchrec_study", "scripts", "torchrec_study.py")
    formula = load("formula", "tests", "torchrec", "formula.py")
    random_tables = formula.random_tables
    path = os.path.join(sys.argv[1], "exchange.json")
    plan = os.path.join(sys.argv[1], "exchange-plan.json")
    kinds = random.Random(3)
    plans = 0
    for kind in ("plain", "sequences"):
        for devices in (4, 8, 16):
            tables = random_tables(kind, kinds)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": "neuroshard-tables", "version": 1, "batch_size": 4096,
                           "tables": tables}, file)
            for words in FORMATS:
                ways = (words.split(",") * 2)[:2]
                study.neuroshard("plan", "--tables", path, "--devices", devices, "--device-memory",
                                 MEMORY, "--cost-model", formula.MODEL, "--data-parallel", "on",
                                 "--evaluations", 5000, "--exchange", words, "--format", "torchrec",
                                 "--output", plan)
                own = json.loads(study.neuroshard(
                    "simulate", "--tables", path, "--plan", plan, "--device-memory", MEMORY,
                    "--cost-model", formula.MODEL, "--output", "-")[0])["cost_ms"]
                with open(plan, encoding="utf-8") as file:
                    written = json.load(file)
                check_registry(plan, ways)
                theirs = study.TorchRec(tables, 4096, devices, MEMORY, "all", 4)
                codecs = get_qcomm_codecs_registry(
                    QCommsConfig(CommType(ways[0]), CommType(ways[1])), device=torch.device("cuda"))
                sharder = (EmbeddingCollectionSharder if kind == "sequences"
                           else EmbeddingBagCollectionSharder)
                theirs.sharder = sharder(qcomm_codecs_registry=codecs)
                cost = theirs.cost(written)
                if not abs(own / cost - 1) < 1e-6:
                    raise AssertionError(f"{path}, {devices} devices, {words}: {own} ms, TorchRec "
                                         f"says {cost}")
                plans += 1
    print(f"torchrec-exchange: {plans} plans in {len(FORMATS)} formats cost what TorchRec says with its "
          "codecs")


if __name__ == "__main__":
    main()
