"""The program of `stacks/` on the real engine: up, no-op, live layout change, refusal, destroy."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tests.engine.node_watch import Watched, watching
from tests.engine.sandbox_stack import (
    ADVERTISED,
    NOTEBOOKS,
    Stack,
    gpus,
    nodes_advertise,
)
from tests.engine.waiting import until

MIG_CONFIG = "nvidia.com/mig.config"
MIG_STATE = "nvidia.com/mig.config.state"


def mig_labels(node: Mapping[str, Any]) -> tuple[str | None, str | None]:
    labels = node["metadata"]["labels"]
    return labels.get(MIG_CONFIG), labels.get(MIG_STATE)


@pytest.fixture
def observed(core: client.CoreV1Api) -> Iterator[Watched[tuple[str | None, str | None]]]:
    """Values of the MIG labels of the notebooks node while a test runs."""
    with watching(core, mig_labels, field_selector=f"metadata.name={NOTEBOOKS}") as seen:
        yield seen


def notebook(core: client.CoreV1Api, namespace: str, resource: str, name: str) -> None:
    """A pod that requests one slice of the notebooks pool."""
    core.create_namespaced_pod(
        namespace,
        {
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"gpufleet.dev/pool": "notebooks"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [
                    {"name": "c", "image": "c", "resources": {"limits": {resource: "1"}}}
                ],
            },
        },
    )


def placed(core: client.CoreV1Api, namespace: str, name: str) -> str | None:
    return core.read_namespaced_pod(name, namespace).spec.node_name


def active_namespaces(core: client.CoreV1Api) -> set[str]:
    """Without those of earlier tests that are still going: that takes seconds."""
    found = core.list_namespace().items
    return {n.metadata.name for n in found if n.metadata.deletion_timestamp is None}


def test_the_stack_comes_up_stays_and_goes(stack: Stack, core: client.CoreV1Api) -> None:
    namespaces = active_namespaces(core)
    stack.up()
    nodes_advertise(core)
    outputs = stack.project.engine.outputs(stack.project.stack)
    assert outputs["advertised"]["training"] == {"nvidia.com/gpu": 8}
    # The nodes advertise the result of compile.
    for node, resources in ADVERTISED.items():
        pool = node.split("-")[1]
        promised = {k: str(v) for k, v in outputs["advertised"][pool].items()}
        assert promised == resources

    stack.up("--expect-no-changes")
    stack.project.run("refresh", "--expect-no-changes")

    stack.project.run("destroy")
    assert active_namespaces(core) == namespaces
    left = {n.metadata.name for n in core.list_namespace().items} & {"gpu-operator"}
    assert left == set(), "destroy returns when its namespaces are gone"
    assert core.list_node(label_selector="gpufleet.dev/simulated=true").items == []
    assert stack.project.engine.state(stack.project.stack).get("resources") in (None, [])


@pytest.mark.nightly
def test_a_layout_change_passes_through_the_live_node(
    stack: Stack,
    core: client.CoreV1Api,
    namespace: str,
    observed: Watched[tuple[str | None, str | None]],
) -> None:
    stack.up()
    until(lambda: "nvidia.com/mig-3g.40gb" in gpus(core, NOTEBOOKS), lambda: observed.now)
    before = core.read_node(NOTEBOOKS).metadata.labels[MIG_CONFIG]
    waiting = "nvidia.com/mig-7g.80gb"
    notebook(core, namespace, waiting, "large")
    assert placed(core, namespace, "large") is None

    stack.pool("notebooks")["sharing"]["mig"]["layouts"] = [
        {"gpus": 6, "devices": {"1g.10gb": 7}},
        {"gpus": 2, "devices": {"7g.80gb": 1}},
    ]
    result = stack.up()
    assert result.changes.get("replace", 0) <= 1, "only the ConfigMap of layouts is replaced"
    wanted = {"nvidia.com/mig-1g.10gb": "42", waiting: "2"}
    until(lambda: gpus(core, NOTEBOOKS) == wanted, lambda: gpus(core, NOTEBOOKS))
    until(lambda: placed(core, namespace, "large") == NOTEBOOKS, lambda: "not placed")

    after = core.read_node(NOTEBOOKS).metadata.labels[MIG_CONFIG]
    assert after != before
    observed.reaches(lambda now: now[NOTEBOOKS] == (after, "success"))
    states = [state for config, state in observed.of(NOTEBOOKS) if config == after]
    assert "pending" in states
    assert states.index("pending") < len(states) - 1 - states[::-1].index("success")


def test_an_impossible_layout_never_reaches_the_cluster(
    stack: Stack, core: client.CoreV1Api
) -> None:
    stack.pool("notebooks")["sharing"]["mig"]["layouts"][0]["devices"] = {
        "3g.40gb": 2,
        "1g.10gb": 1,
    }
    stack.fleet["pools"][0]["nodes"] = {"min": 5, "max": 4}

    result = stack.up(check=False)

    assert result.status != 0
    assert "2 errors" in result.output
    assert "pools[1].sharing.mig.layouts[0].devices" in result.output
    assert "pools[0].nodes: min 5 is greater than max 4" in result.output
    assert "Traceback" not in result.output
    assert core.list_node(label_selector="gpufleet.dev/simulated=true").items == []
    assert "gpu-operator" not in {n.metadata.name for n in core.list_namespace().items}


def test_a_misspelt_setting_is_named(stack: Stack) -> None:
    stack.config["gpufleet:connection"] = {"kubeConfig": "x"}

    result = stack.up(check=False)

    assert result.status != 0
    assert "gpufleet:connection.kubeConfig: Extra inputs are not permitted" in result.output
    assert "Traceback" not in result.output


def test_a_missing_cluster_is_named(stack: Stack) -> None:
    stack.config["gpufleet:connection"] = {"kubeconfig": "nowhere/kubeconfig"}

    result = stack.up(check=False)

    assert result.status != 0
    assert "there is no kubeconfig" in result.output
    assert "gpufleet:connection.kubeconfig" in result.output
