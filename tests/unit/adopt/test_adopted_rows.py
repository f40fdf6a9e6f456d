"""Rows of `adopted.jsonl`: what exists -> the key of a declaration."""

import json
from pathlib import Path

from gpufleet.fleet.adopted_rows import adopted_in

ROWS = [
    {"of": "pool", "field": "size", "from": "disk.gib", "type": "int", "omit": 100},
    {"of": "pool", "field": "disk.type", "from": "disk.kind", "values": {"PD_SSD": "ssd"}},
    {"of": "pool", "field": "disk.raw", "when": {"disk.cache": None}, "is": True},
    {"of": "other", "field": "size", "from": "disk.gib", "type": "text"},
]


def test_each_row_gives_its_key_and_defaults_and_other_values_give_none(tmp_path: Path) -> None:
    (tmp_path / "adopted.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    found = adopted_in(f"{tmp_path}/adoption.py")
    assert found("pool", disk={"gib": 200, "kind": "PD_SSD"}) == {
        "size": 200,
        "disk": {"type": "ssd", "raw": True},
    }
    assert found("pool", disk={"gib": 100, "kind": "PD_STANDARD", "cache": {}}) == {}
    assert found("pool", disk={"gib": "${var.size}", "cache": {}}) == {}
    assert found("other", disk={"gib": "200"}) == {"size": "200"}
