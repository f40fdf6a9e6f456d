"""The policy pack under the real engine: `examples/wasteful` stops, its fixed form passes."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.engine import PulumiEngine
from gpufleet_sandbox.engine_result import Result
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import Project

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]
STACK = "wasteful"
MISTAKES = {
    "gpu-request-differs-from-limit",
    "rayjob-cluster-outlives-job",
    "ray-group-maximum-unset",
    "shared-gpu-request-over-one",
    "fraction-with-whole-gpu",
    "gpu-count-below-parallelism",
    "gpu-count-exceeds-parallelism",
    "gpu-idle-command",
    "dra-claim-unused",
    "autoscaler-idle-not-below-minimum",
    "karpenter-never-consolidates",
}
"""Mistakes of the objects of examples/wasteful, a resource each."""


@dataclass
class Example:
    """A copy of the example, so that its stack's settings file stays out of the repository."""

    engine: PulumiEngine
    pack: Path

    def up(self, *options: str) -> Result:
        """`pulumi up` as a person types it: a preview first, both with the pack."""
        command = ["up", "--yes", "--stack", STACK, "--policy-pack", str(self.pack), *options]
        return self.engine.call(command, timeout=300)

    def resources(self) -> str:
        """Contents of the stack, as `pulumi stack` prints it."""
        return self.engine.call(["stack", "--stack", STACK, "--show-urns"]).output


@contextmanager
def copied(example: Path, sandbox: Sandbox, folder: Path) -> Iterator[Example]:
    shutil.copytree(example, folder)
    project = folder / "Pulumi.yaml"
    environment = Path(os.environ.get("VIRTUAL_ENV", ROOT / ".venv"))
    project.write_text(project.read_text().replace("../../.venv", str(environment)))
    engine = PulumiEngine(sandbox.environment(), folder)
    engine.stack_init(STACK)
    yield Example(engine, ROOT / "policies")
    engine.destroy(STACK, check=False)
    engine.call(["stack", "rm", STACK, "--yes", "--force"])


@pytest.fixture(scope="module")
def wasteful(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    folder = tmp_path_factory.mktemp("wasteful") / "copy"
    with copied(ROOT / "examples" / "wasteful", sandbox, folder) as found:
        yield found


@pytest.fixture
def example(wasteful: Example) -> Iterator[Example]:
    """Nothing of it is ever deployed: the tests share a stack, each with the settings it has."""
    yield from with_own_settings(wasteful)


@pytest.fixture
def mistakes(wasteful: Example) -> Iterator[Example]:
    yield from with_own_settings(wasteful)


def with_own_settings(example: Example) -> Iterator[Example]:
    """Settings of one test: the engine saves them in the stack's file, and the old ones return."""
    settings = example.engine.cwd / f"Pulumi.{STACK}.yaml"
    before = settings.read_bytes()
    yield example
    settings.write_bytes(before)


def mandatory(result: Result) -> set[str]:
    """Rules of the mandatory violations."""
    return {
        found.group(1)
        for text in result.violations
        if text.startswith("[mandatory]") and (found := re.search(r"\[([a-z0-9-]+)\] \w+ ", text))
    }


def test_up_stops_for_eleven_reasons_before_anything_is_made(mistakes: Example) -> None:
    result = mistakes.up("--config", "case=objects")
    assert result.status != 0
    said = " ".join(result.output.split())
    assert {rule for rule in MISTAKES if f"[{rule}]" in said} == MISTAKES
    assert len(MISTAKES) >= 10
    assert "kubernetes:apps/v1:Deployment" not in mistakes.resources()


def test_the_same_workloads_without_the_mistakes_pass(mistakes: Example) -> None:
    result = mistakes.engine.preview(
        STACK,
        policies=[mistakes.pack],
        config={"case": "objects", "corrected": "true"},
        check=False,
        timeout=300,
    )
    assert result.status == 0, result.output
    assert mandatory(result) == set()


PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as kubernetes

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
pulumi.CustomResource("kubernetes:batch/v1:Job", "train", {
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "remediated", "namespace": "default",
                 "annotations": {"pulumi.com/skipAwait": "true"}},
    "spec": {"backoffLimit": 1, "suspend": True, "template": {"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "train", "resources": {
            "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}}}]}}},
}, pulumi.ResourceOptions(provider=cluster))
"""


def test_a_remediated_resource_shows_the_change_in_the_preview(
    cluster_project: Callable[..., Project], core: Any, tmp_path: Path
) -> None:
    project = cluster_project({"__main__.py": PROGRAM})
    settings = tmp_path / "remediate.json"
    remediate = {"rules": {"gpu-job-without-deadline": "remediate"}}
    settings.write_text(json.dumps({"gpufleet-settings": remediate}))
    options = ["--policy-pack-config", str(settings)]
    shown = project.run("preview", "--diff", *options, policies=[ROOT / "policies"], check=False)
    assert shown.status == 0, shown.output
    assert "[remediate]" in shown.output
    assert "activeDeadlineSeconds" in shown.output
    made = project.run("up", *options, policies=[ROOT / "policies"], check=False)
    assert made.status == 0, made.output
    from kubernetes.client import BatchV1Api

    job = BatchV1Api(core.api_client).read_namespaced_job("remediated", "default")
    assert job.spec.active_deadline_seconds == 86400


def test_up_stops_before_anything_is_made(example: Example) -> None:
    result = example.up()
    assert result.status != 0
    # The engine wraps nothing, but it indents: compare without line breaks.
    said = " ".join(result.output.split())
    assert "[mandatory]" in said
    assert "[gpu-oversized-for-model] Deployment default/wasteful-chat" in said
    assert "requests 1 x nvidia.com/gpu = 1 x H100-80GB" in said
    assert "nvidia.com/gpu.shared of pool small-models has 5.6 GiB" in said
    assert "wastes 29,253 USD per month (6 pods; pool training" in said
    assert "gpufleet.dev/ignore-gpu-oversized-for-model" in said
    assert "[shared-gpu-request-over-one] Pod default/wasteful-shell" in said
    assert "[gpu-idle-command] Pod default/wasteful-shell" in said
    assert "Deployment" not in example.resources()
    assert "GpuFleet" not in example.resources()


def test_the_corrected_form_passes_the_pack(example: Example) -> None:
    result = example.engine.preview(
        STACK, policies=[example.pack], config={"corrected": "true"}, check=False, timeout=300
    )
    assert result.status == 0, result.output
    assert [v for v in result.violations if v.startswith("[mandatory]")] == []


def test_levels_come_from_the_policy_configuration(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "levels.json"
    settings.write_text(
        '{"gpu-oversized-for-model": "disabled", "shared-gpu-request-over-one": "disabled"}'
    )
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status == 0, result.output
    assert any("gpu-idle-command" in violation for violation in result.violations)


@pytest.mark.nightly
def test_one_rule_on_and_all_others_off(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "one.json"
    settings.write_text('{"all": "disabled", "gpu-idle-command": "mandatory"}')
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status != 0
    said = " ".join(result.violations)
    assert set(re.findall(r"\[([a-z0-9]+-[a-z0-9-]+)\]", said)) == {"gpu-idle-command"}


@pytest.mark.nightly
def test_a_pack_that_is_off_says_so(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "off.json"
    settings.write_text('{"all": "disabled"}')
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status != 0, result.output
    assert "policy-pack-off" in result.output
    settings.write_text('{"all": "disabled", "gpufleet-settings": {"everythingOff": "a move"}}')
    result = example.engine.preview(
        STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
    )
    assert result.status == 0, result.output
    assert "nothing is checked: a move" in result.output


def test_a_misspelt_rule_in_the_configuration_is_refused(example: Example, tmp_path: Path) -> None:
    settings = tmp_path / "levels.json"
    for text in (
        '{"gpufleet-settings": {"rules": {"gpu-idle-comand": "off"}}}',
        '{"all": "disabled", "gpu-idle-comand": "mandatory"}',
    ):
        settings.write_text(text)
        result = example.engine.preview(
            STACK, "--policy-pack-config", str(settings), policies=[example.pack], check=False
        )
        assert result.status != 0
        assert "gpu-idle-comand" in result.output
