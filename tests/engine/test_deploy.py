"""`deploy`: update, workloads, closing table; and what it repairs after `kill -9` of the engine."""

import io
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from gpufleet_sandbox.engine import EngineError, PulumiEngine, deploy
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.orphaned_plugins import plugins
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.waiting import until

SETTINGS = """
    import asyncio
    from pathlib import Path

    import pulumi
    import pulumi_kubernetes as k8s

    async def released(number):
        while number >= 20 and Path("hold").exists():
            await asyncio.sleep(0.1)
        return str(number)

    namespace = pulumi.Config().require("namespace")
    provider = k8s.Provider("cluster")
    for number in range(30):
        k8s.core.v1.ConfigMap(
            f"setting-{number}",
            metadata={"namespace": namespace},
            data={"number": released(number)},
            opts=pulumi.ResourceOptions(provider=provider),
        )
"""
"""With the file `hold` the last ten wait: the update does not end before the test kills it."""

POD = """
    import pulumi
    import pulumi_kubernetes as k8s

    k8s.core.v1.Pod(
        "waiter",
        metadata={"name": "waiter", "namespace": "NAMESPACE",
                  "annotations": {"pulumi.com/skipAwait": "true"}},
        spec={"nodeSelector": {"rack": "none"}, "containers": [{"name": "c", "image": "c"}]},
        opts=pulumi.ResourceOptions(provider=k8s.Provider("cluster")),
    )
"""


@pytest.fixture
def settings(cluster: Any, namespace: str) -> Any:
    """Names of the ConfigMaps that exist in the test's namespace."""
    from kubernetes import client

    api = client.CoreV1Api(cluster)

    def names() -> list[str]:
        found = [item.metadata.name for item in api.list_namespaced_config_map(namespace).items]
        return sorted(name for name in found if name.startswith("setting-"))

    return names


@pytest.mark.killed_engines
def test_a_killed_update_is_repaired_and_nothing_exists_twice(
    cluster_project: Any, sandbox: Any, namespace: str, settings: Any
) -> None:
    demo = cluster_project({"__main__.py": SETTINGS, "hold": ""})
    demo.engine.call(["config", "set", "namespace", namespace, "-s", demo.stack]).checked()
    engine = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "-s", demo.stack, "--non-interactive"],
        cwd=demo.folder,
        env=demo.engine.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: len(settings()) >= 5 or engine.poll() is not None, settings)
        assert engine.poll() is None, "the update failed before it could be killed"
    finally:
        engine.kill()
        engine.wait()
    (demo.folder / "hold").unlink()
    assert len(settings()) <= 20

    refused = demo.run("up", check=False)
    cut_off = "failed to load checkpoint" in refused.output  # killed while it wrote the state
    assert cut_off or "locked by 1 lock" in refused.output

    out = io.StringIO()
    result = deploy(sandbox, demo.stack, project=demo.folder, out=out)[demo.stack]
    assert not cut_off or "was truncated" in out.getvalue()
    assert "removed the lock of an update that was killed" in out.getvalue()
    assert len(settings()) == 30
    assert result.changes["create"] > 0
    state = demo.engine.state(demo.stack)
    assert "pending_operations" not in state
    assert len(state["resources"]) == 32
    assert not [w for w in result.warnings if "pending operations" in w]
    again = deploy(sandbox, demo.stack, project=demo.folder, out=io.StringIO())[demo.stack]
    assert again.changed == 0
    home = Path(demo.engine.env["PULUMI_HOME"])
    until(lambda: not list(plugins(home)), "no provider is left behind")


@pytest.mark.nightly
def test_a_state_that_was_cut_off_is_repaired(
    cluster_project: Any, sandbox: Any, namespace: str, settings: Any
) -> None:
    """An engine killed in the middle of writing its state leaves an empty file."""
    demo = cluster_project({"__main__.py": SETTINGS})
    demo.engine.call(["config", "set", "namespace", namespace, "-s", demo.stack]).checked()
    deploy(sandbox, demo.stack, project=demo.folder, out=io.StringIO())
    deploy(sandbox, demo.stack, project=demo.folder, out=io.StringIO())
    [checkpoint] = _checkpoints(demo)
    attributes = checkpoint.with_name(f"{checkpoint.name}.attrs")
    for file, told in (
        (checkpoint, "its state was truncated; restored the previous copy"),
        (attributes, f"{attributes.name} was truncated; removed it"),
    ):
        file.write_bytes(b"")
        assert "failed to load checkpoint" in demo.run("up", check=False).output
        out = io.StringIO()
        deploy(sandbox, demo.stack, project=demo.folder, out=out)
        assert told in out.getvalue()
    assert len(settings()) == 30
    demo.run("destroy")
    assert settings() == []


def _checkpoints(demo: Any) -> list[Path]:
    backend = Path(urlparse(demo.engine.env["PULUMI_BACKEND_URL"]).path)
    return list(backend.glob(f".pulumi/stacks/*/{demo.stack}.json"))


def test_deploy_runs_the_pack_then_the_workloads_and_ends_with_the_table(
    cluster_project: Any, sandbox: Any, namespace: str
) -> None:
    demo = cluster_project(
        {
            "__main__.py": "",
            "policies/PulumiPolicy.yaml": "runtime: python\n",
            "policies/__main__.py": """
                from pulumi_policy import EnforcementLevel, PolicyPack, StackValidationPolicy
                PolicyPack("told", [StackValidationPolicy(
                    "always", "Always told", lambda args, report: report("told"),
                    EnforcementLevel.ADVISORY)])
            """,
            "examples/workloads/Pulumi.yaml": "name: workloads\nruntime: python\n",
            "examples/workloads/__main__.py": POD.replace("NAMESPACE", namespace),
        }
    )
    out = io.StringIO()
    results = deploy(sandbox, demo.stack, project=demo.folder, out=out)
    assert list(results) == [demo.stack, "sandbox"]
    assert results[demo.stack].violations == ("[advisory] told/always: Always told\ntold",)
    text = out.getvalue()
    assert "The fleet" in text
    assert "waiting  waiter: " in text
    assert f". {sandbox.layout.environment}" in text
    workloads = PulumiEngine(sandbox.environment(), demo.folder / "examples" / "workloads")
    workloads.destroy("sandbox")


def test_a_lock_that_is_held_is_respected(cluster_project: Any) -> None:
    demo = cluster_project(
        {"__main__.py": "import time\nopen('running', 'w').close()\ntime.sleep(300)\n"}
    )
    engine = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview", "-s", demo.stack, "--non-interactive"],
        cwd=demo.folder,
        env=demo.engine.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until((demo.folder / "running").exists, "the program runs")
        with pytest.raises(SandboxError, match=f"being changed by process {engine.pid}"):
            release_stale_lock(demo.engine, demo.stack)
    finally:
        engine.send_signal(signal.SIGINT)
        engine.wait(timeout=120)
    assert release_stale_lock(demo.engine, demo.stack) is False


def test_an_error_hides_configuration_values(cluster_project: Any) -> None:
    demo = cluster_project({"__main__.py": "raise SystemExit(1)\n"})
    with pytest.raises(EngineError) as caught:
        demo.run("up", config={"token": "hush"})
    assert "hush" not in str(caught.value)
    assert os.sep not in caught.value.result.command.split("--config")[0]
