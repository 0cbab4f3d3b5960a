"""How searches end early: Ctrl-C, another thread, a progress function that raises."""

import contextlib
import io
import os
import subprocess
import sys
import threading
import time
import unittest

import neuroshard_engine as ns

EXAMPLE = os.path.join(os.environ["NEUROSHARD_EXAMPLES"], "dlrm_dcnv2.json")
LONG = {"tables": EXAMPLE, "devices": 8, "device_memory": "80GB", "time_limit_s": 600}
INTERRUPTED = """
import os, signal, sys, threading, time
import neuroshard_engine as ns
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
begun = threading.Event()
def interrupt():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    ns.plan(sys.argv[1], devices=8, device_memory="80GB", time_limit_s=600,
            progress=lambda *_: begun.set())
except KeyboardInterrupt:
    print("interrupted")
"""


class InterruptTest(unittest.TestCase):
    def setUp(self):
        logged = self.assertLogs("neuroshard_engine")
        logged.__enter__()
        self.addCleanup(logged.__exit__, None, None, None)
        self.began = time.monotonic()

    def took(self):
        return time.monotonic() - self.began

    def test_ctrl_c_ends_the_search(self):
        ns.planning.planner_of(ns.CostModels.shipped())
        done = subprocess.run([sys.executable, "-c", INTERRUPTED, EXAMPLE], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"interrupted\n"), done.stderr)
        self.assertLess(self.took(), 60)

    def test_another_thread_ends_it_with_the_best_plan_so_far(self):
        stop = ns.Cancellation()
        seen = threading.Event()
        threading.Thread(target=lambda: (seen.wait(), stop.cancel())).start()
        plan = ns.plan(**LONG, cancellation=stop, progress=lambda *_: seen.set())
        self.assertTrue(plan.stopped_early)
        self.assertGreater(plan.cost_ms, 0)
        self.assertLess(self.took(), 60)
        self.assertTrue(stop.cancelled)

    def test_what_progress_raises_comes_out(self):
        def fail(*_):
            raise ZeroDivisionError("of the callback")
        with self.assertRaisesRegex(ZeroDivisionError, "of the callback"):
            ns.plan(**LONG, progress=fail)
        self.assertLess(self.took(), 60)

    def test_the_callers_cancellation_stays_the_callers(self):
        def fail(*_):
            raise ZeroDivisionError("of the callback")
        own = ns.Cancellation()
        with self.assertRaises(ZeroDivisionError):
            ns.plan(**LONG, progress=fail, cancellation=own)
        self.assertFalse(own.cancelled)
        self.assertFalse(ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=5000,
                                 cancellation=own).stopped_early)
        own.cancel()
        try:
            self.assertTrue(ns.plan(**LONG, cancellation=own).stopped_early)
        except ns.CancelledError:  # before it had any plan
            pass
        self.assertLess(self.took(), 60)

    def test_one_cancellation_ends_several_searches(self):
        own, plans = ns.Cancellation(), []
        begun = [threading.Event() for _ in range(3)]
        threads = [threading.Thread(target=lambda each=each: plans.append(
            ns.plan(**LONG, cancellation=own, progress=lambda *_: each.set()))) for each in begun]
        for each in threads:
            each.start()
        for each in begun:
            each.wait(60)
        own.cancel()
        for each in threads:
            each.join(60)
        self.assertEqual([plan.stopped_early for plan in plans], [True] * 3)

    def test_progress_counts_up_to_its_total(self):
        told = []
        ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=200_000,
                progress=lambda *each: told.append(each))
        self.assertTrue(told)
        for phase, done, total, unit in told:
            self.assertTrue(phase and unit)
            self.assertTrue(total == 0 or 0 <= done <= total, (done, total))

    def test_progress_can_be_shown(self):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=200_000, progress=True)
        self.assertIn(" of ", shown.getvalue())
        self.assertLess(len(shown.getvalue().splitlines()), 1000)

    def test_searches_run_beside_each_other(self):
        plans = []
        def work():
            plans.append(ns.plan(EXAMPLE, devices=8, device_memory="80GB", evaluations=5000))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(len({plan.to_json() for plan in plans}), 1)
        self.assertEqual(len(plans), 4)


if __name__ == "__main__":
    unittest.main()
