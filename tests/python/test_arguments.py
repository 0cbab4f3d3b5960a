"""Whatever an argument is, the package answers with an error of its own of one line, or takes it."""

import errno
import logging
import math
import os
import stat
import tempfile
import threading
import unittest

import neuroshard_engine as ns

FEW = [{"name": "user", "rows": 4000, "dim": 64, "pooling_factor": 30},
       {"name": "item", "rows": 1000, "dim": 128, "pooling_factor": 10}]


class Odd:
    """Converts to nothing, and says so in several lines."""

    def __repr__(self):
        return "odd\nvalue"

    def __index__(self):
        raise RuntimeError("no integer")

    def __float__(self):
        raise RuntimeError("no float")

    def __fspath__(self):
        raise RuntimeError("no path")


class Speechless(Odd):
    def __repr__(self):
        raise RuntimeError("no words")


WRONG = [None, True, False, -1, 0, 1, 2**31, 2**32 + 8, 2**63, 2**64, -2**63, 10**5000, 0.5, -0.5,
         math.nan, math.inf, -math.inf, 1 + 2j, "", "x", "8", "\0", "a\0b", "\ud800", "a\nb", "é" * 5000,
         "9" * 5000, b"", b"x", bytearray(b"x"), [], [1], ["x"], (), {}, {"tables": 7}, {1: 2}, set(),
         object(), Odd(), Speechless(), print, int, os.devnull, "/nowhere/at all", "/"]


def few(**changes):
    return ns.plan(FEW, **{"devices": 2, "device_memory": "1GB", "batch_size": 4096,
                           "evaluations": 50, **changes})


class ArgumentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.getLogger("neuroshard_engine").setLevel(logging.CRITICAL)
        cls.folder = tempfile.TemporaryDirectory()
        cls.plan = few()
        cls.path = os.path.join(cls.folder.name, "plan.json")
        cls.plan.save(cls.path)

    @classmethod
    def tearDownClass(cls):
        logging.getLogger("neuroshard_engine").setLevel(logging.NOTSET)
        cls.folder.cleanup()

    def answered(self, what, call, values=()):
        """How many of the values `call` refuses; each in one line that is not too long."""
        refused = 0
        for value in values or WRONG:
            with self.subTest(what=what, type=type(value).__name__):
                try:
                    call(value)
                except ns.EngineError as error:
                    refused += 1
                    line = str(error)
                    self.assertTrue(line)
                    self.assertNotIn("\n", line)
                    self.assertLess(len(line), 2000)
        return refused

    def test_every_parameter_of_plan(self):
        harmless = {"threads": [v for v in WRONG if v != 1], "evaluations": [
            v for v in WRONG if not (isinstance(v, int) and v >= 2**31)]}
        for name, least in {
                "devices": 38, "device_memory": 30, "cost_model": 38, "batch_size": 30,
                "algorithm": 35, "evaluations": 30, "time_limit_s": 25, "seed": 30, "threads": 30,
                "row_splits": 44, "data_parallel": 40, "equal_columns": 40, "target": 30,
                "devices_per_host": 30, "host_memory": 30, "buffers": 44, "exchange": 44, "progress": 35,
                "hot_rows": 40, "hot_memory": 40, "robust": 42, "cancellation": 42}.items():
            self.assertGreaterEqual(
                self.answered(name, lambda value, name=name: few(**{name: value}),
                              harmless.get(name, WRONG)), least, name)
        self.assertEqual(
            self.answered("tables", lambda value: ns.plan(
                value, devices=2, device_memory="1GB", batch_size=4096)), len(WRONG))

    def test_every_parameter_of_replan(self):
        for name in ("tables", "move_limit", "devices", "device_memory", "cost_model", "batch_size",
                     "evaluations", "time_limit_s", "threads", "row_splits", "data_parallel",
                     "target", "progress", "cancellation"):
            values = [v for v in WRONG if not (
                name == "evaluations" and isinstance(v, int) and v >= 2**31)]
            self.assertGreater(self.answered(name, lambda value, name=name: self.plan.replan(
                **{"move_limit": 0, "evaluations": 50, **{name: value}}), values), 20, name)
        self.assertEqual(self.answered("now", lambda value: ns.replan(value, move_limit=0)),
                         len(WRONG))

    def test_every_parameter_of_plans(self):
        plan = self.plan
        read = {"path": self.path, "tables": FEW, "device_memory": "1GB", "batch_size": 4096}
        for name in (*read, "devices", "cost_model", "devices_per_host"):
            self.assertGreater(self.answered(
                name, lambda value, name=name: ns.Plan.read(**{**read, name: value})), 20, name)
        for name in ("content", "source", "workload", "cost_models", "cluster"):
            given = {"content": plan.to_json().encode(), "source": "plan", "workload": plan.workload,
                     "cost_models": plan.cost_models, "cluster": plan.cluster}
            self.assertGreater(self.answered(name, lambda value, name=name, given=given:
                                             ns.Plan.parse(**{**given, name: value})), 20, name)
        for what, call in {
                "export": plan.export, "module": lambda v: plan.export("torchrec", module=v),
                "trainer_device": lambda v: plan.export("torchrec", trainer_device=v),
                "save": lambda v: plan.save(v) if v not in ("x", "8", "é" * 5000) else plan.save(7),
                "format": lambda v: plan.save(self.path + "2", v), "moved_bytes": plan.moved_bytes,
                "explain": plan.explain, "most": lambda v: plan.explain(most=v)}.items():
            self.assertGreater(self.answered(what, call, [v for v in WRONG if not (
                what == "save" and v in ("a\nb",))]), 20, what)

    def test_every_parameter_of_the_others(self):
        for what, call in {
                "shipped": ns.CostModels.shipped, "read": ns.CostModels.read,
                "of": ns.CostModels.of,
                **{name: lambda v, name=name: ns.CostModels.torchrec(**{name: v})
                   for name in ("device_gbps", "intra_host_gbps", "inter_host_gbps",
                                "host_memory_gbps", "cache_hits")},
                "tables": lambda v: ns.Workload.of(v, 4096), "file": ns.Workload.read,
                "batch_size": lambda v: ns.Workload.of(FEW, v),
                "other_batch_size": lambda v: ns.Workload.of(self.plan.workload, v),
                "content": lambda v: ns.Workload(v, "x"),
                "source": lambda v: ns.Workload(self.plan.workload.to_json().encode(), v),
                "workload.save": lambda v: self.plan.workload.save(
                    7 if v in ("x", "8", "a\nb", "é" * 5000) else v),
                "parse_bytes": ns.parse_bytes,
                "cluster.devices": lambda v: ns.Cluster(v, 1),
                "cluster.device_memory": lambda v: ns.Cluster(1, v),
                "cluster.devices_per_host": lambda v: ns.Cluster(1, 1, v),
                "cluster.host_memory": lambda v: ns.Cluster(1, 1, 1, v),
                "cluster.buffers": lambda v: ns.Cluster(1, 1, 1, 1, v),
                "cluster.exchange": lambda v: ns.Cluster(1, 1, 1, 1, "off", v)}.items():
            self.assertGreater(self.answered(what, call), 20, what)

    def test_integers_are_not_cut_off(self):
        for what, call in {
                "devices": lambda v: few(devices=v), "per host": lambda v: few(devices_per_host=v),
                "threads": lambda v: few(threads=v),
                "read": lambda v: ns.Plan.read(self.path, FEW, device_memory=1, devices=v,
                                               batch_size=4096),
                "cluster": lambda v: ns.Cluster(v, 1)}.items():
            with self.assertRaises(ns.InvalidInputError) as refused:
                call(2**32 + 2)
            self.assertIn("found 4294967298, expected", str(refused.exception), what)

    def test_words_are_not_taken_for_true(self):
        for value in ("off", "no", 0, 1, None):
            with self.assertRaises(ns.InvalidInputError) as refused:
                few(data_parallel=value)
            self.assertIn("data_parallel: found", str(refused.exception))

    def test_one_table_may_be_named_alone(self):
        self.assertEqual(self.plan.explain("user"), self.plan.explain(["user"]))


class FileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "tables.json")

    def test_a_list_without_a_table_is_told_as_such(self):
        for tables, expected in ([], r"found no tables"), ([{}], r"\$\.tables\[0\]: found no key"):
            with self.assertRaisesRegex(ns.InvalidInputError, expected):
                ns.Workload.of(tables, 4096)

    def test_workloads_keep_their_batch_size(self):
        for first in (FEW, {"batch_size": 512, "tables": FEW}):
            workload = ns.Workload.of(first, 4096)
            for each in (workload, ns.Workload.of(workload, 8192)):
                each.save(self.path)
                again = ns.Workload.read(self.path)
                self.assertEqual(again.batch_size, each.batch_size)
                self.assertEqual(again.tables, each.tables)

    def test_csv_becomes_a_table_file(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("name,rows,dim,pooling_factor\na,9,4,1\n")
        workload = ns.Workload.read(self.path, 128)
        workload.save(self.path)
        self.assertEqual(ns.Workload.read(self.path).batch_size, 128)
        self.assertTrue(ns.Workload.read(self.path).to_json().startswith("{"))

    def test_a_file_that_cannot_be_written_is_told(self):
        workload = ns.Workload.of(FEW, 4096)
        with self.assertRaises(ns.EngineError) as refused:
            workload.save("/nowhere/tables.json")
        self.assertEqual(refused.exception.status_name, "NEUROSHARD_IO_ERROR")
        self.assertEqual(str(refused.exception), "/nowhere/tables.json: " + os.strerror(errno.ENOENT))

    def test_a_file_is_readable_for_nobody_new(self):
        workload = ns.Workload.of(FEW, 4096)
        workload.save(self.path)
        os.chmod(self.path, 0o600)
        workload.save(self.path)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_a_link_stays_one(self):
        link = self.path + ".link"
        os.symlink(self.path, link)
        ns.Workload.of(FEW, 4096).save(link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(len(ns.Workload.read(self.path)), 2)

    def test_writers_leave_each_others_files_alone(self):
        """The engine removes files of killed processes, which are those without a lock."""
        plan = few()
        stop, failed = threading.Event(), []
        def write():
            while not stop.is_set():
                ns.command.output_of(["export", "--tables", self.path + ".tables", "--plan",
                                      self.path + ".plan", "--output", self.path + ".other"])
        plan.workload.save(self.path + ".tables")
        plan.save(self.path + ".plan")
        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(200):
                plan.workload.save(self.path)
        except ns.EngineError as error:
            failed.append(str(error))
        finally:
            stop.set()
            thread.join()
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
