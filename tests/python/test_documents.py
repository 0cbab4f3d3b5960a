"""The examples of docs/PYTHON.md run as they stand, in their order."""

import contextlib
import io
import os
import re
import tempfile
import unittest

PAGE = os.path.join(os.environ["NEUROSHARD_EXAMPLES"], "../docs/PYTHON.md")


class DocumentTest(unittest.TestCase):
    def test_examples_run(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        printed, names = io.StringIO(), {}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed), \
                self.assertLogs("neuroshard_engine", "WARNING"):
            os.chdir(folder)
            try:
                for block in blocks:
                    exec(compile(block, PAGE, "exec"), names)
            finally:
                os.chdir(before)
        self.assertIn("SIMULATED", printed.getvalue())
        self.assertIn("need", printed.getvalue().splitlines()[-1])  # what would make it fit


if __name__ == "__main__":
    unittest.main()
