#!/usr/bin/env python3
"""torch.nn.EmbeddingBag on cases of bench/gpu_lookup_bench.cpp: looped (one call a table) and fused
(one call for the concatenated tables of a dim), and, where fbgemm_gpu is installed, FBGEMM's lookup of
all tables in one call, which is TorchRec's. Forward ms and backward ms (EmbeddingBag: sparse gradients,
without an optimizer, less work than the fused update it stands beside; FBGEMM: exact SGD, the same
work), as eager PyTorch runs them and with the CPU's launches hidden, as they are there. The L2 is emptied by reads before every run, as there;
medians of event times. --device cpu --small tries the script where there is no
GPU; its times mean nothing. Called by scripts/gpu.sh."""
import argparse
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: python3 has no PyTorch")
    sys.exit(77)
try:
    import fbgemm_gpu
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation
    from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
        ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)
    HAS_FBGEMM = True
except ImportError:
    HAS_FBGEMM = False

DEVICE = "cuda"
FLUSH = None
HEAD_START_CYCLES = 6_000_000  # 3 ms: 32 calls and what they launch


class Clock:
    """What torch.cuda.Event does, for a device that has none."""

    def record(self):
        self.now = time.perf_counter()

    def elapsed_time(self, later):
        return 1000 * (later.now - self.now)


def mark():
    return torch.cuda.Event(enable_timing=True) if DEVICE == "cuda" else Clock()


def measure(work, bags, runs=10, warmup=3):
    """Medians: forward, backward, as eager runs them, then the same when the GPU waits for the CPU
    before each run, so that launches cost nothing."""
    medians = []
    gradient = torch.ones_like(work())
    for head_start in (False, True):
        times = []
        for run in range(runs + warmup):
            for bag in bags:
                bag.zero_grad(set_to_none=True)  # or sparse gradients of all runs would be kept
            FLUSH.sum()
            if head_start and DEVICE == "cuda":
                torch.cuda._sleep(HEAD_START_CYCLES)
            marks = [mark() for _ in range(3)]
            marks[0].record()
            out = work()
            marks[1].record()
            out.backward(gradient)
            marks[2].record()
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            if run >= warmup:
                times.append((marks[0].elapsed_time(marks[1]), marks[1].elapsed_time(marks[2])))
        medians += [statistics.median(t[k] for t in times) for k in range(2)]
    return medians


def batch_of(rows, pooling, batch):
    count = pooling * batch
    offsets = torch.arange(0, count, pooling, device=DEVICE)
    return torch.randint(rows, (count,), device=DEVICE), offsets


def looped(shapes, batch):
    bags = [torch.nn.EmbeddingBag(r, d, mode="sum", sparse=True, device=DEVICE) for r, d, _ in shapes]
    inputs = [batch_of(r, pooling, batch) for r, _, pooling in shapes]
    return measure(lambda: torch.cat([bag(i, o) for bag, (i, o) in zip(bags, inputs)], dim=1), bags)


def fused(shapes, batch):
    """Tables of equal dim are one table to PyTorch, their bags one batch."""
    calls = []
    for dim in sorted({dim for _, dim, _ in shapes}):
        group = [(rows, pooling) for rows, d, pooling in shapes if d == dim]
        bag = torch.nn.EmbeddingBag(sum(rows for rows, _ in group), dim, mode="sum", sparse=True,
                                    device=DEVICE)
        indices, offsets, first_row, first_lookup = [], [], 0, 0
        for rows, pooling in group:
            here, starts = batch_of(rows, pooling, batch)
            indices.append(here + first_row)
            offsets.append(starts + first_lookup)
            first_row += rows
            first_lookup += pooling * batch
        calls.append((bag, torch.cat(indices), torch.cat(offsets)))
    # Tables lie one after the other: [tables x batch, dim] is not yet a sample's row.
    bags = [bag for bag, _, _ in calls]
    if len(calls) == 1:
        bag, indices, offsets = calls[0]
        return measure(lambda: bag(indices, offsets), bags)
    return measure(lambda: torch.cat([bag(i, o).view(-1) for bag, i, o in calls]), bags)


def fbgemm(shapes, batch):
    place = ((EmbeddingLocation.DEVICE, ComputeDevice.CUDA) if DEVICE == "cuda"
             else (EmbeddingLocation.HOST, ComputeDevice.CPU))
    lookup = SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, dim, *place) for rows, dim, _ in shapes], optimizer=EmbOptimType.EXACT_SGD, learning_rate=0.01,
        device=torch.device(DEVICE))
    inputs = [batch_of(rows, pooling, batch) for rows, _, pooling in shapes]
    lengths = torch.cat([torch.full((batch,), pooling, device=DEVICE) for _, _, pooling in shapes])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64, device=DEVICE), lengths.cumsum(0)])
    indices = torch.cat([here for here, _ in inputs])
    return measure(lambda: lookup(indices, offsets), [lookup])


def report(name, method, shapes, batch):
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
    try:
        times = " ".join(f"{ms:9.4f}" for ms in method(shapes, batch))
        print(f"{name:<26} {method.__name__:<7} {times}", flush=True)
    except torch.OutOfMemoryError:
        print(f"{name:<26} {method.__name__:<7} out of memory", flush=True)


def mixed_tables():
    """As `32 mixed tables` of gpu_lookup_bench."""
    return [(1000 + t * t * 7919 % 999001, 4 << (t * 5 % 6), 1 + t * 7 % 40) for t in range(32)]


def main():
    global DEVICE, FLUSH
    parser = argparse.ArgumentParser(description="torch.nn.EmbeddingBag.")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--small", action="store_true", help="a hundredth of the batch")
    arguments = parser.parse_args()
    DEVICE = arguments.device
    if DEVICE == "cuda" and not torch.cuda.is_available():
        print(f"skipped: PyTorch {torch.__version__} sees no GPU")
        sys.exit(77)
    FLUSH = torch.zeros(64 << 20, device=DEVICE)
    share = 100 if arguments.small else 1
    batch, large, most = 8192 // share, 65536 // share, 1000000 // share
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU"
    beside = f", FBGEMM {fbgemm_gpu.__version__}" if HAS_FBGEMM else ""
    print(f"PyTorch {torch.__version__}{beside}, {name}")
    print(f"{'':<34} {'as it is':>19} {'launches hidden':>19}")
    print(f"{'case':<26} {'calls':<7} {'fwd ms':>9} {'bwd ms':>9} {'fwd ms':>9} {'bwd ms':>9}")
    cases = [(f"8 tables, D {dim}", [(most, dim, 20)] * 8, batch)
             for dim in (4, 8, 16, 32, 64, 128, 256, 512, 1024)]
    cases += [(f"FBGEMM's default, D {dim}", [(most // 10, dim, 20)] * 32, 512 // min(share, 8))
              for dim in (32, 128)]
    cases += [("one lookup a bag, D 128", [(most, 128, 1)] * 8, large),
              ("10 hot rows, D 128", [(10, 128, 20)] * 8, batch),
              ("32 mixed tables", mixed_tables(), batch)]
    for name, shapes, size in cases:
        for method in (looped, fused, fbgemm) if HAS_FBGEMM else (looped, fused):
            report(name, method, shapes, size)


if __name__ == "__main__":
    main()
