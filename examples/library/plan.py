#!/usr/bin/env python3
"""Plans embedding tables from Python, through libengine's C interface and nothing but ctypes.

usage: plan.py LIBENGINE.so TABLES.json DEVICES BYTES_PER_DEVICE ALGORITHM
"""
import ctypes
import sys


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Cluster(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("memory_bytes", ctypes.c_int64),
                ("devices", ctypes.c_int32), ("devices_per_host", ctypes.c_int32),
                ("host_memory_bytes", ctypes.c_int64), ("buffers", ctypes.c_int32),
                ("reserved", ctypes.c_int32)]


class PlanOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("algorithm", Text),
                ("seed", ctypes.c_uint64), ("time_limit_s", ctypes.c_double),
                ("evaluations", ctypes.c_int64), ("threads", ctypes.c_int32),
                ("row_splits", ctypes.c_int32), ("progress", ctypes.c_void_p),
                ("progress_user_data", ctypes.c_void_p), ("cancellation", ctypes.c_void_p),
                ("data_parallel", ctypes.c_int32), ("equal_columns", ctypes.c_int32),
                ("target", Text)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("batch_size", ctypes.c_int64),
                ("cost_ms", ctypes.c_double), ("shard_count", ctypes.c_size_t),
                ("device_cost_count", ctypes.c_size_t), ("devices", ctypes.c_int32),
                ("stopped_early", ctypes.c_int32), ("algorithm", Text),
                ("seed", ctypes.c_uint64), ("evaluations", ctypes.c_int64),
                ("search_s", ctypes.c_double)]


class Shard(ctypes.Structure):
    _fields_ = [("row_begin", ctypes.c_int64), ("row_end", ctypes.c_int64),
                ("column_begin", ctypes.c_int32), ("column_end", ctypes.c_int32),
                ("table", ctypes.c_int32), ("device", ctypes.c_int32),
                ("kernel", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("cache_load_factor", ctypes.c_double)]


class Engine:
    """The C functions, with failures as exceptions."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.neuroshard_error_create.restype = ctypes.c_void_p
        self.library.neuroshard_error_message.restype = Text
        self.error = ctypes.c_void_p(self.library.neuroshard_error_create())

    def call(self, name, *arguments):
        if getattr(self.library, "neuroshard_" + name)(*arguments, self.error) != 0:
            message = self.library.neuroshard_error_message(self.error)
            raise RuntimeError(ctypes.string_at(message.data, message.size).decode())

    def make(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def destroy(self, kind, handle):
        getattr(self.library, f"neuroshard_{kind}_destroy")(handle)


def text(words):
    data = words.encode()
    return Text(data, len(data))


def main(library, tables, devices, memory, algorithm):
    engine = Engine(library)
    models = engine.make("cost_models_shipped", text(""))
    planner = engine.make("planner_create", models, None)
    workload = engine.make("workload_read_file", text(tables), ctypes.c_int64(0))
    cluster = Cluster(struct_size=ctypes.sizeof(Cluster), memory_bytes=memory, devices=devices)
    options = PlanOptions(struct_size=ctypes.sizeof(PlanOptions), algorithm=text(algorithm))
    plan = engine.make("planner_plan", planner, workload, ctypes.byref(cluster),
                       ctypes.byref(options))
    info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
    engine.call("plan_get_info", plan, ctypes.byref(info))
    shards = (Shard * info.shard_count)()
    engine.call("plan_get_shards", plan, shards, ctypes.c_size_t(info.shard_count))
    print(f"plan cost {info.cost_ms:.3f} ms, {info.shard_count} shards")
    for shard in shards:
        print(f"table {shard.table}: rows {shard.row_begin}..{shard.row_end}, "
              f"columns {shard.column_begin}..{shard.column_end} on device {shard.device}")
    for kind, handle in [("plan", plan), ("workload", workload), ("planner", planner),
                         ("cost_models", models), ("error", engine.error)]:
        engine.destroy(kind, handle)


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    except (OSError, RuntimeError) as failure:
        sys.exit(f"plan.py: {failure}")
