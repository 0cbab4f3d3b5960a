#!/usr/bin/env python3
"""Training of the paper's compute network in PyTorch eager beside bench/train_bench on the same
GPU, in one run: same data, first parameters, order of samples and loss; the losses of the first
epochs are compared before anything is timed.

    scripts/torch_training_bench.py [--bench build/gpu/bench/train_bench] [--device cuda] [--json F]

PyTorch's batches lie on the GPU before the clock starts, ours are put together on the CPU and copied
within the step: what is left out favours PyTorch. Ours is timed before and after PyTorch, and the
slower of the two counts. --device cpu (the CPU's backend against PyTorch on one thread) tries the
script where there is no GPU. Called by scripts/gpu.sh."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

try:
    import torch
except ImportError:
    print("skipped: python3 has no PyTorch")
    sys.exit(77)

BATCH = 512


def read(folder, name, dtype):
    with open(os.path.join(folder, name), "rb") as file:
        return torch.frombuffer(bytearray(file.read()), dtype=dtype)


def layers(sizes, last_relu):
    steps = []
    for k in range(len(sizes) - 1):
        steps.append(torch.nn.Linear(sizes[k], sizes[k + 1]))
        if last_relu or k + 2 < len(sizes):
            steps.append(torch.nn.ReLU())
    return torch.nn.Sequential(*steps)


class SetNetwork(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        sizes = [shape["inputs"]] + shape["encoder"]
        self.encoder = layers(sizes, True)
        self.head = layers([sizes[-1]] + shape["head"], False)
        self.width = sizes[-1]

    def forward(self, features, members, sets, count):
        sums = features.new_zeros(count, self.width)
        sums = sums.index_add(0, sets, self.encoder(features.index_select(0, members)))
        return self.head(sums).squeeze(1)


def load(folder, device):
    with open(os.path.join(folder, "training.json"), encoding="utf-8") as file:
        shape = json.load(file)
    model = SetNetwork(shape)
    values = read(folder, "parameters", torch.float32)
    with torch.no_grad():
        at = 0
        for parameter in model.parameters():
            parameter.copy_(values[at:at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
    assert at == values.numel(), "parameters do not match the network"
    features = read(folder, "features", torch.float32).view(-1, shape["inputs"]).to(device)
    offsets = read(folder, "offsets", torch.int64)
    members = read(folder, "members", torch.int32).long()
    targets = read(folder, "targets", torch.float32)
    order = read(folder, "order", torch.int32).long().view(len(shape["losses"]), -1)
    epochs = [[batch_of(ids, offsets, members, targets, device) for ids in epoch.split(BATCH)]
              for epoch in order]
    return shape, model.to(device), features, epochs


def batch_of(ids, offsets, members, targets, device):
    counts = offsets[ids + 1] - offsets[ids]
    sets = torch.repeat_interleave(torch.arange(len(ids)), counts)
    first = torch.repeat_interleave(offsets[ids] - (counts.cumsum(0) - counts), counts)
    here = members[first + torch.arange(int(counts.sum()))]
    return here.to(device), sets.to(device), targets[ids].to(device)


def train_epoch(model, features, optimizer, batches):
    """Sum of the batches' mean losses, left on the device."""
    total = torch.zeros((), device=features.device)
    for members, sets, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(features, members, sets, len(targets)), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(targets)
    return total


def check_losses(folder, device):
    """Worst relative difference of the epochs' mean losses."""
    shape, model, features, epochs = load(folder, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    worst = 0.0
    for expected, batches in zip(shape["losses"], epochs):
        samples = sum(len(targets) for _, _, targets in batches)
        found = train_epoch(model, features, optimizer, batches).item() / samples
        worst = max(worst, abs(found - expected) / abs(expected))
    return worst


def steps_per_second(folder, device, fused, seconds):
    _, model, features, epochs = load(folder, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    batches = epochs[0]

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    train_epoch(model, features, optimizer, batches)
    wait()
    best, ends = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < ends or best == 0.0:
        start = time.perf_counter()
        train_epoch(model, features, optimizer, batches)
        wait()
        best = max(best, len(batches) / (time.perf_counter() - start))
    return best


def run_ours(arguments, folder, export):
    report = os.path.join(folder, "ours.json")
    command = [arguments.bench, "--backend", arguments.device, "--samples", str(arguments.samples),
               "--epochs", str(arguments.epochs), "--json", report]
    if export:
        command += ["--export", folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        print(done.stdout.strip())
        sys.exit(done.returncode)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    speeds = {r["backend"]: r["steps_per_second"] for r in found["results"]
              if r["network"] == "compute"}
    return found, speeds


def parse():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Training beside PyTorch eager.")
    parser.add_argument("--bench", default=os.path.join(here, "../build/gpu/bench/train_bench"))
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--samples", type=int, default=51200)
    parser.add_argument("--epochs", type=int, default=3, help="of ours, each repeat")
    parser.add_argument("--seconds", type=float, default=5, help="of PyTorch, each optimizer")
    parser.add_argument("--json", help="write the figures to a file")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print(f"skipped: PyTorch {torch.__version__} sees no GPU")
        sys.exit(77)
    if arguments.device == "cpu":
        torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found, ours = run_ours(arguments, folder, True)
        worst = check_losses(folder, arguments.device)
        if not worst < 1e-3:
            print(f"losses differ by {100 * worst:.3f} %: nothing was timed")
            sys.exit(1)
        theirs = {name: steps_per_second(folder, arguments.device, fused, arguments.seconds)
                  for name, fused in (("pytorch", False), ("pytorch, fused Adam", True))}
        _, again = run_ours(arguments, folder, False)
    ours = {name: min(speed, again[name]) for name, speed in ours.items()}
    best = max(theirs.values())
    print(f"{found['hardware']}; PyTorch {torch.__version__} eager; compute network, batch {BATCH}")
    print(f"losses of 3 epochs agree within {100 * worst:.5f} %")
    print(f"{'':<22} {'steps/s':>10} {'x PyTorch':>10}")
    for name, speed in {**ours, **theirs}.items():
        print(f"{name:<22} {speed:10.0f} {speed / best:10.2f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"hardware": found["hardware"], "commit": found["commit"],
                       "pytorch": torch.__version__, "batch": BATCH, "loss_difference": worst,
                       "steps_per_second": {**ours, **theirs}}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
