"""The policy pack under the real engine: `examples/wasteful` stops, its mended form passes."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpufleet.sandbox.engine import Engine
from gpufleet.sandbox.engine_result import Result
from gpufleet.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]
STACK = "wasteful"


@dataclass
class Example:
    """A copy of the example, so that its stack's settings file stays out of the repository."""

    engine: Engine
    pack: Path

    def up(self, *options: str) -> Result:
        """`pulumi up` as a person types it: a preview first, both with the pack."""
        command = ["up", "--yes", "--stack", STACK, "--policy-pack", str(self.pack), *options]
        return self.engine.call(command, timeout=300)

    def resources(self) -> str:
        """What the stack holds, as `pulumi stack` prints it."""
        return self.engine.call(["stack", "--stack", STACK, "--show-urns"]).output


@pytest.fixture
def example(sandbox: Sandbox, tmp_path: Path) -> Iterator[Example]:
    folder = tmp_path / "wasteful"
    shutil.copytree(ROOT / "examples" / "wasteful", folder)
    project = folder / "Pulumi.yaml"
    environment = Path(os.environ.get("VIRTUAL_ENV", ROOT / ".venv"))
    project.write_text(project.read_text().replace("../../.venv", str(environment)))
    engine = Engine(sandbox.environment(), folder)
    engine.stack_init(STACK)
    yield Example(engine, ROOT / "policies")
    engine.destroy(STACK, check=False)
    engine.call(["stack", "rm", STACK, "--yes", "--force"])


def test_up_stops_before_anything_is_made(example: Example) -> None:
    result = example.up()
    assert result.status != 0
    # The engine wraps nothing, but it indents: compare without line breaks.
    said = " ".join(result.output.split())
    assert "[mandatory]" in said
    assert "[whole-gpu-where-slice-fits] Deployment default/wasteful-chat" in said
    assert "asks for 1 x nvidia.com/gpu = 1 x H100-80GB" in said
    assert "nvidia.com/gpu.shared of pool small-models has 5.6 GiB" in said
    assert "wastes 29,253 USD per month (6 pods; pool training" in said
    assert "gpufleet.dev/ignore-whole-gpu-where-slice-fits" in said
    assert "[shared-gpu-request-over-one] Pod default/wasteful-shell" in said
    assert "[gpu-idle-command] Pod default/wasteful-shell" in said
    assert "Deployment" not in example.resources()
    assert "GpuFleet" not in example.resources()


def test_the_mended_form_passes_the_pack(example: Example) -> None:
    result = example.engine.preview(
        STACK, policies=[example.pack], config={"mended": "true"}, check=False, timeout=300
    )
    assert result.status == 0, result.output
    assert [v for v in result.violations if v.startswith("[mandatory]")] == []


def test_levels_come_from_the_policy_configuration(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "levels.json"
    off = '{"rules": {"whole-gpu-where-slice-fits": "off", "shared-gpu-request-over-one": "off"}}'
    settings.write_text(f'{{"gpufleet-mandatory": {off}, "gpufleet-advisory": {off}}}')
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status == 0, result.output
    assert any("gpu-idle-command" in violation for violation in result.violations)


def test_a_misspelt_rule_in_the_configuration_is_refused(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "levels.json"
    settings.write_text('{"gpufleet-mandatory": {"rules": {"gpu-idle-comand": "off"}}}')
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status != 0
    assert "gpu-idle-comand" in result.output
