#!/usr/bin/env python3
"""Writes the SBOM of the static command: SPDX 2.3 as JSON.

usage: sbom.py COMMAND VERSION MODELS_FOLDER OUTPUT < LINES

LINES: one a library linked into the command, "NAME PACKAGE VERSION" of its Debian package. The time is
$SOURCE_DATE_EPOCH, and the document's name comes of the command's SHA-256, so that the same command
gives the same bytes.
"""

import datetime
import hashlib
import json
import os
import sys

LICENSES = {  # of the parts that are linked, as their own projects state them
    "boost": "BSL-1.0",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def package(identifier, name, version, license_name, digest=None):
    """One package of the document; those without a digest are parts of a file, not files."""
    found = {
        "SPDXID": f"SPDXRef-{identifier}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": "NOASSERTION",
    }
    if digest:
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    return found


def document(command, version, models, libraries):
    """The SPDX document. `libraries`: (name, Debian package, version); `models`: a folder."""
    digest = sha256(command)
    packages = [package("neuroshard", "neuroshard", version, "MIT", digest)]
    packages[0]["primaryPackagePurpose"] = "APPLICATION"
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-neuroshard")]
    for name, debian_package, library_version in libraries:
        identifier = "library-" + name.replace("+", "x")
        found = package(identifier, name, library_version, LICENSES[name])
        found["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{debian_package.replace('+', '%2B')}"
                                f"@{library_version.replace('+', '%2B')}"}]
        packages.append(found)
        relations.append(("SPDXRef-neuroshard", "STATIC_LINK", f"SPDXRef-{identifier}"))
    for file in sorted(os.listdir(models)):
        identifier = "model-" + file.replace("_", "-").replace(".safetensors", "")
        packages.append(package(identifier, file, version, "MIT", sha256(os.path.join(models, file))))
        relations.append(("SPDXRef-neuroshard", "CONTAINS", f"SPDXRef-{identifier}"))
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"neuroshard-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/neuroshard-{version}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: neuroshard-sbom.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}
                          for of, kind, to in relations],
    }


def main():
    if len(sys.argv) != 5:
        sys.exit("sbom.py: expected COMMAND VERSION MODELS_FOLDER OUTPUT")
    command, version, models, output = sys.argv[1:]
    libraries = [line.split() for line in sys.stdin]
    with open(output, "w", encoding="utf-8") as file:
        json.dump(document(command, version, models, libraries), file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
