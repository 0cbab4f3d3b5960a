"""Reads an exported trace by MLCommons' own package, and holds it against the plan that it is of."""
import json
import math
import pathlib
import sys

from chakra.schema.protobuf import et_def_pb2 as schema
from chakra.src.third_party.utils.protolib import decodeMessage, openFileRd


def rank_of(path):
    """Metadata and nodes of a rank."""
    file = openFileRd(str(path))
    metadata = schema.GlobalMetadata()
    assert decodeMessage(file, metadata)
    nodes = []
    while True:
        node = schema.Node()
        if not decodeMessage(file, node):
            return {each.name: each.string_val for each in metadata.attr}, nodes
        nodes.append(node)


def value(node, name):
    attribute = next(each for each in node.attr if each.name == name)
    kind = attribute.WhichOneof("value")
    assert kind is not None, (node.name, name)  # a zero of a oneof has to be written
    return getattr(attribute, kind)


def main(folder, plan_path, batch_size, steps):
    plan = json.loads(pathlib.Path(plan_path).read_text())
    devices = plan["devices"]
    paths = sorted(pathlib.Path(folder).iterdir())
    assert {path.name for path in paths} == {f"step.{rank}.et" for rank in range(devices)}
    columns = [0] * devices
    for shard in plan["shards"]:
        columns[shard["device"]] += shard["columns"][1] - shard["columns"][0]
    sent, received, nodes_in_all = {}, {}, 0
    for rank in range(devices):
        metadata, nodes = rank_of(pathlib.Path(folder) / f"step.{rank}.et")
        nodes_in_all += len(nodes)
        assert metadata["cost_provenance"] == "simulated", metadata
        assert metadata["batch_size"] == str(batch_size)
        known = set()
        lookups_us = 0
        for node in nodes:
            assert node.id not in known and known.issuperset(node.data_deps)
            known.add(node.id)
            assert value(node, "is_cpu_op") is False
            if node.type == schema.COMP_NODE:
                lookups_us += node.duration_micros if "lookup" in node.name else 0
            elif node.type == schema.COMM_COLL_NODE:
                assert value(node, "comm_type") == schema.ALL_TO_ALL
                sent[rank, None, node.id] = value(node, "comm_size") * (devices - 1) // devices
            else:
                way = sent if node.type == schema.COMM_SEND_NODE else received
                key = (value(node, "comm_src"), value(node, "comm_dst"), value(node, "comm_tag"))
                assert key not in way and rank == key[0 if way is sent else 1]
                way[key] = value(node, "comm_size")
        expected = 1e3 * steps * plan["per_device"][rank]["compute_ms"]
        assert 0 <= lookups_us - expected <= 2 * steps, (lookups_us, expected)
    if received:
        assert sent == received
    # A rank sends its columns for the samples of all others, and gets their gradients back.
    exact = 2 * steps * sum(columns) * 4 * batch_size * (devices - 1) / devices
    assert math.isclose(sum(sent.values()), exact, rel_tol=1e-6), (sum(sent.values()), exact)
    kind = "pairs" if received else "collectives"
    print(f"chakra: {devices} ranks, {nodes_in_all} nodes, {kind}, {exact / 1e9:.2f} GB exchanged")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
