#!/usr/bin/env python3
"""Cost-model inference here and in PyTorch, on the same weights and the same core, in one run.

    torch_inference_bench.py --cost-model F --devices N [--onnx] [--rounds R] [--build DIR]

F is a model file with fixed-devices-mlp networks for N devices. PyTorch's part is what a search in it
does: for a shard and the sums of some devices one eager call of the compute head, for new shapes one of
the table encoder, for complete plans one of each communication network. ONNX Runtime does the same with
--onnx (needs onnx and onnxruntime). Ours is DIR/bench/search_bench. Both take turns for R rounds, CPU
time of one thread each; a ratio is the median over the rounds."""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import warnings

import torch

DTYPE = torch.float32


def load(path):
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPE)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def network(tensors, prefix):
    """The dense layers below `prefix`, ReLU between them."""
    layers = []
    for k in range(100):
        if f"{prefix}{k}.weight" not in tensors:
            break
        weight = tensors[f"{prefix}{k}.weight"]
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data.copy_(weight)
        layer.bias.data.copy_(tensors[f"{prefix}{k}.bias"])
        layers += [layer, torch.nn.ReLU()]
    if not layers:
        sys.exit(f"no tensors {prefix}K.weight: expected a model with fixed-devices-mlp networks")
    return torch.nn.Sequential(*layers[:-1])


# Questions by what search_bench calls them: network and rows a call.
def questions(devices):
    asked = {f"head: {name}": ("head", rows) for name, rows in (
        ("1 device", 1), ("2 devices of a move", 2), ("a shard against 4", 4), ("a shard against 8", 8),
        ("a shard against 128", 128))}
    for rows in (1, 66):
        asked[f"encoder: {rows} at a time"] = ("encoder", rows)
    for rows in (1, 11):
        asked[f"plan: {devices} devices, {rows} at a time"] = ("plan", rows)
    return asked


def nanoseconds(call, calls=1000):
    begin = time.thread_time_ns()
    for _ in range(calls):
        call()
    return (time.thread_time_ns() - begin) / calls


def torch_call(networks, kind, rows):
    inputs = {name: torch.rand(rows, net[0].in_features) for name, net in networks.items()}
    if kind == "plan":
        return lambda: (networks["backward"](inputs["backward"]), networks["forward"](inputs["forward"]))
    if kind == "head":
        shard = torch.rand(networks["head"][0].in_features)
        return lambda: networks["head"](inputs["head"] + shard)
    return lambda: networks[kind](inputs[kind])


def onnx_call(networks, kind, rows):
    import io

    import onnxruntime

    def session(model):
        file = io.BytesIO()
        x = torch.rand(rows, model[0].in_features)
        torch.onnx.export(model, x, file, input_names=["x"], dynamo=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(file.getvalue(), options, ["CPUExecutionProvider"]), x.numpy()

    if kind == "plan":
        parts = [session(networks[name]) for name in ("backward", "forward")]
        return lambda: [run.run(None, {"x": x}) for run, x in parts]
    run, x = session(networks[kind])
    if kind == "head":
        shard = torch.rand(x.shape[1]).numpy()
        return lambda: run.run(None, {"x": x + shard})
    return lambda: run.run(None, {"x": x})


def ours(flags):
    """Medians by name, of the instruction set that is taken unless told otherwise."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(
            [f"{flags.build}/bench/search_bench", "--cost-model", flags.cost_model, "--devices",
             str(flags.devices), "--operations", "--threads", "1", "--repeat", "5", "--json", file.name],
            check=True, stdout=subprocess.DEVNULL,
        )
        with open(file.name) as json_file:
            rows = json.load(json_file)["rows"]
    return {row["name"]: row["median"] for row in rows}  # the best instruction set comes last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cost-model", required=True)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default="build/release")
    flags = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of the ONNX export
    tensors = load(flags.cost_model)
    prefixes = {"head": "compute.head.", "encoder": "compute.table.", "forward": "forward_comm.",
                "backward": "backward_comm."}
    networks = {name: network(tensors, prefix) for name, prefix in prefixes.items()}
    peers = {f"PyTorch {torch.__version__} eager": torch_call}
    if flags.onnx:
        import onnxruntime

        peers[f"ONNX Runtime {onnxruntime.__version__}"] = onnx_call
    asked = questions(flags.devices)
    with torch.inference_mode():
        calls = {(name, peer): make(networks, *asked[name]) for name in asked for peer, make in peers.items()}
        for call in calls.values():
            nanoseconds(call, 200)
        rounds = []
        for _ in range(flags.rounds):
            here = ours(flags)
            rounds.append({key: (here[key[0]], nanoseconds(call) / asked[key[0]][1])
                           for key, call in calls.items()})
    for name, peer in calls:
        pairs = [found[name, peer] for found in rounds]
        ratios = [theirs / here for here, theirs in pairs]
        here, theirs = (statistics.median(values) for values in zip(*pairs))
        print(f"{name:32} here {here:8.1f} ns, {peer:26} {theirs:9.1f} ns, ratio "
              f"{statistics.median(ratios):6.0f} ({min(ratios):.0f}..{max(ratios):.0f})")


if __name__ == "__main__":
    main()
