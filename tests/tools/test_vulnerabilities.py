"""`make vulnerabilities` never reports unqueried packages as safe."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "vulnerabilities", ROOT / "tools/vulnerabilities.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "vulnerabilities", module)
    spec.loader.exec_module(module)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/dev.txt").write_text("a==1 --hash=sha256:0\n")
    (tmp_path / "tools/kueue").mkdir(parents=True)
    (tmp_path / "tools/kueue/go.mod").write_text("module a\n")
    (tmp_path / "package.json").write_text("{}")
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return module


def program(name: str, text: str, status: int) -> str:
    path = Path(name).absolute()
    path.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("python", "go", "status", "said"),
    [
        (("fine", 0), ("fine", 0), 0, "looked at: 2 of 2"),
        (("Found 1 known vulnerability in 1 package", 1), ("fine", 0), 1, "VULNERABLE, see above"),
        (("fine", 0), ("affected", 3), 1, "tools/kueue: VULNERABLE"),
        (
            ("ERROR:x:a: Dependency not found on PyPI and could not be audited: a (1)", 1),
            ("govulncheck: fetching vulnerabilities: no such host", 1),
            2,
            "NOT looked at: 2",
        ),
    ],
)
def test_what_was_not_looked_at_is_named(
    tool: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    python: tuple[str, int],
    go: tuple[str, int],
    status: int,
    said: str,
) -> None:
    programs = (program("pip-audit", *python), program("go", *go))
    arguments = ("vulnerabilities", "--pip-audit", programs[0], "--go", programs[1])
    monkeypatch.setattr("sys.argv", [*arguments, "--release"])
    assert tool.main() == (1 if status == 1 else 0)  # a release stops at what is known only
    assert ("NOT ASKED" in capsys.readouterr().out) is (status == 2)
    monkeypatch.setattr("sys.argv", list(arguments))
    assert tool.main() == status
    printed = capsys.readouterr().out
    assert said in printed
    assert "never looked at by this target:\n  package.json" in printed
    if status == 2:
        assert "no advisories of a" in printed
        assert "no such host" in printed


def test_programs_that_a_module_only_names_are_looked_at(tool: ModuleType) -> None:
    module = Path("tools/kueue")
    (module / "go.mod").write_text("module a\n\ntool (\n\tb.example/c\n)\n")
    asked = Path("go").absolute()
    asked.write_text('#!/bin/sh\necho "$*" > "$0.log"\n')
    asked.chmod(0o755)
    assert tool.go_answer(module, str(asked)).reason == ""
    assert Path("go.log").read_text().split()[2:] == ["tool"]
    (module / "main.go").write_text("package main\n")
    tool.go_answer(module, str(asked))
    assert Path("go.log").read_text().split()[2:] == ["./...", "tool"]


def test_a_database_that_is_not_reached_is_asked_once(tool: ModuleType) -> None:
    asked = Path("go").absolute()
    said = "govulncheck: fetching vulnerabilities: no such host"
    asked.write_text(
        f'#!/bin/sh\necho >> "$0.log"\necho "{said}" >&2\necho "exit status 1" >&2\nexit 1\n'
    )
    asked.chmod(0o755)
    modules = [Path("tools/kueue"), Path("tools/kueue")]
    assert [one.reason for one in tool.go_answers(modules, str(asked))] == [said, said]
    assert Path("go.log").read_text() == "\n"


def test_a_program_that_is_missing_is_no_answer(tool: ModuleType) -> None:
    assert "No such file" in tool.python_answer(Path("requirements/dev.txt"), "/none").reason
    assert tool.report((), (), lambda text: None) == 2
