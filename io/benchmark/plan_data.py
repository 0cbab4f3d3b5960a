"""Shards of tables and a batch of lookups, as the script beside it runs them."""

import json
import os

import numpy
import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Lookups:
    """The tables, and a batch of lookups into them."""

    def __init__(self):
        with open(os.path.join(FOLDER, "benchmark.json"), encoding="utf-8") as file:
            self.file = json.load(file)
        self.batch, self.tables = self.file["batch_size"], self.file["tables"]
        self.indices, self.offsets = (numpy.load(os.path.join(FOLDER, "indices", name), mmap_mode="r")
                                      for name in ("indices.npy", "offsets.npy"))

    def kind(self, shard):
        """Shards alike in these are one fused lookup."""
        table = self.tables[shard["table"]]
        return table["data_type"], table["optimizer"], shard["kernel"], shard.get("load_factor", 0.2)

    def lookups(self, table, rows, samples, device="cpu"):
        """Those of some samples that are in the rows, which count from 0 then: indices, lengths of bags."""
        first = table * self.batch
        offsets = torch.from_numpy(self.offsets[first + samples[0]:first + samples[1] + 1].copy())
        indices = torch.from_numpy(self.indices[offsets[0]:offsets[-1]].copy()).to(device)
        lengths = offsets.diff().to(device)
        here = (indices >= rows[0]) & (indices < rows[1])
        if not here.all():
            bags = torch.repeat_interleave(torch.arange(len(lengths), device=device), lengths)[here]
            lengths, indices = torch.bincount(bags, minlength=len(lengths)), indices[here]
        return indices - rows[0], lengths

    def batch_of(self, shards, samples, device):
        """Indices and offsets as fused lookups take them, one shard after the other."""
        found = [self.lookups(s["table"], s["rows"], samples, device) for s in shards]
        lengths = torch.cat([lengths for _, lengths in found])
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64, device=device), lengths.cumsum(0)])
        return torch.cat([indices for indices, _ in found]), offsets


class Plan(Lookups):
    """Shards by rank, in the order of their outputs, and the lookups that they need."""

    def __init__(self):
        super().__init__()
        self.ranks, shards = self.file["ranks"], self.file["shards"]
        self.held = [sorted((s for s in shards if s["rank"] == rank), key=self.kind)
                     for rank in range(self.ranks)]
        self.replicas = sorted((s for s in shards if s["rank"] == "all"), key=self.kind)
        self.begin = [0]  # of each table's columns among all
        for table in self.tables:
            self.begin.append(self.begin[-1] + table["dim"])

    def samples(self, rank):
        return self.batch * rank // self.ranks, self.batch * (rank + 1) // self.ranks

    def columns(self, shards):
        """Where in a sample's row of all tables the outputs of these shards belong."""
        return torch.cat([torch.zeros(0, dtype=torch.int64)] + [
            self.begin[s["table"]] + torch.arange(*s["columns"]) for s in shards])

    # What a check holds against what ranks do. Weights and gradients are whole numbers, so all sums are exact.

    def weights(self, shard, rows):
        """Of a shard's columns, before the step."""
        return whole_numbers(rows, torch.arange(*shard["columns"]), shard["table"])

    def gradients(self, samples):
        """Of the outputs of all tables."""
        return whole_numbers(samples, torch.arange(self.begin[-1]), 0)

    def whole_outputs(self, table, samples):
        """What these samples look up in a table that nobody has divided."""
        indices, lengths = self.lookups(table, (0, self.tables[table]["rows"]), samples)
        rows, places = torch.cat([torch.zeros(1, dtype=torch.int64), indices]).unique(return_inverse=True)
        weights = whole_numbers(rows, torch.arange(self.tables[table]["dim"]), table)
        return torch.nn.functional.embedding_bag(places[1:], weights, lengths.cumsum(0) - lengths, mode="sum")

    def updated_weights(self, shard):
        """After a step of plain gradient descent at a rate of 1."""
        indices, lengths = self.lookups(shard["table"], shard["rows"], (0, self.batch))
        samples = torch.repeat_interleave(torch.arange(self.batch), lengths)
        columns = self.begin[shard["table"]] + torch.arange(*shard["columns"])
        return self.weights(shard, torch.arange(*shard["rows"])).index_add(
            0, indices, whole_numbers(samples, columns, 0), alpha=-1)


def whole_numbers(rows, columns, salt):
    """From -5 to 5: sums of them are exact. Weights of a table, gradients of the samples."""
    return ((rows[:, None] * 7 + columns[None, :] * 3 + salt * 5) % 11 - 5).float()
