"""Ranks plan their model by make_plan() and run it by that plan. See
scripts/test-torchrec.sh.

    python plan_in_trainer.py NEUROSHARD
"""

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings

import torch.distributed as dist
import torch.multiprocessing as mp

from run_plans import Model, leave_groups, run_case

RANKS = 2
MODULES = {"user.bags": ["user", "country"], "item.history": ["clicks", "buys"]}
TABLES = [{"name": "user", "rows": 20000, "dim": 64, "pooled": True},
          {"name": "country", "rows": 300, "dim": 16, "pooled": True},
          {"name": "clicks", "rows": 9000, "dim": 32, "pooled": False},
          {"name": "buys", "rows": 500, "dim": 32, "pooled": False}]
FACTORS = {"feature_user": 20, "feature_country": 1, "feature_clicks": 30, "feature_buys": 2}


def refused(call, part, holds=str.__contains__):
    try:
        call()
    except ValueError as error:
        assert holds(str(error), part) and "\n" not in str(error), str(error)
        return
    raise AssertionError(f"not refused: {part}")


def scripts(rank, folder):
    """Commands that fail as no planner should: paths by name."""
    written = {"killed": "echo a note >&2; kill -9 $$", "silent": "exit 5",
               "notes": "echo a note >&2; echo the fault >&2; exit 2",
               "nothing": "exit 0", "other": 'for last; do :; done; echo "{}" > "$last"'}
    paths = {name: os.path.join(folder, name) for name in written}
    if rank == 0:
        for name, text in written.items():
            with open(paths[name], "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + text + "\n")
            os.chmod(paths[name], 0o755)
    return paths


def check_failures(rank, folder, planned):
    """Every rank is told, in a line, and none waits."""
    refused(lambda: planned("1KB"), "neuroshard plan: 4 tables need ")
    refused(lambda: planned(flags=["--algorithm", "best"]), "--algorithm: found 'best'")
    refused(lambda: planned(command=os.path.join(folder, "missing")), "No such file")
    refused(lambda: planned(ranks={"usr": [0]}), "ranks: found table 'usr'")
    refused(lambda: planned(rank={"buys": [1]}), "unexpected keyword argument 'rank'")
    refused(lambda: planned(flags=["--cost-model", "nobody"]), "'nobody'")
    paths = scripts(rank, folder)
    refused(lambda: planned(command=paths["killed"]), "killed: ended by signal 9")
    refused(lambda: planned(command=paths["silent"]), "silent: exit code 5")
    refused(lambda: planned(command=paths["notes"]), "the fault")
    # A folder that is gone by then is in no message.
    refused(lambda: planned(command=paths["nothing"]), "plan.json: No such file or directory", str.startswith)
    refused(lambda: planned(command=paths["nothing"], save_to=folder), os.path.join(folder, "plan.json"))
    refused(lambda: planned(command=paths["other"]), "KeyError: 'plan'")


def check_report(rank, folder, planned):
    """The first rank logs what the plan costs and keeps what it was asked to; no note is on a flag
    that nobody gave."""
    logger, logged, said = logging.getLogger("neuroshard_engine.torchrec"), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(logged)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    kept = os.path.join(folder, "a", "kept")
    with contextlib.redirect_stderr(said):
        planned(flags=["--evaluations", "1000"], save_to=kept)
    logger.removeHandler(handler)
    assert "--devices-per-host" not in said.getvalue(), said.getvalue()
    if rank == 0:
        assert "plan cost " in logged.getvalue() and "SIMULATED" in logged.getvalue(), logged.getvalue()
        assert sorted(os.listdir(kept)) == ["plan.json", "tables.json"]
    else:
        assert not logged.getvalue()


def run_rank(rank, folder, command):
    from neuroshard_engine.torchrec import make_plan

    warnings.filterwarnings("ignore")
    model = Model(TABLES, MODULES)

    def planned(memory="20MB", **other):
        arguments = {"command": command, "device": "cpu", "flags": [
            "--cost-model", "torchrec", "--evaluations", "1000"], **other}
        return make_plan(model, FACTORS, 4096, memory, **arguments)

    refused(planned, "found no process group")
    os.environ["LOCAL_WORLD_SIZE"] = str(rank + 1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank,
                            world_size=RANKS)
    refused(planned, "LOCAL_WORLD_SIZE: found ranks that count [1, 2] ranks to a host")
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(RANKS))
    check_failures(rank, folder, planned)
    check_report(rank, folder, planned)
    # Lookups and outputs of a step take more than the tables unless they are not counted.
    refused(lambda: planned("5MB"), "neuroshard plan: 4 tables need ")
    planned("5MB", buffers="off")
    plan = planned(ranks={"buys": [1]})
    modules = plan._serialize()["plan"]
    assert modules["item.history"]["buys"]["ranks"] == [1]
    shards, worst = run_case(rank, TABLES, modules, lambda _: plan)
    if rank == 0:
        print(f"torchrec: make_plan(): {len(TABLES)} tables in {len(MODULES)} modules, planned on rank 0 "
              f"of {RANKS}: {shards} shards in place, outputs differ by {worst:.1g} at most", flush=True)
    leave_groups()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as working:
        mp.spawn(run_rank, args=(working, os.path.abspath(sys.argv[1])), nprocs=RANKS)
