"""Runs scripts of released research code, DreamShard's, AutoShard's and SurCo's, each in a process of its own.

They are not changed. What they lack here is put into the modules that they import: where they measure on GPUs, the
engine's simulator answers. Used by released_policies.py.
"""

import concurrent.futures
import json
import multiprocessing
import os
import resource
import runpy
import sys
import time
from unittest import mock

import policy_study

SCIP_S = 1  # of an integer program of SurCo's
# The released code counts FP16 weights in units of 2^30 bytes, and takes whole numbers of them. No task comes near.
RELEASED_MEMORY = str(int(80e9 / 2**31))
BATCH = 65536
CALLS = []  # of the evaluation by a released script: plans, and moments


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_tables(path, configs, whole=False):
    """The released code's tables as a table file of the engine."""
    tables = [{"name": f"t{number}", "rows": each["row"], "dim": each["dim"],
               "pooling_factor": each["pooling_factor"], "reuse_histogram": [each[f"bin_{k}"] for k in range(17)],
               **({"sharding": ["whole"]} if whole else {})} for number, each in enumerate(configs)]
    return write_json(path, {"format": "neuroshard-tables", "version": 1, "batch_size": BATCH, "tables": tables})


def write_plan(path, configs, devices, places):
    shards = [{"table": number, "rows": [0, each["row"]], "columns": [0, each["dim"]], "device": places[number]}
              for number, each in enumerate(configs)]
    return write_json(path, {"format": "neuroshard-plan", "version": 1, "devices": devices, "batch_size": BATCH,
                             "shards": shards})


def simulate(options, tables, plan):
    return json.loads(policy_study.run([options.command, "measure", "--backend", "sim", "--profile", options.profile,
                                        "--tables", tables, "--plan", plan, "--output", "-"]))


# What runs in processes of their own, beside the released code.


class SimulatedEvaluator:
    """Stands for that of DreamShard and SurCo, which runs plans on GPUs."""

    options, recording = None, False

    def __init__(self, data_dir, task_path, gpu_devices, *_):
        configs = read_json(os.path.join(data_dir, "table_configs.json"))["tables"]
        with open(task_path, encoding="utf-8") as file:
            self.tasks = [[configs[int(number)] for number in line.split(",")] for line in file]
        self.devices = len(gpu_devices.split(","))

    def evaluate(self, task, places):
        import numpy
        if self.recording:
            CALLS.append((places, time.perf_counter()))
            return 0.0, None
        configs = self.tasks[task]
        found = simulate(self.options, write_tables("measured.json", configs),
                         write_plan("measured_plan.json", configs, self.devices, places))
        # Its columns are lookups, exchange, exchange back, and lookups back. The simulator says the compute of both
        # lookups together; backward reads and writes, so that a third and two thirds of it are taken. The first
        # exchange also has the waiting for slower devices.
        rows = [(each["compute_ms"] / 3, each["forward_comm_ms"], each["backward_comm_ms"],
                 each["compute_ms"] * 2 / 3) for each in found["per_device"]]
        return found["cost_ms"], numpy.array(rows)

    def terminate(self):
        pass


def adapt_autoshard(options, recording):
    import torch
    # It imports FBGEMM's GPU operators to measure: nothing stands for them.
    sys.modules["fbgemm_gpu"] = sys.modules["fbgemm_gpu.split_embedding_configs"] = mock.MagicMock()
    from autoshard import bench

    def single_step(self, numbers):
        """Of one device: its compute alone, as the released code measures."""
        configs = [self.table_configs[number] for number in numbers]
        tables = write_tables(f"measured{os.getpid()}.json", configs)
        plan = write_plan(f"measured_plan{os.getpid()}.json", configs, 1, [0] * len(configs))
        return simulate(options, tables, plan)["per_device"][0]["compute_ms"] if configs else 0

    def step(self, plan):
        places = {number: device for device, shard in enumerate(plan) for number in shard}
        CALLS.append(([places[number] for number in range(self.num_tables)], time.perf_counter()))
        return [1.0] * self.ndevices
    bench.Env.single_step = single_step
    if recording:
        bench.Env.step = step
    bench.GymWrapper.seed = lambda self, seed: None  # gym has no longer a seed() of its own
    load = torch.load
    torch.load = lambda *args, **kwargs: load(*args, **{"weights_only": False, **kwargs})  # its files hold more
    nothing = [None] * len(read_json("table_configs.json")["tables"])
    torch.save({"lS_offsets": nothing, "lS_indices": nothing}, "data.pt")  # lookups, which GPUs alone would do


def adapt_surco(repaired):
    import cvxpy
    import cvxpylayers.torch
    layer, solve = cvxpylayers.torch.CvxpyLayer, cvxpy.Problem.solve

    class Layer:
        """The released code names a parameter that its problem has not, which cvxpylayers refuses: without that."""

        def __init__(self, problem, parameters, variables):
            known = {each.id for each in problem.parameters()}
            self.used = [each.id in known for each in parameters]
            self.layer = layer(problem, [each for each, used in zip(parameters, self.used) if used], variables)

        def __call__(self, *values):
            return self.layer(*[each for each, used in zip(values, self.used) if used])
    cvxpylayers.torch.CvxpyLayer = Layer
    # SCIP takes 10 s for some integer programs, and a training has 100: they end with the best of SCIP_S.
    cvxpy.Problem.solve = lambda self, *_, **__: solve(self, solver="SCIP", scip_params={"limits/time": SCIP_S})
    if not repaired:
        return
    # Its steps on the fly round without a gradient, so that the costs stay as drawn: this lets the gradient through.
    import torch
    argmax, one_hot, seen = torch.argmax, torch.nn.functional.one_hot, []

    def seen_argmax(values, **kwargs):
        seen.append(values)
        return argmax(values, **kwargs)

    def passing(index, num_classes):
        return one_hot(index, num_classes) + seen[-1] - seen[-1].detach()
    torch.argmax, torch.nn.functional.one_hot = seen_argmax, passing


def run_released(options, root, folder, arguments, seed, repaired):
    """Runs a released script to its end: the plans that it evaluated, if it does, and seconds of CPU time."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.path.insert(0, root)
    import numpy
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    numpy.random.seed(seed)
    recording = arguments[0] == "eval.py"
    if os.path.isdir(os.path.join(root, "autoshard")):
        adapt_autoshard(options, recording)
    else:
        from dreamshard import multi_gpu_bench_interface
        SimulatedEvaluator.options, SimulatedEvaluator.recording = options, recording
        multi_gpu_bench_interface.Evaluator = SimulatedEvaluator
    if os.path.basename(root) == "table_sharding":
        adapt_surco(repaired)
    sys.argv = arguments
    before, began = time.process_time(), time.perf_counter()
    runpy.run_path(os.path.join(root, arguments[0]), run_name="__main__")
    own = time.process_time() - before
    for each in multiprocessing.active_children():
        each.join()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    moments = [began] + [moment for _, moment in CALLS]
    return {"plans": [places for places, _ in CALLS], "cpu_s": own,
            "children_cpu_s": children.ru_utime + children.ru_stime,
            "seconds": [then - now for now, then in zip(moments, moments[1:])]}


class Released:
    """A checkout, the data of its scripts, and a folder for what they write."""

    def __init__(self, options, root, data, folder, *flags):
        self.options, self.root, self.data, self.folder = options, root, data, folder
        self.flags = ["--data-dir", data, "--max-memory", RELEASED_MEMORY, *flags]

    def run(self, script, *flags, seed=0, repaired=False):
        """Of run_released() in a fresh process, unless that has been done."""
        name = "_".join([script, *flags[:2], *(["repaired"] if repaired else [])]).replace("/", "_")
        done = os.path.join(self.folder, name + ".json")
        if not os.path.exists(done):
            context = multiprocessing.get_context("spawn")
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                write_json(done, pool.submit(run_released, self.options, self.root, self.folder,
                                             [script, *flags, *self.flags], seed, repaired).result())
        return read_json(done)

    def train(self, *flags, seed=0):
        return self.run("train.py", *flags, "--task-path", os.path.join(self.data, "train.txt"), seed=seed)

    def plans(self, *flags, repaired=False):
        return self.run("eval.py", *flags, "--task-path", os.path.join(self.data, "test.txt"), repaired=repaired)
