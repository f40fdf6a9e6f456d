"""`gpufleet sandbox` without gpufleet-sandbox, or with one of another version."""

from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gpufleet_sandbox.command
from gpufleet import sandbox_distribution
from gpufleet.cli import sandbox
from gpufleet.components_base.charts import charts_of
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.compiled import compile_data
from gpufleet.sandbox_distribution import CHARTS, COMMANDS, SandboxUnavailableError, sandbox_part

FLEET = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "cluster": {"name": "ml"},
    "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}],
}


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_distribution, "entry_points", lambda **_: ())


def distribution(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, number: str, module: str
) -> None:
    """A gpufleet-sandbox that is found before the installed one."""
    metadata = folder / f"gpufleet_sandbox-{number}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: gpufleet-sandbox\nVersion: {number}\n")
    (metadata / "entry_points.txt").write_text(f"[{COMMANDS}]\nsandbox = {module}:command\n")
    monkeypatch.syspath_prepend(folder)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(sandbox._command(), list(arguments))


def test_the_installed_command_is_used() -> None:
    assert sandbox.command is gpufleet_sandbox.command.command


@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("up",), ("up", "--deploy", "dev", "--format", "json")]
)
def test_without_it_one_line_says_what_to_install(absent: None, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "gpufleet: gpufleet-sandbox is not installed: `pip install CHECKOUT CHECKOUT/sandbox`, "
        "or `make up` in a checkout\n"
    )


def test_another_version_is_refused_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path, monkeypatch, number="99.1", module="does_not_exist")
    result = run("up")
    assert (result.exit_code, result.stdout) == (2, "")
    here = version("pulumi-gpufleet")
    assert result.stderr == (
        "gpufleet: gpufleet-sandbox 99.1 works with pulumi-gpufleet 99.1 only, and pulumi-gpufleet "
        f"{here} is installed: `pip install CHECKOUT CHECKOUT/sandbox`, or `make up` in a "
        "checkout, of one release\n"
    )


def test_a_package_that_it_requires_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacks_a_package.py").write_text("import does_not_exist\n")
    here = version("pulumi-gpufleet")
    distribution(tmp_path, monkeypatch, number=here, module="lacks_a_package")
    with pytest.raises(SandboxUnavailableError, match="gpufleet-sandbox requires does_not_exist"):
        sandbox_part(COMMANDS)


def test_a_simulated_fleet_compiles_without_it_and_its_charts_are_refused(absent: None) -> None:
    fleet = compile_data(FLEET).fleet
    assert fleet is not None
    with pytest.raises(InvalidArgumentsError) as refused:
        charts_of(fleet)
    (finding,) = refused.value.findings
    assert (finding.code, finding.path) == ("sandbox-charts-missing", "addons.charts.source")
    assert "pip install CHECKOUT CHECKOUT/sandbox" in finding.message


def test_a_folder_of_charts_that_is_named_needs_no_sandbox(absent: None) -> None:
    source = {"folder": "/charts"}
    fleet = compile_data({**FLEET, "addons": {"charts": {"source": source}}}).fleet
    assert fleet is not None
    assert charts_of(fleet) == {"source": source}


def test_the_charts_of_the_installed_one_are_a_folder_of_charts() -> None:
    folder = sandbox_part(CHARTS)()
    assert (folder / "gpu-operator" / "Chart.yaml").is_file()
