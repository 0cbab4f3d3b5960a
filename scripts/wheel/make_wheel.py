#!/usr/bin/env python3
"""Writes the wheel: a zip of the package, libengine and the command, with its metadata.

usage: make_wheel.py SOURCE LIBENGINE COMMAND VERSION TAG OUTPUT_FOLDER

The same files give the same bytes (under the same zlib): names in order, one date, fixed
permissions. Nothing but the standard library, nothing from the network.
"""

import base64
import hashlib
import os
import re
import sys
import zipfile

DISTRIBUTION = "neuroshard_engine"
METADATA = """\
Metadata-Version: 2.1
Name: neuroshard-engine
Version: {version}
Summary: Decides which part of which embedding table goes on which GPU
License: MIT
Project-URL: Paper, https://arxiv.org/abs/2305.01868
Requires-Python: >=3.8
Provides-Extra: progress
Requires-Dist: tqdm; extra == "progress"
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: neuroshard make_wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """\
[console_scripts]
neuroshard = neuroshard_engine.command:main
"""
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say


def package_files(source):
    """{name in the wheel: path} of the package's own files."""
    root = os.path.join(source, "python")
    found = {}
    for folder, _, names in os.walk(os.path.join(root, DISTRIBUTION)):
        for name in names:
            if name.endswith(".py") or name == "py.typed":
                path = os.path.join(folder, name)
                found[os.path.relpath(path, root)] = path
    return found


def contents(source, library, command, version, tag):
    """{name: (bytes, is a program)} of all but RECORD."""
    def read(path):
        with open(path, "rb") as file:
            return file.read()

    files = {name: (read(path), False) for name, path in package_files(source).items()}
    files[f"{DISTRIBUTION}/libengine.so"] = (read(library), True)
    files[f"{DISTRIBUTION}/bin/neuroshard"] = (read(command), True)
    info = f"{DISTRIBUTION}-{version}.dist-info"
    description = standing_alone(read(os.path.join(source, "docs", "PYTHON.md")).decode("utf-8"))
    files[f"{info}/METADATA"] = (
        METADATA.format(version=version, description=description).encode("utf-8"), False)
    files[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode("utf-8"), False)
    files[f"{info}/entry_points.txt"] = (ENTRY_POINTS.encode("utf-8"), False)
    files[f"{info}/LICENSE"] = (read(os.path.join(source, "LICENSE")), False)
    return files, f"{info}/RECORD"


def standing_alone(page):
    """The page without links to other pages of the source tree, which lead nowhere in a wheel."""
    return re.sub(r"\[([^]]*)\]\((?!https://|#)([^)#]*)[^)]*\)",
                  lambda link: f"{link[1]} (docs/{link[2]} of the source tree)"
                  if link[1] != link[2] else f"docs/{link[2]} of the source tree", page)


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def write(path, files):
    """As a temporary file first, so that there is never half a wheel."""
    with zipfile.ZipFile(path + ".tmp", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (content, is_program) in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whose permissions follow
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, content)
    os.replace(path + ".tmp", path)


def main(source, library, command, version, tag, folder):
    files, record = contents(source, library, command, version, tag)
    files = dict(sorted(files.items()))
    lines = "".join(record_line(name, content) for name, (content, _) in files.items())
    files[record] = ((lines + f"{record},,\n").encode("utf-8"), False)
    path = os.path.join(folder, f"{DISTRIBUTION}-{version}-{tag}.whl")
    write(path, files)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
