"""A layout change on a live pool, in waves: the plan's floor holds, one failure stops the rest.

The real engine updates Node objects on the real API server; the operand simulators cut the GPUs
and publish what the nodes then offer.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.fleet import Fleet, compile_data
from gpufleet.fleet.change import change_plan
from gpufleet.fleet.change_nodes import Stage, explain_nodes, read_nodes
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


@dataclass
class Watch:
    """What the nodes of the pool offer together, at every change, while a test runs."""

    core: client.CoreV1Api
    prefix: str
    seen: list[dict[str, dict[str, int]]] = field(default_factory=list)

    def offers(self) -> dict[str, dict[str, int]]:
        return {
            node.metadata.name: {
                name: int(count)
                for name, count in (node.status.allocatable or {}).items()
                if name.startswith("nvidia.com/") and count != "0"
            }
            for node in self.core.list_node(label_selector="gpufleet.dev/pool=cut").items
            if node.metadata.name.startswith(self.prefix)
        }

    def look(self) -> None:
        now = self.offers()
        if not self.seen or self.seen[-1] != now:
            self.seen.append(now)

    def lowest_in_service(self) -> int:
        """Fewest nodes that offered anything at one time."""
        return min(sum(bool(one) for one in moment.values()) for moment in self.seen)


@pytest.fixture
def core(cluster: Any) -> client.CoreV1Api:
    return client.CoreV1Api(cluster)


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    return "wave" if "waves" in request.node.name else "stop"


@pytest.fixture
def watch(core: client.CoreV1Api, prefix: str) -> Iterator[Callable[[], Watch]]:
    """Starts to watch; what was seen is complete up to about 50 ms."""
    done = threading.Event()
    threads: list[threading.Thread] = []

    def start() -> Watch:
        one = Watch(core, prefix)
        one.look()

        def follow() -> None:
            while not done.wait(0.05):
                one.look()

        threads.append(threading.Thread(target=follow))
        threads[-1].start()
        return one

    yield start
    done.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def deploy(cluster_project: Callable[..., Any]) -> Callable[..., Any]:
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": "{}"})

    def up(data: dict[str, Any], **settings: Any) -> Any:
        (project.folder / "fleet.json").write_text(json.dumps(data))
        return project.run("up", **settings)

    return up


def everywhere(watch: Watch, resources: Mapping[str, int]) -> bool:
    offers = watch.offers()
    return len(offers) == NODES and all(one == resources for one in offers.values())


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
    deploy: Callable[..., Any], watch: Callable[[], Watch], prefix: str
) -> None:
    before = spec(prefix, EIGHTHS)
    deploy(before)
    seen = watch()
    until(lambda: everywhere(seen, {SMALL: 56}), seen.offers)
    seen.seen.clear()
    seen.look()

    after = spec(prefix, HALVES, change={"previous": EIGHTHS, "width": 2, "timeoutSeconds": 60})
    plan = change_plan(compiled(before), compiled(after)).pool("cut")
    assert plan.waves == ((0, 1), (2, 3))
    floor = plan.gpus.lowest // 8
    assert floor == 2
    deploy(after)

    assert everywhere(seen, {LARGE: 16}), seen.offers()
    assert seen.lowest_in_service() >= floor
    # The second wave starts only after the first is done.
    second_gone = next(
        i
        for i, moment in enumerate(seen.seen)
        if any(moment[f"{prefix}-cut-{n}"] != {SMALL: 56} for n in (2, 3))
    )
    assert all(seen.seen[second_gone][f"{prefix}-cut-{n}"] == {LARGE: 16} for n in (0, 1)), (
        seen.seen
    )

    # The end: the section goes, no node is touched.
    seen.seen.clear()
    deploy(spec(prefix, HALVES))
    time.sleep(2)
    assert everywhere(seen, {LARGE: 16})
    assert seen.lowest_in_service() == NODES


def test_one_node_that_fails_stops_the_rest_and_is_explained(
    deploy: Callable[..., Any],
    watch: Callable[[], Watch],
    core: client.CoreV1Api,
    namespace: str,
    prefix: str,
) -> None:
    before = spec(prefix, EIGHTHS)
    deploy(before)
    seen = watch()
    until(lambda: everywhere(seen, {SMALL: 56}), seen.offers)
    seen.seen.clear()
    seen.look()
    busy = f"{prefix}-cut-1"
    pod(core, namespace, busy)
    until(
        lambda: core.read_namespaced_pod("holder", namespace).status.phase == "Running",
        lambda: core.read_namespaced_pod("holder", namespace).status,
    )

    change = {"previous": EIGHTHS, "timeoutSeconds": 15}
    after = spec(prefix, HALVES, change=change)
    result = deploy(after, check=False)
    assert result.status != 0
    assert busy in result.output
    offers = seen.offers()
    assert offers[f"{prefix}-cut-0"] == {LARGE: 16}
    assert offers[busy] == {SMALL: 56}, "the layout that was there is back"
    assert [offers[f"{prefix}-cut-{n}"] for n in (2, 3)] == [{SMALL: 56}] * 2
    assert seen.lowest_in_service() >= NODES - 1

    fleet = compiled(after)
    reports, findings = explain_nodes(fleet, live(core))
    stages = {report.name.removeprefix(f"{prefix}-cut-"): report.stage for report in reports}
    assert stages == {
        "0": Stage.CHANGED,
        "1": Stage.STOPPED,
        "2": Stage.WAITING,
        "3": Stage.WAITING,
    }
    (failed,) = [f for f in findings if f.code == "node-change-failed"]
    assert failed.path == f"nodes[{busy}]"

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
    deploy(after)
    until(lambda: everywhere(seen, {LARGE: 16}), seen.offers)
    reports, findings = explain_nodes(fleet, live(core))
    assert {report.stage for report in reports} == {Stage.CHANGED}
    assert findings == ()


def live(core: client.CoreV1Api) -> Any:
    """The nodes as `kubectl get nodes -o json` prints them."""
    items = core.list_node(label_selector="gpufleet.dev/pool=cut").items
    plain = core.api_client.sanitize_for_serialization(items)
    return read_nodes(yaml.safe_load(json.dumps({"kind": "List", "items": plain})))
