"""Files with a key that is not known: its name is shown, and never its value."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet_planner.commands.pack import command as pack
from gpufleet_planner.commands.plan import command as plan
from gpufleet_planner.commands.size import command as size

WORD = "plain-word-of-a-person"
ADDRESS = {"about": "x" * 40, "url": f"https://bob:{WORD}@host.example/x"}
TOKEN = "ghp_" + "a1B2" * 9
SIZE: dict[str, Any] = {"model": "Llama-3.1-8B", "workload": "inference", "context": 8192}
PLAN: dict[str, Any] = {
    "platform": "eks",
    "cluster": {"name": "a", "region": "us-east-1"},
    "workloads": [{"name": "chat", **SIZE}],
}
PACK: dict[str, Any] = {
    "machines": [{"name": "a", "instanceType": "g6.xlarge"}],
    "shares": [{"name": "b", "gpus": 1}],
}


def shown(command: Any, data: dict[str, Any], tmp_path: Path, *options: str) -> str:
    file = tmp_path / "file.json"
    file.write_text(json.dumps(data))
    result = CliRunner().invoke(command, [str(file), *options])
    assert result.exit_code == 1, result.output
    return result.output


@pytest.mark.parametrize("options", [(), ("--format", "json")])
@pytest.mark.parametrize("value", [WORD, ADDRESS, [WORD], f"{'x ' * 25}{TOKEN}"])
@pytest.mark.parametrize("key", ["password", "dbPassword", "apiVersion"])
@pytest.mark.parametrize(
    ("command", "data", "place"),
    [
        (size, SIZE, None),
        (plan, PLAN, None),
        (plan, PLAN, "workloads"),
        (pack, PACK, None),
        (pack, PACK, "shares"),
        (pack, PACK, "machines"),
    ],
)
def test_the_name_is_shown_and_not_the_value(
    command: Any,
    data: dict[str, Any],
    place: str | None,
    key: str,
    value: object,
    options: tuple[str, ...],
    tmp_path: Path,
) -> None:
    wrong = (
        {**data, key: value} if place is None else {**data, place: [{**data[place][0], key: value}]}
    )
    text = shown(command, wrong, tmp_path, *options)
    assert f"`{key}` is not a key here" in text
    assert WORD not in text
    assert TOKEN[:20] not in text
    for near in ("workload", "board", "provisioner"):  # nothing is near
        assert f"write {near}" not in text


@pytest.mark.parametrize(
    ("command", "data", "slip", "key"),
    [
        (size, SIZE, "contxt", "context"),
        (size, SIZE, "Model", "model"),
        (plan, PLAN, "platfrom", "platform"),
        (pack, PACK, "machine", "machines"),
    ],
)
def test_a_slip_is_answered_with_the_key(
    command: Any, data: dict[str, Any], slip: str, key: str, tmp_path: Path
) -> None:
    assert f"write {key}" in shown(command, {**data, slip: 1}, tmp_path)


@pytest.mark.parametrize("key", ["context", "precision"])
def test_of_a_known_key_no_part_of_a_credential_is_shown(key: str, tmp_path: Path) -> None:
    assert WORD not in shown(size, {**SIZE, key: ADDRESS}, tmp_path)
    assert TOKEN[:20] not in shown(size, {**SIZE, key: f"{'x ' * 25}{TOKEN}"}, tmp_path)


@pytest.mark.parametrize("key", ["cluster", "budget", "addons", "catalogueOverlay"])
def test_of_the_further_spec_of_a_plan_only_keys_are_shown(key: str, tmp_path: Path) -> None:
    value = [ADDRESS] if key in {"addons", "catalogueOverlay"} else {"password": WORD}
    text = shown(plan, {**PLAN, "spec": {key: value}}, tmp_path)
    assert f"spec.{key}" in text
    assert WORD not in text
