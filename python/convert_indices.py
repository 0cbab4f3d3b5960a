#!/usr/bin/env python3
"""Turns lookups saved with torch.save into the NumPy arrays `neuroshard tables import` reads.

    python3 python/convert_indices.py fbgemm_t856_bs65536.pt lookups/
    neuroshard tables import --indices lookups --dim 128 --min-rows 100 --output my_tables.json

Takes the form of Meta's DLRM data sets (embedding_bag: indices, offsets and lengths as a tuple) and
that of the NeuroShard reference's data.pt ({"indices": [one a table], "offsets": [one a table]}).
Needs torch and numpy; the files are read with weights_only=True, so that they cannot run code.
"""

import argparse
import os
import sys

import numpy
import torch


def fail(message):
    sys.exit(f"convert_indices.py: {message}")


def vector(value, name):
    """A one-dimensional array of integers, without copying it."""
    if not isinstance(value, torch.Tensor) or value.dim() != 1 or value.is_floating_point():
        fail(f"{name}: expected a one-dimensional tensor of integers")
    return value.numpy()


def write(folder, name, array):
    numpy.save(os.path.join(folder, name), array)


def convert_data_set(data, folder):
    """(indices, offsets, lengths): as they are."""
    indices, offsets, lengths = data
    if not isinstance(lengths, torch.Tensor) or lengths.dim() != 2:
        fail("lengths: expected a tensor of tables x batch")
    indices, offsets = vector(indices, "indices"), vector(offsets, "offsets")
    if len(offsets) != lengths.numel() + 1:
        fail(f"offsets: found {len(offsets)} items, expected {lengths.numel() + 1}")
    write(folder, "indices.npy", indices.astype(numpy.int64, copy=False))
    write(folder, "offsets.npy", offsets.astype(numpy.int64, copy=False))
    write(folder, "lengths.npy", lengths.numpy().astype(numpy.int32))
    return len(indices), lengths.shape[0], lengths.shape[1]


def convert_reference(data, folder):
    """{"indices": [..], "offsets": [..]}, offsets of batch + 1 items from 0 in every table."""
    indices = [vector(t, f"indices[{i}]") for i, t in enumerate(data["indices"])]
    offsets = [vector(t, f"offsets[{i}]") for i, t in enumerate(data["offsets"])]
    if not indices or len(indices) != len(offsets):
        fail(f"found {len(indices)} tables of indices and {len(offsets)} of offsets")
    batch = len(offsets[0]) - 1
    for table, (rows, places) in enumerate(zip(indices, offsets)):
        if len(places) != batch + 1 or batch < 1 or places[0] != 0 or places[-1] != len(rows):
            fail(f"table {table}: offsets must be {batch + 1} items from 0 to its {len(rows)} indices")
    total = sum(len(rows) for rows in indices)
    # Written table by table, so that the lookups are in memory once.
    out = numpy.lib.format.open_memmap(
        os.path.join(folder, "indices.npy"), "w+", numpy.int64, (total,)) if total else None
    if out is None:
        write(folder, "indices.npy", numpy.zeros(0, numpy.int64))
    all_offsets = numpy.zeros(len(indices) * batch + 1, numpy.int64)
    begin = 0
    for table, (rows, places) in enumerate(zip(indices, offsets)):
        if len(rows):
            out[begin:begin + len(rows)] = rows
        all_offsets[table * batch + 1:(table + 1) * batch + 1] = places[1:] + begin
        begin += len(rows)
    if out is not None:
        out.flush()
    write(folder, "offsets.npy", all_offsets)
    write(folder, "lengths.npy",
          numpy.diff(all_offsets).reshape(len(indices), batch).astype(numpy.int32))
    return total, len(indices), batch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", help="a .pt file of one of the two forms")
    parser.add_argument("folder", help="where indices.npy, offsets.npy and lengths.npy go")
    arguments = parser.parse_args()
    try:
        data = torch.load(arguments.file, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever torch raises for files that are not its own
        fail(f"{arguments.file}: {str(error).splitlines()[0]}")
    os.makedirs(arguments.folder, exist_ok=True)
    if isinstance(data, (tuple, list)) and len(data) == 3:
        total, tables, batch = convert_data_set(data, arguments.folder)
    elif isinstance(data, dict) and {"indices", "offsets"} <= set(data):
        total, tables, batch = convert_reference(data, arguments.folder)
    else:
        fail(f"{arguments.file}: expected (indices, offsets, lengths) or a dictionary of "
             "indices and offsets")
    print(f"{total:,} lookups of {tables} tables, batch {batch:,}, in {arguments.folder}")


if __name__ == "__main__":
    main()
