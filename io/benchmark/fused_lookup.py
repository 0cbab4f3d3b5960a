"""FBGEMM's fused lookups of shards, as run_plan.py and run_sets.py make them."""

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)

TYPES = {"fp32": (torch.float32, SparseType.FP32), "fp16": (torch.float16, SparseType.FP16),
         "bf16": (torch.bfloat16, SparseType.BF16)}
OPTIMIZERS = {"sgd": EmbOptimType.EXACT_SGD, "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
              "adagrad": EmbOptimType.EXACT_ADAGRAD, "adam": EmbOptimType.ADAM, "lamb": EmbOptimType.LAMB,
              "partial_rowwise_adam": EmbOptimType.PARTIAL_ROWWISE_ADAM,
              "partial_rowwise_lamb": EmbOptimType.PARTIAL_ROWWISE_LAMB, "lars_sgd": EmbOptimType.LARS_SGD}
LOCATIONS = {"fused": EmbeddingLocation.DEVICE, "fused_uvm": EmbeddingLocation.MANAGED,
             "fused_uvm_caching": EmbeddingLocation.MANAGED_CACHING}
ON_CPU = ["sgd", "rowwise_adagrad", "adagrad"]  # what FBGEMM updates rows by there


def fused_lookup(shards, kind, device, rate):
    """Of shards that are all of that kind (Lookups.kind)."""
    data_type, optimizer, kernel, cached = kind
    place = ((EmbeddingLocation.HOST, ComputeDevice.CPU) if device.type == "cpu"
             else (LOCATIONS[kernel], ComputeDevice.CUDA))
    return SplitTableBatchedEmbeddingBagsCodegen(
        [(s["rows"][1] - s["rows"][0], s["columns"][1] - s["columns"][0], *place) for s in shards],
        optimizer=OPTIMIZERS[optimizer], weights_precision=TYPES[data_type][1], device=device,
        learning_rate=rate, cache_load_factor=cached, pooling_mode=PoolingMode.SUM)


def refusal_on_cpu(tables):
    """Why FBGEMM cannot run these tables on a CPU; None where it can."""
    for table in tables:
        if table["optimizer"] not in ON_CPU:
            return (f"{table['name']}: found the optimizer {table['optimizer']}, "
                    f"expected one of {', '.join(ON_CPU)} on a CPU")
    return None
