"""JSON that Python cannot read: each command says why in words for users."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli.cost import command as cost
from gpufleet_policies.commands.adopt import command as adopt
from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.doctor import command as doctor

COMMANDS = {"adopt": adopt, "audit": audit, "doctor": doctor, "cost": cost}
LONG = '{"a": ' + "9" * 5000 + "}"
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("text", "why"), [(LONG, "thousands of digits"), (DEEP, "nested")])
def test_no_advice_to_programmers_of_python(tmp_path: Path, name: str, text: str, why: str) -> None:
    file = tmp_path / "given.json"
    file.write_text(text)
    more = ["--spec", str(file)] if name == "cost" else []
    result = CliRunner().invoke(COMMANDS[name], [str(file), *more])
    said = f"{result.output}{result.exception}"
    assert result.exit_code == 1, said  # the program itself ends with 2
    assert "sys." not in said
    assert "recursion" not in said
    assert why in said or name == "audit"  # it is a text of no known kind there


def test_adopt_reads_a_large_dump(tmp_path: Path) -> None:
    """A state or a dump of a cluster is above the limit of a declaration."""
    pod = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "x"}}
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"kind": "List", "items": [pod] * 20_000}))
    assert file.stat().st_size > 1 << 20
    result = CliRunner().invoke(adopt, [str(file)])
    assert "JSON" not in f"{result.output}{result.exception}"
