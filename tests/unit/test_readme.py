"""The first screen of README.md is the program's output, and the first answer needs one file."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.explain import command as explain
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.commands.audit import command as audit
from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "first-answer"


def shown(command: str) -> list[str]:
    """The lines that README shows under a command."""
    found = re.search(rf"^    \$ {re.escape(command)}\n(.*?)(?=^    \$|^$)", README, re.M | re.S)
    assert found is not None
    return [line.strip() for line in found[1].splitlines()]


def test_the_first_screen_has_what_it_is_for() -> None:
    screen = "\n".join(README.splitlines()[:28])
    for part in ("while it is a file", "pools:", "gpufleet explain", "USD per month", "up"):
        assert part in screen


def test_its_fleet_is_that_of_the_example() -> None:
    (first, *_) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    assert yaml_data(first) == yaml_data((EXAMPLE / "fleet.yaml").read_text())


def run(command: str) -> Result:
    """The words of a page, with its files in the folder of the example."""
    _, name, *arguments = shlex.split(command)
    files = [str(EXAMPLE / Path(one).name) if ".yaml" in one else one for one in arguments]
    return CliRunner().invoke({"explain": explain, "audit": audit}[name], files)


@pytest.mark.parametrize(
    "command",
    ["gpufleet explain fleet.yaml", "gpufleet audit notebook.yaml --profile prod"],
)
def test_the_program_prints_what_is_shown(command: str) -> None:
    printed = {line.strip() for line in run(command).stdout.splitlines()}
    assert [line for line in shown(command) if line not in printed] == []


def test_the_commands_of_the_example_end_as_its_page_says() -> None:
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    \.venv-cli/bin/(gpufleet .*)$", page, re.M)
    assert [run(command).exit_code for command in commands] == [0, 1, 0]
    assert run("gpufleet audit notebook.yaml").exit_code == 0


def test_nodes_that_are_tested_and_repaired(tmp_path: Path) -> None:
    """The watching and repairing program, delay, floor and cost; and the files."""
    said = run("gpufleet explain tested-nodes.yaml").stdout
    train, chat = said.split("\nchat ")
    for pool, words in (
        (
            train,
            ("dcgmi diag -r 3", "at least 300 GB/s", "by NVSentinel", "2 of 4 nodes may be out"),
        ),
        (chat, ("by EKS node auto repair", "10 minutes for a GPU", "1 of 10 nodes may be out")),
    ):
        assert [one for one in (*words, "watched", "USD/h is paid") if one not in pool] == []
    fleet = compile_data(yaml_data((EXAMPLE / "tested-nodes.yaml").read_text())).fleet
    assert fleet is not None
    texts = {one.path: one.text for one in artefacts(fleet)}
    assert "acceptance-train" in texts["manifests/acceptance/train.yaml"]
    assert "maxNodes: 2" in texts["values/nvsentinel.yaml"]
    assert "GpuPoolAtFloor" in texts["manifests/monitoring/rules.yaml"]
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = CliRunner().invoke(audit, [str(tmp_path), "--format", "json"])
    assert "health-two-janitors" not in found.stdout
    assert "taint-never-removed" not in found.stdout
