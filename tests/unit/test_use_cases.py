"""docs/use-cases.md and docs/tutorials: each runs as the page shows it, in an empty folder.

A section has files (a fenced block whose first line is `# NAME`), and an indented block with
commands (`$ gpufleet ...`) and parts of their output. A part is a line, in order, blanks aside;
`...` matches any text. A block of a tutorial without `$` needs a cloud, a vCenter, a cluster or a
shell: `ELSEWHERE` names the test that runs its commands on a simulator.
"""

import importlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli import commands as program_commands

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "use-cases.md"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
MOST_LINES = 30


@dataclass(frozen=True)
class UseCase:
    title: str
    files: dict[str, str]
    commands: list[tuple[str, list[str]]]
    """Command, and parts of its output in order."""


def use_cases() -> list[UseCase]:
    sections = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [_case(section) for section in sections]


def tutorials() -> list[UseCase]:
    """Each tutorial is one case: its files and commands are of one folder."""
    return [_case(page.read_text(encoding="utf-8").removeprefix("# ")) for page in TUTORIALS]


def _case(section: str) -> UseCase:
    title, _, body = section.partition("\n")
    files: dict[str, str] = {}
    for block in re.findall(
        r"^```(?:yaml|text)\n# (.*?)^```", body, flags=re.MULTILINE | re.DOTALL
    ):
        name, _, text = block.partition("\n")
        files[name] = text
    outside = re.sub(r"^```.*?^```", "", body, flags=re.MULTILINE | re.DOTALL)
    commands: list[tuple[str, list[str]]] = []
    running = False  # a block whose first line is not a `$` needs a cloud, a cluster or a shell
    for line in outside.splitlines():
        if line.startswith("    $ "):
            commands.append((line.removeprefix("    $ "), []))
            running = True
        elif line.startswith("    ") and running:
            commands[-1][1].append(" ".join(line.split()))
        elif line:
            running = False
    return UseCase(title, files, commands)


WHEEL = "tests/wheel/test_wheel.py::test_it_brings_up_a_sandbox_and_leaves_nothing"
NOTHING = "tests/engine/test_from_nothing.py::test_from_nothing_to_a_pod_on_a_gpu_and_back"
LAB = "tests/engine/vsphere/test_lab.py::test_the_lab_from_nothing_to_nothing"
ELSEWHERE = {
    "python3 -m venv .venv && . .venv/bin/activate": WHEEL,
    "gpufleet sandbox status": WHEEL,
    "gpufleet preflight fleet.yaml": "tests/unit/preflight/test_aws.py",
    "pip install 'CHECKOUT[preflight]'": (
        "tests/wheel/test_light_cli.py::test_preflight_has_enough_with_its_extra"
    ),
    "cd examples/existing-nodes": "tests/engine/test_existing.py",
    "pulumi stack init prod": NOTHING,
    "VSPHERE_USER=... VSPHERE_PASSWORD=... gpufleet vsphere inventory fleet.yaml \\": (
        "tests/engine/vsphere/test_inventory_command.py"
    ),
    "pulumi config set --secret gpufleet:joinToken TOKEN": LAB,
}
"""First line of a block -> the test that runs its commands."""


def blocks(page: Path) -> list[str]:
    """First line of each indented block of commands."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"(?:^|\n\n)((?:    .+\n?)+)", text)
    return [block.strip().splitlines()[0] for block in found]


def test_every_block_of_a_tutorial_is_run() -> None:
    others = [one for page in TUTORIALS for one in blocks(page) if not one.startswith("$ ")]
    assert set(others) == set(ELSEWHERE)
    for test in ELSEWHERE.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (DOCS.parent / file).read_text("utf-8") if name else True
        assert (DOCS.parent / file).is_file()


CASES = use_cases()
LESSONS = tutorials()


@pytest.mark.parametrize("case", CASES + LESSONS, ids=lambda case: case.title)
def test_the_page_is_what_happens(
    case: UseCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name, text in case.files.items():
        assert len(text.splitlines()) <= MOST_LINES, (
            f"{name} of {case.title} is not a short example"
        )
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert case.commands, f"{case.title} shows no command"
    for command, parts in case.commands:
        output = _run(command)
        lines = [" ".join(line.split()) for line in output.splitlines()]
        findings = [line for line in lines if _FINDING.match(line)]
        silent = [line for line in findings if not any(_holds(line, part) for part in parts)]
        assert not silent, f"$ {command}\nthe page does not show: {silent}"
        for part in parts:
            if part == "...":
                continue
            found = next((n for n, line in enumerate(lines) if _holds(line, part)), None)
            assert found is not None, (
                f"$ {command}\n{part!r} is missing, or out of order:\n{output}"
            )
            lines = lines[found:]


def test_every_step_of_a_rollout_has_a_command_that_exists() -> None:
    page = (DOCS / "gpu-operator.md").read_text("utf-8")
    section = page.partition("## Checklist of a rollout")[2].partition("\n## ")[0]
    steps = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(steps) >= 10
    for step, source, command in steps:
        assert step.strip("| ")
        assert source
        for written in re.findall(r"`gpufleet ([^`]+)`", command) or [""]:
            name, *arguments = written.split()
            made = importlib.import_module(program_commands()[name].module).command
            options = {option for one in made.params for option in one.opts}
            assert {one for one in arguments if one.startswith("--")} <= options, written


_FINDING = re.compile(r"(?:[0-9]+ )?(?:error|warning) ")


def _run(command: str) -> str:
    """Output of the command, findings first. It runs in this process: most of its time would be the
    start of Python."""
    program, name, *arguments = shlex.split(command)
    if program == "cat":
        return Path(name).read_text(encoding="utf-8")
    assert program == "gpufleet", f"{program} is not a command of the page"
    done = CliRunner().invoke(
        importlib.import_module(program_commands()[name].module).command, arguments
    )
    assert done.exit_code in {0, 1}, done.output
    return done.stderr + done.stdout


def _holds(line: str, part: str) -> bool:
    pattern = ".*".join(re.escape(piece.strip()) for piece in part.split("..."))
    return re.search(pattern, line) is not None


def test_the_page_has_the_promised_cases() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(CASES) >= 46
    assert len({case.title for case in CASES}) == len(CASES)
    for test in re.findall(r"`(tests/[^`]*\.py)`", text):
        assert (DOCS.parent / test).is_file(), test
    for word in ("EKS", "GKE", "vSphere", "OpenShift", "MIG", "MPS", "vGPU", "DRA", "Kueue"):
        assert word in text
