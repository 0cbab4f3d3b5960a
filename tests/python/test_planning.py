"""Plans of the installed package: costs, shards, files, what it refuses."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import neuroshard_engine as ns
from neuroshard_engine import command

EXAMPLE = os.path.join(os.environ["NEUROSHARD_EXAMPLES"], "dlrm_dcnv2.json")
MODEL = os.path.join(os.environ["NEUROSHARD_EXAMPLES"], "dlrm_dcnv2_model.json")
FEW = [{"name": "user", "rows": 400000, "dim": 64, "pooling_factor": 30},
       {"name": "item", "rows": 100000, "dim": 128, "pooling_factor": 10, "zipf_alpha": 1.05},
       {"name": "ad", "rows": 7000, "dim": 16, "pooling_factor": 2}]


def few(**changes):
    return ns.plan(FEW, **{"devices": 2, "device_memory": "1GB", "batch_size": 65536,
                           "evaluations": 2000, **changes})


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.logged = self.assertLogs("neuroshard_engine", "WARNING")
        self.logged.__enter__()
        self.addCleanup(self.logged.__exit__, None, None, None)

    def test_is_the_plan_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            command.output_of(["plan", "--tables", EXAMPLE, "--devices", "8", "--device-memory",
                               "80GB", "--evaluations", "20000", "--output", path])
            with open(path, encoding="utf-8") as file:
                expected = json.load(file)
        plan = ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=20000)
        found = json.loads(plan.to_json())
        for key in ("shards", "per_device", "cost_ms", "devices", "batch_size"):
            self.assertEqual(found[key], expected[key], key)
        self.assertEqual(plan.cost_ms, expected["cost_ms"])
        self.assertEqual([each.total_ms for each in plan.per_device],
                         [each["total_ms"] for each in expected["per_device"]])

    def test_costs_of_whole_steps_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            setting = ["--tables", EXAMPLE, "--device-memory", "80GB"]
            command.output_of(["plan", *setting, "--devices", "8", "--evaluations", "20000",
                               "--model", MODEL, "--output", path])
            with open(path, encoding="utf-8") as file:
                expected = json.load(file)
            plan = ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=20000, model=MODEL)
            found = json.loads(plan.to_json())
            self.assertEqual(found["shards"], expected["shards"])
            self.assertEqual(plan.cost_ms, expected["cost_ms"])
            self.assertEqual(found["provenance"]["dense_model_sha256"],
                             expected["provenance"]["dense_model_sha256"])
            self.assertEqual([each.dense_ms for each in plan.per_device],
                             [each["dense_ms"] for each in expected["per_device"]])
            self.assertIn("dlrm_dcnv2_model.json", plan.explain(most=1))
            step = json.loads(command.output_of(
                ["iteration", "--tables", EXAMPLE, "--model", MODEL, "--plan", path, "--profile",
                 "H100-80G", "--output", "-"]))
        found = plan.iteration(ns.DenseModel(MODEL, "H100-80G"))
        for key in ("iteration_ms", "compute", "exposed", "hidden", "critical_path"):
            self.assertEqual(found[key], step[key], key)
        self.assertGreater(found["sum_ms"], found["iteration_ms"])

    def test_whole_steps_are_of_models_that_fit(self):
        with open(MODEL, encoding="utf-8") as file:
            model = json.load(file)
        alone = few()
        self.assertEqual([each.dense_ms for each in alone.per_device], [0, 0])
        self.assertEqual(alone.cost_models.dense_model, "")
        with self.assertRaisesRegex(ns.InvalidInputError, "model: found none"):
            alone.iteration()
        whole = few(model=model)
        self.assertGreater(whole.cost_ms, alone.cost_ms)
        self.assertEqual(whole.cost_models.dense_model, "model.json")
        self.assertIn("H200", whole.cost_models.dense_hardware)
        self.assertGreater(whole.iteration()["iteration_ms"], 0)
        again = whole.replan(move_limit=0, evaluations=100)
        self.assertEqual(again.cost_models.dense_model, "model.json")
        self.assertLessEqual(again.cost_ms, whole.cost_ms)
        with self.assertRaisesRegex(ns.InvalidInputError, "adds up all that a device does"):
            few(model=model, cost_model="torchrec")
        with self.assertRaisesRegex(ns.InvalidInputError, "model.profile: "):
            few(model=ns.DenseModel(model, "H999"))
        with self.assertRaisesRegex(ns.InvalidInputError, "model.json"):
            few(model={**model, "version": 2})
        with self.assertRaisesRegex(ns.InvalidInputError, "expected what a model file holds"):
            few(model={"format": {1, 2}})

    def test_plans_keep_their_exchange(self):
        plain, half, mixed, cheapest = (few(devices=16, evaluations=20_000, exchange=exchange)
                                        for exchange in ("fp32", "fp16", "int8,bf16", "auto"))
        self.assertEqual([plain.exchange, half.exchange, mixed.exchange],
                         ["fp32", "fp16", "int8,bf16"])
        self.assertLess(half.cost_ms, plain.cost_ms)
        self.assertNotIn(cheapest.exchange, ("auto", "fp32"))
        self.assertEqual(cheapest.cluster.exchange, cheapest.exchange)
        self.assertLess(cheapest.cost_ms, plain.cost_ms)
        self.assertEqual(mixed.replan(move_limit=0, evaluations=50).exchange, "int8,bf16")
        self.assertEqual(json.loads(mixed.to_json())["exchange"],
                         {"forward": "int8", "backward": "bf16"})
        self.assertNotIn("exchange", json.loads(plain.to_json()))

    def test_a_plan_for_several_cost_models_is_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            command.output_of(["plan", "--tables", EXAMPLE, "--devices", "8", "--device-memory",
                               "80GB", "--evaluations", "5000", "--target", "torchrec", "--robust",
                               "h200_sim,torchrec", "--output", path])
            with open(path, encoding="utf-8") as file:
                expected = json.load(file)
            plan = ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=5000,
                           target="torchrec", robust=["torchrec"])
            self.assertEqual(json.loads(plan.to_json()), expected)
            again = ns.Plan.read(path, EXAMPLE)
        self.assertEqual((again.robust, again.largest_regret), ((), None))
        self.assertEqual([each.cost_model for each in plan.robust], ["h200_sim", "torchrec"])
        self.assertEqual(plan.robust[0].cost_ms, plan.cost_ms)
        self.assertEqual(plan.largest_regret, max(each.regret for each in plan.robust))
        for each in plan.robust:
            self.assertAlmostEqual(each.regret, each.cost_ms / each.best_ms - 1)
            self.assertIn(f"by {each.cost_model}: {each.cost_ms:.3f} ms, ", plan.report())
        self.assertEqual(plan.replan(move_limit=0, evaluations=50).robust, ())
        near = plan.replan(move_limit=0, evaluations=50, robust=["torchrec"])
        self.assertEqual(plan.moved_bytes(near), 0)
        self.assertEqual([each.cost_model for each in near.robust], ["h200_sim", "torchrec"])
        for each, now in zip(near.robust, plan.robust):
            self.assertLessEqual(each.best_ms, now.cost_ms)

    def test_cost_models_of_a_plan_for_several_may_be_any(self):
        slow = ns.CostModels.torchrec(intra_host_gbps=50)
        both = few(cost_model="torchrec", robust=(slow,), devices=4)
        self.assertGreater(both.robust[1].cost_ms, both.robust[0].cost_ms)
        steps = few(cost_model="h100_sim", robust=["a100_sim"], model=MODEL)
        self.assertGreater(min(each.cost_ms for each in steps.robust), few().cost_ms)
        self.assertEqual((few().robust, few().largest_regret), ((), None))

    def test_hot_rows_are_those_of_the_file(self):
        names = [f"t{index}" for index in range(96)]
        tables = [{"name": name, "rows": 2_000_000, "dim": 64, "pooling_factor": 1,
                   "zipf_alpha": 1.2} for name in names]
        options = {"devices": 64, "device_memory": "40GB", "batch_size": 65536,
                   "cost_model": "h100_sim", "evaluations": 2000}
        plain = ns.plan(tables, **options)
        hot = ns.plan(tables, hot_rows=True, **options)
        self.assertEqual(plain.hot_rows, [])
        self.assertLess(hot.cost_ms, plain.cost_ms)
        self.assertGreater(len(hot.hot_rows), 0)
        self.assertEqual([(each.table_index, each.rows) for each in hot.hot_rows],
                         [(each["table"], each["rows"])
                          for each in json.loads(hot.to_json())["hot_rows"]])
        self.assertEqual([each.table for each in hot.hot_rows],
                         [names[each.table_index] for each in hot.hot_rows])
        small = ns.plan(tables, hot_rows=True, hot_memory="1MB", **options)
        self.assertLessEqual(sum(each.rows * 64 * 4 for each in small.hot_rows), 1_000_000)
        for wrong in ({"hot_rows": True, "hot_memory": 0}, {"hot_memory": "1MB"}):
            with self.assertRaisesRegex(ns.InvalidInputError, "^hot_memory: found .*, expected"):
                ns.plan(tables, **wrong, **options)

    def test_costs_and_shards_agree(self):
        plan = few()
        self.assertEqual(plan.cost_ms, max(each.total_ms for each in plan.per_device))
        self.assertTrue(plan.simulated)
        self.assertFalse(plan.stopped_early)
        cells = {}
        for shard in plan.shards:
            size = (shard.rows[1] - shard.rows[0]) * (shard.columns[1] - shard.columns[0])
            cells[shard.table] = cells.get(shard.table, 0) + size
            self.assertIn(shard.device, (0, 1))
        self.assertEqual(cells, {each["name"]: each["rows"] * each["dim"] for each in FEW})
        self.assertEqual(sum(each.memory_bytes for each in plan.per_device),
                         4 * sum(cells.values()))
        plan.check()

    def test_is_the_same_in_every_run_and_on_any_threads(self):
        self.assertEqual(few().to_json(), few(threads=1).to_json())

    def test_a_time_limit_is_kept(self):
        plan = few(evaluations=None, time_limit_s=0.05)
        self.assertTrue(plan.stopped_early)
        self.assertLess(plan.search_s, 5)

    def test_simulated_is_said(self):
        few()
        self.assertTrue(any("SIMULATED" in line for line in self.logged.watcher.output))
        self.assertIn("SIMULATED", repr(few()))
        self.assertIn("SIMULATED", few().report())

    def test_the_report_has_a_line_a_rank(self):
        lines = few(devices=4).report().splitlines()
        self.assertEqual(len(lines), 2 + 4)
        self.assertEqual(sum("slowest" in line for line in lines[2:]), 1)
        self.assertIn("% ", lines[2])

    def test_writes_torchrecs_plan(self):
        plan = few(target="torchrec")
        tables = json.loads(plan.to_torchrec(module="sparse", trainer_device="cpu"))["plan"]["sparse"]
        self.assertEqual(sorted(tables), ["ad", "item", "user"])
        self.assertIn("rank:0/cpu", json.dumps(tables))

    def test_a_saved_plan_is_read_back_with_its_costs(self):
        plan = few(target="torchrec")
        with tempfile.TemporaryDirectory() as folder:
            for format in ("json", "torchrec"):
                path = os.path.join(folder, format)
                plan.save(path, format)
                again = ns.Plan.read(path, FEW, batch_size=65536, devices=2, device_memory="1GB")
                self.assertEqual(again.shards, plan.shards)
                self.assertEqual(again.cost_ms, plan.cost_ms)
            self.assertEqual(sorted(os.listdir(folder)), ["json", "torchrec"])

    def test_a_formula_of_an_older_release_stays_it(self):
        few_lookups = [dict(FEW[0], pooling_factor=0.25)]
        costs = {}
        for model in ns.CostModels.names()[-2:]:
            models = ns.CostModels.torchrec(device_gbps=2000, model=model)
            self.assertEqual(models.name, model)
            plan = ns.plan(few_lookups, devices=2, device_memory="1GB", batch_size=32768,
                           evaluations=1000, cost_model=models)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "plan.json")
                plan.save(path)
                again = ns.Plan.read(path, few_lookups, batch_size=32768)
            self.assertEqual(again.cost_models.name, model)
            self.assertEqual(again.cost_ms, plan.cost_ms)
            self.assertIn(model, plan.explain())
            costs[model] = plan.cost_ms
        self.assertLess(costs["torchrec"], costs["torchrec-1.4"])
        with self.assertRaisesRegex(ns.InvalidInputError, "bandwidths.model: found 'torchrec-2'"):
            ns.CostModels.torchrec(model="torchrec-2")

    def test_cache_hits_by_curves_stay_with_a_plan(self):
        tables = [dict(FEW[0], compute_kernels=["fused_uvm_caching"])] + FEW[1:]
        models = ns.CostModels.torchrec(cache_hits="curve")
        plan = ns.plan(tables, devices=2, device_memory="1GB", host_memory="10GB", batch_size=32768,
                       evaluations=1000, cost_model=models)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan.save(path)
            again = ns.Plan.read(path, tables, batch_size=32768)
        self.assertEqual(again.cost_ms, plan.cost_ms)
        self.assertIn("cache hits by access curves", plan.explain())
        self.assertIn("cache hits by access curves", again.explain())
        with self.assertRaisesRegex(ns.InvalidInputError, "bandwidths.cache_hits: found 'all'"):
            ns.CostModels.torchrec(cache_hits="all")

    def test_explains_without_being_told_again(self):
        plan = ns.plan(FEW, devices=2, device_memory="1GB", batch_size=32768, evaluations=2000,
                       cost_model=ns.CostModels.torchrec(device_gbps=2000))
        self.assertIn("user", plan.explain(tables=["user"]))
        data = plan.explanation()
        self.assertEqual(data["batch_size"], 32768)
        self.assertEqual(data["cost_ms"], plan.cost_ms)
        self.assertEqual(data["cost_model"], "torchrec")
        self.assertEqual(data["cost_error"], json.loads(plan.to_json())["cost_error"])
        self.assertEqual([each["name"] for each in plan.explanation(["ad", "user"])["tables"]],
                         ["ad", "user"])
        for table in data["tables"]:
            self.assertEqual([shard["device"] for shard in table["shards"]],
                             [each.device if each.device is not None else "all"
                              for each in plan.shards if each.table == table["name"]])
            self.assertGreaterEqual(table["next_best"]["cost_ms"], plan.lower_bound_ms or 0)
        with self.assertRaises(ns.InvalidInputError) as refused:
            plan.explanation(["nobody"])
        self.assertIn("'nobody'", str(refused.exception))

    def test_targets_are_trainers(self):
        for word in "csv", "json", "x":
            with self.assertRaisesRegex(ns.InvalidInputError, f"options.target: found '{word}', "
                                        "expected one of torchrec, hugectr"):
                few(target=word)

    def test_on_one_device_what_may_be_nothing_else_is_on_every_device(self):
        tables = [dict(FEW[0], sharding=["data_parallel"]), *FEW[1:]]
        for model in "h200_sim", "torchrec":
            plan = ns.plan(tables, batch_size=4096, devices=1, device_memory="80GB", data_parallel=True,
                           evaluations=100, cost_model=model)
            self.assertEqual([(each.device, each.compute_kernel) for each in plan.shards],
                             [(None, "dense"), (0, "fused"), (0, "fused")])
            again = ns.Plan.parse(plan.export("torchrec"), "plan", plan.workload, plan.cost_models,
                                  plan.cluster).costed()
            self.assertEqual((again.shards, again.cost_ms), (plan.shards, plan.cost_ms))

    def test_a_plan_says_what_its_search_left_out(self):
        self.assertEqual(few().skipped, "")
        self.assertIsNone(few().lower_bound_ms)  # networks know none

    def test_whole_tables_move_where_that_is_asked_for(self):
        whole = few(algorithm="size-greedy", evaluations=None, devices=4)
        self.assertEqual(len(whole.shards), 3)
        moved = whole.replan(move_limit="1GB", evaluations=2000, whole_tables=True)
        self.assertEqual(len(moved.shards), 3)

    def test_a_file_of_cost_models_is_used(self):
        path = os.path.join(os.path.dirname(EXAMPLE), "../models/h200_sim.safetensors")
        plan = few(cost_model=path)
        self.assertEqual(plan.cost_models.sha256, few().cost_models.sha256)
        self.assertEqual(plan.shards, few().shards)
        self.assertAlmostEqual(plan.explanation()["cost_ms"], plan.cost_ms, places=6)
        with self.assertRaises(ns.InvalidInputError) as refused:
            few(cost_model=EXAMPLE)
        self.assertIn("dlrm_dcnv2.json", str(refused.exception))

    def test_replans_within_the_limit(self):
        plan = few()
        changed = [dict(FEW[0], pooling_factor=3), dict(FEW[1], pooling_factor=90), FEW[2]]
        same = plan.replan(changed, batch_size=65536, move_limit=0, evaluations=2000)
        self.assertEqual(plan.moved_bytes(same), 0)  # blocks that are on one device may be joined there
        near = plan.replan(changed, batch_size=65536, move_limit="20MB", evaluations=2000)
        self.assertLessEqual(plan.moved_bytes(near), 20_000_000)
        self.assertLessEqual(near.cost_ms, same.cost_ms)

    def test_replans_go_by_the_names_of_tables(self):
        like = [dict(FEW[2], name=name) for name in ("a", "b", "c")]
        plan = ns.plan(like, batch_size=65536, devices=3, device_memory="1GB", algorithm="size-greedy",
                       evaluations=100)

        def devices_of(found):
            return {shard.table: shard.device for shard in found.shards}
        for tables in like[::-1], [dict(like[0], name="new"), *like[:0:-1]]:
            near = plan.replan(tables, batch_size=65536, move_limit=0, evaluations=500)
            self.assertEqual(plan.moved_bytes(near), 0)
            here, there = devices_of(plan), devices_of(near)
            self.assertEqual({name: device for name, device in there.items() if name != "new"},
                             {name: here[name] for name in there if name != "new"})
        with self.assertRaises(ns.InvalidInputError) as refused:
            plan.replan([dict(each, name=each["name"] + "_") for each in like], batch_size=65536,
                        move_limit=0)
        self.assertIn("table 'a' and 2 more are not among the tables given, and the plan has no others",
                      str(refused.exception).replace("tables 'a'", "table 'a'"))

    def test_workloads_are_read_once(self):
        workload = ns.Workload.of({"batch_size": 4096, "tables": FEW})
        self.assertEqual(len(workload), 3)
        self.assertEqual(workload.batch_size, 4096)
        self.assertEqual(workload.tables[1].rows, 100000)
        self.assertAlmostEqual(sum(workload.tables[0].reuse_histogram), 1)
        self.assertEqual(ns.Workload.of(workload, 8192).batch_size, 8192)
        self.assertEqual(ns.plan(workload, devices=2, device_memory=10**9,
                                 evaluations=100).workload, workload)

    def test_plans_outlive_what_they_were_made_of(self):
        plans = [few(evaluations=10) for _ in range(20)]
        self.assertEqual(len({plan.to_json() for plan in plans}), 1)


class RefusalTest(unittest.TestCase):
    def refused(self, kind, words, **changes):
        with self.assertLogs("neuroshard_engine"):
            ns.planning.planner_of(ns.CostModels.shipped())  # assertLogs wants a line
            with self.assertRaises(kind) as refused:
                few(**changes)
        message = str(refused.exception)
        self.assertIn(words, message)
        self.assertNotIn("\n", message)
        return refused.exception

    def test_bad_arguments(self):
        bad = ns.InvalidInputError
        self.refused(bad, "device_memory: found '80G'", device_memory="80G")
        self.refused(bad, "device_memory: found -1", device_memory=-1)
        self.refused(bad, "device_memory: found True", device_memory=True)
        self.refused(bad, "devices: found 0", devices=0)
        self.refused(bad, "devices: found 2.0", devices=2.0)
        self.refused(bad, "evaluations: found 0", evaluations=0)
        self.refused(bad, "time_limit_s: found nan", time_limit_s=float("nan"))
        self.refused(bad, "row_splits: found 'some'", row_splits="some")
        self.refused(bad, "buffers: found 'all'", buffers="all")
        self.refused(bad, "exchange: found 'fp4'", exchange="fp4")
        self.refused(bad, "exchange: found 'fp16,'", exchange="fp16,")
        self.refused(bad, "magic", algorithm="magic")
        self.refused(bad, "cost model: found 'h900'", cost_model="h900")
        self.refused(bad, "algorithm: found 7", algorithm=7)
        self.refused(bad, "progress: found 3", progress=3)
        self.refused(bad, "robust: found []", robust=[])
        self.refused(bad, "robust: found 'torchrec', expected a list", robust="torchrec")
        self.refused(bad, "cost models: found 'torchrec' twice", robust=["torchrec", "torchrec"])
        self.refused(bad, "cost models: found 'h200_sim' twice", robust=["h200_sim"])
        self.refused(bad, "cost model: found 'h900'", robust=["h900"])
        self.refused(bad, "exchange: found 'auto' with robust", robust=["torchrec"], exchange="auto")

    def test_an_empty_word_is_none_of_those_there_are(self):
        bad = ns.InvalidInputError
        self.refused(bad, "target: found '', expected one of torchrec, hugectr, or None", target="")
        self.refused(bad, "algorithm: found '', expected one of random, size-greedy", algorithm="")
        with self.assertRaisesRegex(bad, "^target: found '', expected one of torchrec"):
            few().replan(move_limit=0, target="")
        with self.assertRaisesRegex(bad, "^trainer_device: found '', expected one of cuda, cpu"):
            few().export("torchrec", trainer_device="")

    def test_bad_tables(self):
        bad = ns.InvalidInputError
        for tables, words in [
                ("/nowhere.json", "/nowhere.json: No such file"), (7, "found int"),
                ([{"name": "a", "rows": 0, "dim": 4, "pooling_factor": 1}], "rows"),
                ([{"name": "a", "rows": 9, "dim": 4, "pooling": 1}], "pooling"),
                ({"tables": [{"name": object()}]}, "found object"),
                ([], "tables")]:
            with self.assertRaises(bad) as refused:
                ns.Workload.of(tables, 65536)
            self.assertIn(words, str(refused.exception))
        with self.assertRaises(bad) as refused:
            ns.Workload.of(FEW)
        self.assertIn("batch_size: found none", str(refused.exception))
        with self.assertRaises(bad) as refused:
            ns.Workload.of(FEW, batch_size=0)
        self.assertIn("batch_size: found 0", str(refused.exception))

    def test_what_does_not_fit_says_what_would(self):
        error = self.refused(ns.InfeasibleError, "more", device_memory="10MB")
        self.assertEqual((error.status, error.status_name), (2, "NEUROSHARD_INFEASIBLE"))

    def test_sizes_are_the_commands(self):
        for text, size in [("80GB", 80 * 10**9), ("24GiB", 24 << 30), ("1.5KiB", 1536),
                           ("7", 7), (".5KB", 500), ("0.1MB", 100_000), (12, 12)]:
            self.assertEqual(ns.parse_bytes(text), size)
        for text in ("", "GB", "-1GB", "1e3", "1 GB", "1gb", "9223372036854775808", None, 1.0):
            with self.assertRaises(ns.InvalidInputError):
                ns.parse_bytes(text)


class PackageTest(unittest.TestCase):
    def test_the_command_is_there(self):
        script = os.path.join(os.path.dirname(sys.executable), "neuroshard")
        said = subprocess.run([script, "--version"], stdout=subprocess.PIPE, check=True).stdout
        self.assertIn(ns.__version__, said.decode())
        wrong = subprocess.run([script, "plan", "--tables", "/nowhere"], stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, check=False)
        self.assertEqual(wrong.returncode, 2)

    def test_its_page_has_no_links_that_lead_nowhere(self):
        said = importlib.metadata.metadata("neuroshard-engine")
        body = said.get_payload() or said.get("Description") or ""
        self.assertIn("neuroshard_engine", body)
        for target in re.findall(r"\]\(([^)]*)\)", body):
            self.assertRegex(target, r"^(https://|#)")
        urls = said.get_all("Project-URL")
        self.assertTrue(urls)
        for each in urls:
            self.assertRegex(each, r"^[A-Z][a-z ]+, https://[a-z0-9./-]+$")

    def test_is_typed_and_installed(self):
        folder = os.path.dirname(ns.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        self.assertTrue(folder.startswith(sys.prefix), folder)


if __name__ == "__main__":
    unittest.main()
