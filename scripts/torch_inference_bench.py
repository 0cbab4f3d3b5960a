#!/usr/bin/env python3
"""Cost-model inference here and in PyTorch, on the same weights, one thread each, in one run.

    torch_inference_bench.py --cost-model F --tables F --tasks F --devices N [--onnx]

F is a model file with fixed-devices-mlp networks. PyTorch's part is what a search in it does: for a
shard and the sums of all devices one eager call of the compute head, for a complete plan one of each
communication network. ONNX Runtime does the same with --onnx (needs onnx and onnxruntime). Ours is
build/release/bench/search_bench. Every figure is the median of several rounds."""
import argparse
import json
import re
import statistics
import struct
import subprocess
import sys
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


def nanoseconds(call, rounds=7, calls=2000):
    for _ in range(200):
        call()
    times = []
    for _ in range(rounds):
        begin = time.thread_time_ns()
        for _ in range(calls):
            call()
        times.append((time.thread_time_ns() - begin) / calls)
    return statistics.median(times)


def torch_calls(head, forward, backward, devices):
    sums, shard = torch.rand(devices, head[0].in_features), torch.rand(head[0].in_features)
    dims, both = torch.rand(1, devices), torch.rand(1, 2 * devices)

    def plan():
        backward(dims)
        forward(both)

    return {"place a shard": (lambda: head(sums + shard), devices), "cost a plan": (plan, 1)}


def onnx_calls(head, forward, backward, devices):
    import io

    import onnxruntime

    def session(model, inputs):
        file = io.BytesIO()
        torch.onnx.export(model, torch.rand(inputs), file, input_names=["x"], dynamo=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(file.getvalue(), options, ["CPUExecutionProvider"])

    width = head[0].in_features
    sums, shard = torch.rand(devices, width).numpy(), torch.rand(width).numpy()
    dims, both = torch.rand(1, devices).numpy(), torch.rand(1, 2 * devices).numpy()
    run_head, run_forward, run_backward = (
        session(model, shape)
        for model, shape in ((head, sums.shape), (forward, both.shape), (backward, dims.shape))
    )

    def plan():
        run_backward.run(None, {"x": dims})
        run_forward.run(None, {"x": both})

    return {
        "place a shard": (lambda: run_head.run(None, {"x": sums + shard}), devices),
        "cost a plan": (plan, 1),
    }


def ours(flags):
    """Of search_bench's last column, its fastest instruction set."""
    text = subprocess.run(
        ["build/release/bench/search_bench", "--cost-model", flags.cost_model, "--tables", flags.tables,
         "--tasks", flags.tasks, "--devices", str(flags.devices)],
        check=True, capture_output=True, text=True,
    ).stdout
    rows = {"place a shard": r"^place a shard .*", "cost a plan": r"^cost a plan, alone .*"}
    found = {}
    for name, pattern in rows.items():
        line = re.search(pattern, text, re.MULTILINE).group(0)
        found[name] = float(re.findall(r"([\d.]+) ns", line)[-1])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--cost-model", "--tables", "--tasks"):
        parser.add_argument(name, required=True)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--onnx", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of the ONNX export
    tensors = load(flags.cost_model)
    networks = [network(tensors, p) for p in ("compute.head.", "forward_comm.", "backward_comm.")]
    peers = {f"PyTorch {torch.__version__} eager": torch_calls}
    if flags.onnx:
        import onnxruntime

        peers[f"ONNX Runtime {onnxruntime.__version__}"] = onnx_calls
    here = ours(flags)
    with torch.inference_mode():
        for peer, make in peers.items():
            for name, (call, evaluations) in make(*networks, flags.devices).items():
                theirs = nanoseconds(call) / evaluations
                print(f"{name:14} {flags.devices} devices: here {here[name]:9.1f} ns, {peer} "
                      f"{theirs:9.1f} ns, ratio {theirs / here[name]:7.0f}")


if __name__ == "__main__":
    main()
