"""`gpufleet policies`: the list of rules, and a pack folder that boots."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from gpufleet_policies import pack_folder
from gpufleet_policies.commands.policies import command
from gpufleet_policies.pack_folder import own_requirement
from gpufleet_policies.rules.registry import RULES
from tests.reading import yaml_data


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_rules_as_text_and_json():
    text = run("rules")
    assert text.exit_code == 0
    assert "gpu-idle-command  (dev advisory, prod mandatory, strict mandatory)" in text.output
    assert f"{len(RULES)} rules" in text.output
    rows = json.loads(run("rules", "--format", "json").output)
    assert [row["id"] for row in rows] == [rule.id for rule in RULES]
    assert rows[0]["levels"] == {"dev": "advisory", "prod": "mandatory", "strict": "mandatory"}
    assert rows[0]["docs"] == "docs/policies.md#gpu-spend-unbounded"
    assert {"fleet", "workload"} <= {validated for row in rows for validated in row["judges"]}


def test_init_is_idempotent_and_keeps_settings(tmp_path: Path):
    folder = tmp_path / "deep" / "pack"
    first = json.loads(run("init", str(folder), "--format", "json").output)
    names = [
        "PulumiPolicy.yaml",
        "__main__.py",
        "requirements.txt",
        "gpu-policy.yaml",
        ".gitignore",
    ]
    assert first["written"] == names
    requirement = (folder / "requirements.txt").read_text().splitlines()[-1]
    assert requirement == own_requirement()
    assert first["local"] is ("file://" in requirement)
    project = yaml_data((folder / "PulumiPolicy.yaml").read_text())
    assert project["runtime"] == {"name": "python", "options": {"virtualenv": "venv"}}
    (folder / "gpu-policy.yaml").write_text("profile: strict\n")
    second = json.loads(run("init", str(folder), "--format", "json").output)
    assert (second["written"], second["unchanged"]) == ([], names)
    assert (folder / "gpu-policy.yaml").read_text() == "profile: strict\n"


def test_init_says_what_comes_next(tmp_path: Path):
    folder, shared = tmp_path / "my pack", tmp_path / "venv"
    install, preview = (
        f"pulumi install --cwd '{folder}'",
        f"pulumi preview --policy-pack '{folder}'",
    )
    assert run("init", str(folder)).output.endswith(f"next: {install}; then {preview}\n")
    shared.mkdir()
    (folder / "PulumiPolicy.yaml").unlink()
    again = run("init", str(folder), "--virtualenv", "../venv").output
    assert again.endswith(f"next: {preview}\n")
    assert "next:" not in run("init", str(folder), "--virtualenv", "../venv").output


def test_init_never_overwrites_and_writes_nothing_then(tmp_path: Path):
    (tmp_path / "__main__.py").write_text("print('mine')\n")
    result = run("init", str(tmp_path))
    assert result.exit_code == 1
    assert f"{tmp_path / '__main__.py'} was changed and is not overwritten" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["__main__.py"]


def test_init_into_a_file_is_wrong_usage(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert run("init", str(tmp_path / "file")).exit_code == 2


def test_init_where_nothing_may_be_written_exits_2(tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "gpufleet.cli", "policies", "init", str(tmp_path / "file" / "x")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_settings_it_writes_are_readable_when_uncommented(tmp_path: Path):
    from gpufleet_policies.rules.settings import read_settings

    run("init", str(tmp_path))
    lines = (tmp_path / "gpu-policy.yaml").read_text().splitlines()[3:]
    settings = yaml_data("\n".join(line.removeprefix("# ") for line in lines))
    assert len(read_settings(settings).exceptions) == 1


@pytest.mark.parametrize("where", ["init", "repository"])
def test_pack_folders_boot(where: str, tmp_path: Path):
    folder = Path(__file__).parents[2] / "policies"
    if where == "init":
        folder = tmp_path
        run("init", str(folder))
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(folder)],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        running.terminate()
    assert first.strip().isdecimal(), f"the first line must be the port, it is {first!r}"


def test_importing_the_front_stays_light():
    """Fleets are compiled only when a settings file tells of one: pydantic costs a third of a
    second."""
    script = (
        "import sys, gpufleet_policies.fronts.crossguard, gpufleet_policies.rules.registry; "
        "print([m for m in ('pydantic', 'yaml', 'rich', 'click', 'pulumi_kubernetes') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    # The SDK itself imports yaml.
    assert done.stdout.strip() in ("[]", "['yaml']")


def test_the_pack_installs_what_runs_here_or_a_wheel(tmp_path: Path):
    """A checkout or a wheel is named by its path: an index may not have the package."""
    wheel = tmp_path / "pulumi_gpufleet-9.9.9-py3-none-any.whl"
    wheel.write_bytes(b"")
    run("init", str(tmp_path / "pack"), "--wheel", str(wheel))
    written = (tmp_path / "pack" / "requirements.txt").read_text().splitlines()[-1]
    assert written == f"pulumi-gpufleet[policies] @ {wheel.as_uri()}"
    assert own_requirement().startswith("pulumi-gpufleet[policies]")
    where = own_requirement().partition(" @ file://")[2]
    assert not where or Path(where).exists()


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (
            {"url": "https://git.example.com/a.git", "vcs_info": {"vcs": "git", "commit_id": "5a"}},
            " @ git+https://git.example.com/a.git@5a",
        ),
        (
            {"url": "https://example.com/a-0.1.0-py3-none-any.whl", "archive_info": {}},
            " @ https://example.com/a-0.1.0-py3-none-any.whl",
        ),
        ({"url": "file:///a", "dir_info": {}}, " @ file:///a"),
        (None, "==9"),
    ],
)
def test_a_pack_installs_what_made_it(
    origin: object, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records are those of PEP 610, as pip writes them."""
    installed = SimpleNamespace(version="9", read_text=lambda _: origin and json.dumps(origin))
    monkeypatch.setattr(pack_folder, "distribution", lambda _: installed)
    assert own_requirement() == f"pulumi-gpufleet[policies]{requirement}"
