#!/usr/bin/env python3
"""Runs and times the embedding part of a sharding plan. Needs torch and fbgemm_gpu, and no engine.

    python run_plan.py                          all ranks on this machine: GPUs with NCCL, else the CPU
    torchrun --nproc-per-node N .. run_plan.py  on several machines
    python run_plan.py --check                  holds outputs and updates against tables that are whole

Plan and lookups are in the folder of this file: benchmark.json, and indices/ with a batch that follows
the tables' own statistics. Rank 0 prints JSON: medians of each phase and rank, in milliseconds. Ranks
meet before each exchange; how long they wait there is a phase of its own ("wait").
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from itertools import groupby

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from fbgemm_gpu.split_table_batched_embeddings_ops_training import DenseTableBatchedEmbeddingBagsCodegen

from fused_lookup import TYPES, fused_lookup, refusal_on_cpu
from plan_data import Plan


class Rank:
    """What one rank does in a step."""

    def __init__(self, plan, rank, device, check):
        self.plan, self.rank, self.device, self.check, self.spent = plan, rank, device, check, {}
        on_cpu, rate = device.type == "cpu", 1.0 if check else 0.01
        self.shards, self.samples, self.lookups = plan.held[rank], plan.samples(rank), []
        for kind, group in groupby(self.shards, plan.kind):
            group = list(group)
            self.lookups.append((group, fused_lookup(group, kind, device, rate),
                                 plan.batch_of(group, (0, plan.batch), device)))
        self.replicas, self.rate = [], rate
        for kind, group in groupby(plan.replicas, plan.kind):
            group = list(group)
            dense = DenseTableBatchedEmbeddingBagsCodegen(
                [tuple(plan.tables[s["table"]][key] for key in ("rows", "dim")) for s in group],
                use_cpu=on_cpu, weights_precision=TYPES[kind[0]][1])
            self.replicas.append((group, dense, plan.batch_of(group, self.samples, device)))
        for group, module, _ in self.lookups + self.replicas:
            for shard, weights in zip(group, module.split_embedding_weights()):
                self.fill(shard, weights)
        wide = [len(plan.columns(held)) for held in plan.held]
        count = [end - begin for begin, end in map(plan.samples, range(plan.ranks))]
        self.sent = [samples * wide[rank] for samples in count]  # to each rank; as gradients, from each
        self.received = [count[rank] * columns for columns in wide]
        self.places = plan.columns([s for held in plan.held for s in held]).to(device)
        self.own_places = plan.columns([s for group, _, _ in self.replicas for s in group]).to(device)
        self.dense = torch.nn.Linear(plan.begin[-1], 64).to(device)

    def fill(self, shard, weights):
        if not self.check:
            weights.detach().uniform_(-0.01, 0.01)
            return
        for first in range(0, len(weights), 1 << 16):
            rows = torch.arange(first, min(first + (1 << 16), len(weights))) + shard["rows"][0]
            weights.detach()[rows - shard["rows"][0]] = self.plan.weights(shard, rows).to(weights)

    def ended(self, phase):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        self.spent[phase] = self.spent.get(phase, 0) + 1e3 * (now - self.since)
        self.since = now

    def exchange(self, phase, values, sent, received, data_type):
        """An all-to-all, begun when all ranks are there."""
        dist.barrier()
        self.ended("wait")
        arrived = torch.empty(sum(received), dtype=TYPES[data_type][0], device=self.device)
        all_to_all(arrived, values.to(arrived.dtype), received, sent)
        arrived = arrived.float()
        self.ended(phase)
        return arrived

    def step(self):
        plan, formats, self.since = self.plan, self.plan.file["exchange"], time.perf_counter()
        if self.check:
            formats = {"forward": "fp32", "backward": "fp32"}  # whole numbers stay so
        count = self.samples[1] - self.samples[0]
        pooled = [fused(*batch).float() for _, fused, batch in self.lookups]
        own = [dense(*batch).float() for _, dense, batch in self.replicas]
        outputs = [out.detach() for out in pooled] or [torch.zeros(plan.batch, 0, device=self.device)]
        outputs = torch.cat(outputs, 1).flatten()
        self.ended("lookup")
        arrived = self.exchange("forward_exchange", outputs, self.sent, self.received, formats["forward"])
        arrived.requires_grad_()
        local = [out.detach().requires_grad_() for out in own]
        blocks = torch.cat([block.view(count, -1) if block.numel() else block.view(count, 0)
                            for block in arrived.split(self.received)] + local, 1)
        places = torch.cat([self.places, self.own_places])
        features = torch.zeros(count, plan.begin[-1], device=self.device).index_add(1, places, blocks)
        if self.check:
            (features * plan.gradients(torch.arange(*self.samples)).to(self.device)).sum().backward()
        else:
            self.dense(features).relu().mean().backward()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        time.sleep(max(0.0, plan.file["dense_ms"] / 1e3 - (time.perf_counter() - self.since)))
        self.ended("dense")
        back = self.exchange("backward_exchange", arrived.grad, self.received, self.sent,
                             formats["backward"]).view(plan.batch, -1 if outputs.numel() else 0)
        for out, part in zip(pooled, back.split([out.shape[1] for out in pooled], 1)):
            out.backward(part.contiguous())
        for out, leaf in zip(own, local):
            out.backward(leaf.grad)
        self.ended("backward")
        for _, dense, _ in self.replicas:
            dist.barrier()
            self.ended("wait")
            dist.all_reduce(dense.weights.grad)
            self.ended("replica_all_reduce")
            dense.weights.data.sub_(dense.weights.grad, alpha=self.rate)
            dense.weights.grad = None
            self.ended("backward")
        return features.detach()

    def check_step(self):
        """Raises where outputs are not those of whole tables, or weights were not updated as theirs."""
        plan, features = self.plan, self.step().cpu()
        for index in range(len(plan.tables)):
            found = features[:, plan.begin[index]:plan.begin[index + 1]]
            if not torch.equal(found, plan.whole_outputs(index, self.samples)):
                raise AssertionError(f"rank {self.rank}: outputs of table {index} are others")
        for _, fused, _ in self.lookups:
            fused.flush()  # rows of caches, to the host memory that they are of
        for group, module, _ in self.lookups + self.replicas:
            for shard, weights in zip(group, module.split_embedding_weights()):
                table = plan.tables[shard["table"]]
                if table["data_type"] != "fp32" or (shard["rank"] != "all" and table["optimizer"] != "sgd"):
                    continue  # not in whole numbers
                if not torch.equal(weights.detach().cpu(), plan.updated_weights(shard)):
                    raise AssertionError(f"rank {self.rank}: weights of {shard} were updated otherwise")


def all_to_all(arrived, values, received, sent):
    """In pieces to and from each rank, where the backend has nothing of its own."""
    try:
        dist.all_to_all_single(arrived, values, received, sent)
    except RuntimeError as error:
        if "support" not in str(error):
            raise
        mine, to, parts = dist.get_rank(), values.split(sent), arrived.split(received)
        parts[mine].copy_(to[mine])
        asked = [ask(piece, rank) for rank in range(len(to)) if rank != mine for ask, piece in
                 ((dist.isend, to[rank]), (dist.irecv, parts[rank])) if piece.numel()]
        for request in asked:
            request.wait()


def run(rank, options, rendezvous):
    """One rank, from its beginning to its end."""
    # FBGEMM's dense lookups on a CPU have a gradient, but say that they might not; --check looks at it.
    warnings.filterwarnings("ignore", message=".*an autograd kernel was not registered.*")
    plan, on_gpu = Plan(), options.device == "cuda"
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank))) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(options.threads)
    dist.init_process_group("nccl" if on_gpu else "gloo", init_method=rendezvous, rank=rank,
                            world_size=plan.ranks)
    here = Rank(plan, rank, device, options.check)
    if options.check:
        here.check_step()
        dist.barrier()
        report = {"check": "outputs and updates are those of whole tables", "ranks": plan.ranks}
    else:
        steps = []
        for step in range(options.warmup + options.steps):
            here.spent = {}
            here.step()
            steps += [dict(here.spent)] if step >= options.warmup else []
        mine, everyone = {p: statistics.median(s[p] for s in steps) for p in steps[0]}, [None] * plan.ranks
        mine["step"] = statistics.median(sum(s.values()) for s in steps)
        dist.all_gather_object(everyone, mine)
        report = {"device": torch.cuda.get_device_name() if on_gpu else "cpu", "torch": torch.__version__,
                  "threads": 0 if on_gpu else options.threads, "steps": options.steps,
                  "median_ms": {phase: [round(ms[phase], 4) for ms in everyone] for phase in mine},
                  "predicted": plan.file["predicted"]}
    if rank == 0:
        print(json.dumps(report, indent=1), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there are GPUs")
    parser.add_argument("--warmup", type=int, default=5, help="steps before those that count; default 5")
    parser.add_argument("--steps", type=int, default=20, help="steps that count; default 20")
    parser.add_argument("--threads", type=int, help="of each rank on the CPU; default: cores / ranks")
    parser.add_argument("--check", action="store_true", help="one step, held against whole tables")
    options, plan = parser.parse_args(), Plan()
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    options.threads = options.threads or max(1, (os.cpu_count() or 1) // plan.ranks)
    launched = "RANK" in os.environ
    if launched and int(os.environ["WORLD_SIZE"]) != plan.ranks:
        sys.exit(f"found {os.environ['WORLD_SIZE']} processes, expected the plan's {plan.ranks} ranks")
    if options.device == "cuda" and not launched and torch.cuda.device_count() < plan.ranks:
        sys.exit(f"found {torch.cuda.device_count()} GPUs, expected one for each of {plan.ranks} ranks "
                 "(or torchrun on several machines, or --device cpu)")
    if options.steps < 1 or options.warmup < 0:
        sys.exit("found --steps below 1 or --warmup below 0")
    refused = refusal_on_cpu(plan.tables) if options.device == "cpu" else None
    if refused:
        sys.exit(refused)
    if launched:
        run(int(os.environ["RANK"]), options, "env://")
        return
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(run, args=(options, f"file://{folder}/ranks"), nprocs=plan.ranks)


if __name__ == "__main__":
    main()
