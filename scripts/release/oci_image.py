#!/usr/bin/env python3
"""Writes an OCI image that holds the static command and nothing else, as a tar of an image layout.

usage: oci_image.py COMMAND VERSION ARCHITECTURE OUTPUT

ARCHITECTURE: as OCI calls it (amd64, arm64). The one layer is not compressed, so that the bytes do not
depend on a version of zlib. All times are $SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import io
import json
import os
import sys
import tarfile

MEDIA = "application/vnd.oci.image."


def tar_of(files, epoch):
    """The bytes of a tar of {name: (bytes, mode)}, in the order of names, with no owner but root."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            content, mode = files[name]
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, epoch
            archive.addfile(entry, io.BytesIO(content))
    return output.getvalue()


def image(command, version, architecture, epoch):
    """{name in the layout: (bytes, mode)}."""
    blobs = {}

    def blob(content, media_type):
        """Adds a blob, and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": MEDIA + media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def as_json(value):
        return (json.dumps(value, separators=(",", ":")) + "\n").encode("utf-8")

    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    layer = blob(tar_of({"neuroshard": (command, 0o755)}, epoch), "layer.v1.tar")
    config = blob(as_json({
        "created": created, "architecture": architecture, "os": "linux",
        "config": {"Entrypoint": ["/neuroshard"], "WorkingDir": "/"},
        # Of layers that are not compressed, the digest of the content is that of the blob.
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "history": [{"created": created, "comment": f"neuroshard {version}"}]}), "config.v1+json")
    manifest = blob(as_json({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": config,
        "layers": [layer]}), "manifest.v1+json")
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    return {
        "oci-layout": (as_json({"imageLayoutVersion": "1.0.0"}), 0o644),
        "index.json": (as_json({"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json",
                                "manifests": [manifest]}), 0o644), **blobs}


def main():
    if len(sys.argv) != 5:
        sys.exit("oci_image.py: expected COMMAND VERSION ARCHITECTURE OUTPUT")
    command, version, architecture, output = sys.argv[1:]
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    with open(command, "rb") as file:
        content = file.read()
    with open(output, "wb") as file:
        file.write(tar_of(image(content, version, architecture, epoch), epoch))


if __name__ == "__main__":
    main()
