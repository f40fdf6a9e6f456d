"""JSON of `size`, `plan` and `pack`: camelCase keys, the same ones in success and in error."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gpufleet_planner.commands.pack import command as pack
from gpufleet_planner.commands.plan import command as plan
from gpufleet_planner.commands.size import command as size

CAMEL = re.compile(r"[a-z][A-Za-z0-9]*")
FREE = {"unplaced", "evidence", "spec", "manifests", "pools", "cluster", "fleetSpec", "fleet"}
"""Parts whose keys are the user's names, or documents of other programs."""
GOOD = {
    "size": "model: Llama-3.1-8B\ncontext: 4096\ngpu: H100-80GB\n",
    "plan": "platform: eks\ncluster: {name: c, region: us-east-1}\nworkloads:\n"
    "- {name: chat, workload: inference, model: Llama-3.1-8B, context: 4096}\n",
    "pack": "machines: [{gpu: A100-80GB, usdPerHour: 3}]\nshares: [{name: a, mig: 1g.10gb}]\n",
}
BAD = {
    "size": "model: No-such-model\ncontext: 4096\n",
    "plan": GOOD["plan"].replace("8B", "9X"),
    "pack": "machines: [{gpu: Z9}]\nshares: [{name: a, mig: 1g.10gb}]\n",
}
COMMANDS: dict[str, click.Command] = {"size": size, "plan": plan, "pack": pack}


def answer(name: str, text: str, folder: Path) -> tuple[int, dict[str, Any]]:
    file = folder / f"{name}.yaml"
    file.write_text(text, "utf-8")
    found = CliRunner().invoke(COMMANDS[name], [str(file), "--format", "json"])
    return found.exit_code, json.loads(found.stdout)


def odd_keys(value: object) -> set[str]:
    found: set[str] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            if not CAMEL.fullmatch(str(key)):
                found.add(str(key))
            if key not in FREE:
                found |= odd_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            found |= odd_keys(inner)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_keys(name: str, tmp_path: Path) -> None:
    done, good = answer(name, GOOD[name], tmp_path)
    failed, bad = answer(name, BAD[name], tmp_path)
    assert (done, failed) == (0, 1)
    assert good.keys() == bad.keys()
    assert odd_keys(good) | odd_keys(bad) == set()
