"""make_plan(): the command's plan of a TorchRec model, with any of its flags, inside the trainer."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch.distributed as dist
from torchrec.distributed.collective_utils import invoke_on_rank_and_broadcast_result
from torchrec.distributed.comm import get_local_size
from torchrec.distributed.types import ShardingPlan

from .. import command as packaged
from .._arguments import Path
from .describe import save_tables
from .plan_files import load_plan, plan_of

logger = logging.getLogger("neuroshard_engine.torchrec")
HOSTS = "--devices-per-host"


def make_plan(model: Any, pooling_factors: Mapping[str, float], batch_size: int,
              device_memory: Any, flags: Sequence[str] = (), command: str = packaged.PATH,
              device: str = "cuda", buffers: str = "train_base", save_to: Optional[Path] = None,
              **described: Any) -> ShardingPlan:
    """The plan that `neuroshard plan` makes for the ranks there are, as DistributedModelParallel's
    argument `plan` takes it.

    A collective call: the first rank saves the tables, as save_tables() does (`described`: its other
    arguments), runs the command with `flags` on top (["--cost-model", "torchrec"], say) and holds the
    plan against the model and the hosts, as load_plan() does; all ranks get it. `device_memory` is
    what embeddings may take of each, such as "70GB", with the lookups and outputs of a step as the
    trainer's pipeline has them: `buffers` is a word of --buffers, which mean what TorchRec's PipelineType
    does ("off": not counted). `device` is where the trainer runs, cuda or cpu. What the command says
    of the plan, costs and memory of every rank, goes to the logger "neuroshard_engine.torchrec", its
    notes to stderr. `save_to` is a folder that keeps tables.json and plan.json, by which the command
    explains the plan or plans near it; it is made where it is not there.

    Raises ValueError, on all ranks and with one line, for what those functions and the command refuse,
    and where the command fails otherwise.
    """
    if not dist.is_initialized():
        raise ValueError("found no process group, expected init_process_group() before: a plan is for "
                         "ranks")
    hosts: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(hosts, get_local_size())
    if len(set(hosts)) > 1:
        raise ValueError(f"LOCAL_WORLD_SIZE: found ranks that count {sorted(set(hosts))} ranks to a "
                         "host, expected one number")
    arguments = ["--devices", dist.get_world_size(), "--device-memory", device_memory,
                 HOSTS, hosts[0], "--format", "torchrec", "--trainer-device",
                 device, "--buffers", buffers, *flags]
    tables = {"pooling_factors": pooling_factors, "batch_size": batch_size, **described}
    modules, fault = invoke_on_rank_and_broadcast_result(
        dist.group.WORLD, 0, _planned, model, tables, [command, "plan", *map(str, arguments)], save_to)
    if fault:
        raise ValueError(fault)
    return plan_of(modules)


def _planned(model: Any, tables: Dict[str, Any], command: List[str], save_to: Optional[Path]
             ) -> Tuple[Optional[Dict[str, Any]], str]:
    """The plan's modules and "", or None and why there are none, in a line: the other ranks wait for
    either, whatever happens."""
    gone = ""  # a folder that nobody finds again has no place in a message
    try:
        with contextlib.ExitStack() as stack:
            if save_to is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                gone = folder + os.sep
            else:
                folder = os.fspath(save_to)
                os.makedirs(folder, exist_ok=True)
            described, plan = os.path.join(folder, "tables.json"), os.path.join(folder, "plan.json")
            save_tables(described, model, **tables)
            _run([*command, "--tables", described, "--output", plan])
            load_plan(plan, model)
            with open(plan, encoding="utf-8") as file:
                return json.load(file)["plan"], ""
    except (OSError, ValueError) as error:
        return None, _line(error, gone)
    except Exception as error:
        return None, f"{type(error).__name__}: {_line(error, gone)}"


def _run(command: List[str]) -> None:
    """What is said of the plan is logged. Notes go to stderr, but for that on a flag which only
    make_plan() gives. Raises ValueError with the last line there, the error, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    for line in done.stdout.splitlines():
        logger.info("%s", line)
    lines = [line for line in done.stderr.splitlines()
             if not line.startswith(HOSTS + ": changes placements only")]
    fault = None
    if done.returncode < 0:
        fault = f"{command[0]}: ended by signal {-done.returncode}"
    elif done.returncode > 0:
        fault = lines.pop() if lines else f"{command[0]}: exit code {done.returncode}"
    sys.stderr.writelines(line + "\n" for line in lines)
    if fault:
        raise ValueError(fault)


def _line(error: BaseException, without: str = "") -> str:
    said = str(error).replace(without, "") if without else str(error)
    return " ".join(said.split()) or type(error).__name__
