"""The structs of include/neuroshard/engine.h, field by field."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any


class Text(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""

    def text(self) -> str:
        return self.bytes().decode("utf-8", errors="replace")


class Table(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", Text), ("rows", c_int64), ("dim", c_int32),
                ("reserved", c_int32), ("pooling_factor", c_double), ("zipf_alpha", c_double),
                ("reuse_histogram", ctypes.POINTER(c_double)), ("reuse_histogram_size", c_size_t),
                ("data_type", Text), ("optimizer", Text), ("features", c_int32),
                ("weighted", c_int32), ("forbidden_sharding", c_uint32), ("min_columns", c_int32),
                ("devices", ctypes.POINTER(c_int32)), ("device_count", c_size_t),
                ("unpooled", c_int32), ("reserved_2", c_int32), ("forbidden_kernels", c_uint32),
                ("reserved_3", c_int32), ("cache_load_factor", c_double)]


class Bandwidths(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("device_gbps", c_double),
                ("intra_host_gbps", c_double), ("inter_host_gbps", c_double),
                ("host_memory_gbps", c_double), ("model", Text), ("cache_hits", Text)]


class CostModelsInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", Text), ("sha256", Text),
                ("compute_hardware", Text), ("communication_hardware", Text),
                ("min_batch_size", c_int64), ("max_batch_size", c_int64), ("devices", c_int32),
                ("simulated", c_int32), ("row_parts", c_int32), ("min_devices", c_int32),
                ("max_devices", c_int32), ("reserved", c_int32), ("dense_model", Text),
                ("dense_model_sha256", Text), ("dense_hardware", Text)]


class DenseModel(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("bytes", Text), ("source", Text), ("profile", Text)]


class Cluster(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("memory_bytes", c_int64), ("devices", c_int32),
                ("devices_per_host", c_int32), ("host_memory_bytes", c_int64),
                ("buffers", c_int32), ("reserved", c_int32), ("exchange_forward", c_int32),
                ("exchange_backward", c_int32)]


LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int32, Text)
ProgressFunction = ctypes.CFUNCTYPE(None, c_void_p, Text, c_int64, c_int64, Text)


class PlannerOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("log", LogFunction), ("log_user_data", c_void_p)]


class PlanOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("algorithm", Text), ("seed", c_uint64),
                ("time_limit_s", c_double), ("evaluations", c_int64), ("threads", c_int32),
                ("row_splits", c_int32), ("progress", ProgressFunction),
                ("progress_user_data", c_void_p), ("cancellation", c_void_p),
                ("data_parallel", c_int32), ("equal_columns", c_int32), ("target", Text),
                ("whole_tables", c_int32), ("reserved", c_int32), ("hot_rows", c_int32),
                ("reserved_2", c_int32), ("hot_memory_bytes", c_int64)]


class Shard(ctypes.Structure):
    _fields_ = [("row_begin", c_int64), ("row_end", c_int64), ("column_begin", c_int32),
                ("column_end", c_int32), ("table", c_int32), ("device", c_int32),
                ("kernel", c_int32), ("reserved", c_int32), ("cache_load_factor", c_double)]


class DeviceCost(ctypes.Structure):
    _fields_ = [("compute_ms", c_double), ("forward_comm_ms", c_double),
                ("backward_comm_ms", c_double), ("total_ms", c_double),
                ("memory_bytes", c_int64), ("dim_sum", c_int64), ("host_bytes", c_int64)]


class HotRows(ctypes.Structure):
    _fields_ = [("rows", c_int64), ("table", c_int32), ("reserved", c_int32)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("batch_size", c_int64), ("cost_ms", c_double),
                ("shard_count", c_size_t), ("device_cost_count", c_size_t), ("devices", c_int32),
                ("stopped_early", c_int32), ("algorithm", Text), ("seed", c_uint64),
                ("evaluations", c_int64), ("search_s", c_double), ("buffers", c_int32),
                ("reserved", c_int32), ("lower_bound_ms", c_double), ("skipped", Text),
                ("devices_per_host", c_int32), ("reserved_2", c_int32), ("memory_bytes", c_int64),
                ("host_memory_bytes", c_int64), ("cost_model", Text), ("cost_model_sha256", Text),
                ("device_gbps", c_double), ("intra_host_gbps", c_double),
                ("inter_host_gbps", c_double), ("host_memory_gbps", c_double),
                ("exchange_forward", c_int32), ("exchange_backward", c_int32),
                ("cache_hits", Text), ("hot_table_count", c_size_t), ("dense_model", Text),
                ("dense_model_sha256", Text), ("dense_hardware", Text)]


class RobustCost(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("cost_model", Text), ("cost_ms", c_double),
                ("best_ms", c_double), ("regret", c_double)]


class ExplainOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("tables", ctypes.POINTER(c_int32)),
                ("table_count", c_size_t), ("most", c_size_t), ("progress", ProgressFunction),
                ("progress_user_data", c_void_p), ("cancellation", c_void_p)]


class TableExplanation(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("table", c_int32), ("reserved", c_int32),
                ("shards", ctypes.POINTER(Shard)), ("shard_count", c_size_t),
                ("memory_bytes", c_int64), ("alone_ms", c_double), ("adds_ms", c_double),
                ("considered", c_int64), ("next_best", ctypes.POINTER(Shard)),
                ("next_best_count", c_size_t), ("next_best_ms", c_double)]


class ExportOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("module", Text), ("trainer_device", Text),
                ("memory_bytes", c_int64), ("devices_per_host", c_int32), ("reserved", c_int32)]


# Those that arrays are made of or that are passed by value have no struct_size: fixed for ever.
NAMES = {
    Text: "neuroshard_text", Table: "neuroshard_table",
    Bandwidths: "neuroshard_torchrec_bandwidths", CostModelsInfo: "neuroshard_cost_models_info",
    DenseModel: "neuroshard_dense_model", Cluster: "neuroshard_cluster", PlannerOptions: "neuroshard_planner_options",
    PlanOptions: "neuroshard_plan_options", Shard: "neuroshard_shard",
    DeviceCost: "neuroshard_device_cost", HotRows: "neuroshard_hot_rows",
    PlanInfo: "neuroshard_plan_info", RobustCost: "neuroshard_robust_cost",
    ExplainOptions: "neuroshard_explain_options",
    TableExplanation: "neuroshard_table_explanation", ExportOptions: "neuroshard_export_options",
}


def sized(struct: Any, **fields: Any) -> Any:
    """One of the structs with a struct_size: zero but for that and `fields`."""
    made = struct(struct_size=ctypes.sizeof(struct), **fields)
    return made


def text_of(words: bytes) -> Text:
    """REQUIRES that `words` outlives the struct that holds the result."""
    return Text(ctypes.cast(c_char_p(words), c_void_p), len(words))
