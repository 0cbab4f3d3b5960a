#!/usr/bin/env python3
"""torch.nn.EmbeddingBag on the cases of bench/gpu_lookup_bench.cpp: one call a table, and one fused
call on concatenated tables of equal dim. Forward ms and backward ms (sparse gradients, without an
optimizer: less work than the fused update it stands beside). The L2 is emptied before every run;
medians of event times. Called by scripts/gpu.sh."""
import random
import statistics

import torch

DEVICE = "cuda"
FLUSH = torch.empty(256 << 20, dtype=torch.int8, device=DEVICE)


def measure(work, runs=10, warmup=3):
    times = []
    for run in range(runs + warmup):
        FLUSH.zero_()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        marks[0].record()
        out = work()
        marks[1].record()
        out.backward(torch.ones_like(out))
        marks[2].record()
        torch.cuda.synchronize()
        if run >= warmup:
            times.append((marks[0].elapsed_time(marks[1]), marks[1].elapsed_time(marks[2])))
    return [statistics.median(t[k] for t in times) for k in range(2)]


def batch_of(rows, pooling, batch):
    count = pooling * batch
    offsets = torch.arange(0, count, pooling, device=DEVICE)
    return torch.randint(rows, (count,), device=DEVICE), offsets


def looped(shapes, batch):
    bags = [torch.nn.EmbeddingBag(r, d, mode="sum", sparse=True, device=DEVICE) for r, d, _ in shapes]
    inputs = [batch_of(r, pooling, batch) for r, _, pooling in shapes]
    return measure(lambda: torch.cat([bag(i, o) for bag, (i, o) in zip(bags, inputs)], dim=1))


def fused(shapes, batch):
    rows, dim, pooling = shapes[0]
    tables = len(shapes)
    bag = torch.nn.EmbeddingBag(rows * tables, dim, mode="sum", sparse=True, device=DEVICE)
    indices, offsets = batch_of(rows, pooling, batch * tables)
    indices += torch.arange(tables, device=DEVICE).repeat_interleave(batch * pooling) * rows
    return measure(lambda: bag(indices, offsets))


def report(name, method, shapes, batch):
    torch.cuda.empty_cache()
    try:
        forward, backward = method(shapes, batch)
        print(f"{name:<26} {method.__name__:<7} {forward:9.4f} {backward:9.4f}", flush=True)
    except torch.OutOfMemoryError:
        print(f"{name:<26} {method.__name__:<7} out of memory", flush=True)


def main():
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'case':<26} {'calls':<7} {'fwd ms':>9} {'bwd ms':>9}")
    for dim in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        for method in (looped, fused):
            report(f"8 tables, D {dim}", method, [(1000000, dim, 20)] * 8, 8192)
    for dim in (32, 128):
        for method in (looped, fused):
            report(f"FBGEMM's default, D {dim}", method, [(100000, dim, 20)] * 32, 512)
    draw = random.Random(1)
    mixed = [(draw.randint(1000, 1000000), 4 << draw.randrange(6), draw.randint(1, 40))
             for _ in range(32)]
    report("32 mixed tables", looped, mixed, 8192)


if __name__ == "__main__":
    main()
