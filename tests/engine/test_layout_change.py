"""A layout change on a live pool, in waves: the plan's floor holds, one failure stops the rest.

The real engine updates Node objects on the real API server; the operand simulators partition the
GPUs and publish the resources of the nodes.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.live_node import Stage, explain_nodes, read_nodes
from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.engine.node_watch import Watched, nvidia_resources, watching
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

NODES = 4
EIGHTHS: dict[str, Any] = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
HALVES: dict[str, Any] = {"mig": {"layouts": [{"devices": {"3g.40gb": 2}}]}}
SMALL, LARGE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"
STATE = "nvidia.com/mig.config.state"
PROGRAM = """
    import json, pulumi, pulumi_kubernetes as k8s
    from pathlib import Path
    from gpufleet import GpuFleet

    provider = k8s.Provider("cluster")
    fleet = GpuFleet(
        "fleet",
        {"spec": json.loads(Path("fleet.json").read_text())},
        pulumi.ResourceOptions(providers=[provider]),
    )
"""


def spec(prefix: str, sharing: dict[str, Any], **pool: Any) -> dict[str, Any]:
    return {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "sandbox"},
        "namePrefix": prefix,
        "pools": [
            {
                "name": "cut",
                "gpu": "A100-80GB",
                "gpusPerNode": 8,
                "nodes": {"min": NODES, "max": NODES},
                "sharing": sharing,
                **pool,
            }
        ],
    }


def compiled(data: dict[str, Any]) -> Fleet:
    result = compile_data(data)
    assert result.fleet is not None
    assert result.deployable, result.findings
    return result.fleet


Offers = dict[str, int]
"""Node -> what it offers."""


def offers(node: Mapping[str, Any]) -> Offers:
    return {name: int(n) for name, n in nvidia_resources(node).items() if n != "0"}


def lowest_in_service(seen: Watched[Offers]) -> int:
    """Fewest nodes that offered anything at one time."""
    return min(sum(bool(one) for one in moment.values()) for moment in seen.moments)


@pytest.fixture
def core(cluster: Any) -> client.CoreV1Api:
    return client.CoreV1Api(cluster)


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    return "wave" if "waves" in request.node.name else "stop"


@pytest.fixture
def watch(core: client.CoreV1Api) -> Callable[[], AbstractContextManager[Watched[Offers]]]:
    """Resources of the pool's nodes while a block runs."""
    return lambda: watching(core, offers, label_selector="gpufleet.dev/pool=cut")


@pytest.fixture
def made(
    deploy: Callable[..., Any], watch: Callable[[], Any], prefix: str
) -> Callable[[dict[str, Any]], None]:
    """Deploys a pool and waits until all its nodes offer eighths."""

    def make(before: dict[str, Any]) -> None:
        deploy(before)
        with watch() as seen:
            seen.reaches(lambda now: everywhere(now, {SMALL: 56}))

    return make


@pytest.fixture
def deploy(cluster_project: Callable[..., Any]) -> Callable[..., Any]:
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": "{}"})

    def up(data: dict[str, Any], **settings: Any) -> Any:
        (project.folder / "fleet.json").write_text(json.dumps(data))
        return project.run("up", **settings)

    return up


def everywhere(now: Mapping[str, Offers], resources: Offers) -> bool:
    return len(now) == NODES and all(one == resources for one in now.values())


def pod(core: client.CoreV1Api, namespace: str, node: str) -> None:
    """A pod that holds a slice of one node."""
    core.create_namespaced_pod(
        namespace,
        {
            "metadata": {"name": "holder"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "tolerations": [{"operator": "Exists"}],
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "c", "resources": {"limits": {SMALL: "1"}}}],
            },
        },
    )


def test_waves_keep_the_floor_of_the_plan(
    deploy: Callable[..., Any],
    made: Callable[[dict[str, Any]], None],
    watch: Callable[[], AbstractContextManager[Watched[Offers]]],
    prefix: str,
) -> None:
    before = spec(prefix, EIGHTHS)
    made(before)

    after = spec(prefix, HALVES, change={"previous": EIGHTHS, "width": 2, "timeoutSeconds": 60})
    plan = change_plan(compiled(before), compiled(after)).pool("cut")
    assert plan.waves == ((0, 1), (2, 3))
    floor = plan.gpus.lowest // 8
    assert floor == 2
    with watch() as seen:
        deploy(after)
        seen.reaches(lambda now: everywhere(now, {LARGE: 16}))
    assert lowest_in_service(seen) >= floor
    # The second wave starts only after the first is done.
    second_begins = next(
        moment
        for moment in seen.moments
        if any(moment[f"{prefix}-cut-{n}"] != {SMALL: 56} for n in (2, 3))
    )
    assert [second_begins[f"{prefix}-cut-{n}"] for n in (0, 1)] == [{LARGE: 16}] * 2, seen.moments

    # The end: the section goes, no node is touched.
    with watch() as seen:
        deploy(spec(prefix, HALVES))
        time.sleep(2)  # whatever were to happen would have begun
    assert everywhere(seen.now, {LARGE: 16})
    assert lowest_in_service(seen) == NODES


@pytest.mark.nightly
def test_one_node_that_fails_stops_the_rest_and_is_explained(
    deploy: Callable[..., Any],
    made: Callable[[dict[str, Any]], None],
    watch: Callable[[], AbstractContextManager[Watched[Offers]]],
    core: client.CoreV1Api,
    namespace: str,
    prefix: str,
) -> None:
    made(spec(prefix, EIGHTHS))
    busy = f"{prefix}-cut-1"
    pod(core, namespace, busy)
    until(
        lambda: core.read_namespaced_pod("holder", namespace).status.phase == "Running",
        lambda: core.read_namespaced_pod("holder", namespace).status,
    )

    # A node that can change does so in two or three seconds; the busy one takes all that it may.
    change = {"previous": EIGHTHS, "timeoutSeconds": 20}
    after = spec(prefix, HALVES, change=change)
    with watch() as seen:
        result = deploy(after, check=False)
    assert result.status != 0
    assert busy in result.output
    assert seen.now[f"{prefix}-cut-0"] == {LARGE: 16}
    assert seen.now[busy] == {SMALL: 56}, "the layout that was there is back"
    assert [seen.now[f"{prefix}-cut-{n}"] for n in (2, 3)] == [{SMALL: 56}] * 2
    assert lowest_in_service(seen) >= NODES - 1

    fleet = compiled(after)
    reports = explain_nodes(fleet, read_nodes(live(core)))
    stages = {report.name.removeprefix(f"{prefix}-cut-"): report.stage for report in reports}
    assert stages == {
        "0": Stage.CHANGED,
        "1": Stage.STOPPED,
        "2": Stage.WAITING,
        "3": Stage.WAITING,
    }
    (failed,) = found(core, fleet)
    assert (failed.code, failed.path) == ("mig-gpu-in-use", f"Node/{busy}")
    assert f"{namespace}/holder" in failed.message

    # The way out that the finding names: empty the node, turn the label back, update again.
    core.delete_namespaced_pod("holder", namespace)
    until(
        lambda: not core.list_namespaced_pod(namespace).items,
        lambda: core.list_namespaced_pod(namespace).items,
    )
    assert failed.fix is not None
    old = failed.fix.split("nvidia.com/mig.config=")[1].split(",")[0]
    core.patch_node(busy, {"metadata": {"labels": {"nvidia.com/mig.config": old}}})
    until(
        lambda: core.read_node(busy).metadata.labels[STATE] == "success",
        lambda: core.read_node(busy).metadata.labels,
    )
    with watch() as seen:
        deploy(after)
        seen.reaches(lambda now: everywhere(now, {LARGE: 16}))
    reports = explain_nodes(fleet, read_nodes(live(core)))
    assert {report.stage for report in reports} == {Stage.CHANGED}
    assert found(core, fleet) == []


def live(core: client.CoreV1Api) -> Any:
    """The nodes as `kubectl get nodes -o json` prints them."""
    items = core.list_node(label_selector="gpufleet.dev/pool=cut").items
    plain = core.api_client.sanitize_for_serialization(items)
    nodes = [{"kind": "Node"} | one for one in plain]
    return yaml.safe_load(json.dumps({"kind": "List", "items": nodes}))


def found(core: client.CoreV1Api, fleet: Fleet) -> list[Finding]:
    """The doctor's findings."""
    pods = core.api_client.sanitize_for_serialization(core.list_pod_for_all_namespaces().items)
    dump = cluster_of([live(core), *({"kind": "Pod"} | pod for pod in pods)])
    findings = [one.finding for one in diagnose(dump, fleet)]
    return [one for one in findings if one.severity is not Severity.INFO]
