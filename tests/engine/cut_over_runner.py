"""Performs the steps of a cut-over as an administrator with kubectl would: reads the next one, runs
its command, and repeats. It has no state, so it can be killed and started again at any moment.

It runs in a separate process. Before and after each write to the API server it reports it and waits
for an answer, so that its parent decides where it is killed. It ends when every node is done.
"""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from gpufleet.change.cut_over_steps import next_steps, read_cut_over_state
from gpufleet.change.live_node import read_nodes
from gpufleet.change.live_pods import read_pods
from gpufleet.platforms.compiled import compile_data

PAUSE_SECONDS = 0.05
Write = tuple[str, Callable[[], object]]
"""A write: the object and the verb."""


def commands(core: Any, command: str) -> Iterator[Write]:
    """The writes of a printed command, in the order in which kubectl makes them."""
    words = shlex.split(command)
    match words:
        case ["kubectl", "cordon" | "uncordon" as verb, node]:
            spec = {"spec": {"unschedulable": True if verb == "cordon" else None}}
            yield command, lambda: core.patch_node(node, spec)
        case ["kubectl", "label", "node", node, "--overwrite", *labels]:
            pairs = (label.partition("=") for label in labels)
            wanted = {
                key.removesuffix("-"): value if is_set else None for key, is_set, value in pairs
            }
            yield command, lambda: core.patch_node(node, {"metadata": {"labels": wanted}})
        case ["kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data"]:
            for pod in core.list_pod_for_all_namespaces(
                field_selector=f"spec.nodeName={node}"
            ).items:
                owners = {owner.kind for owner in pod.metadata.owner_references or []}
                if "DaemonSet" not in owners and pod.metadata.deletion_timestamp is None:
                    name, namespace = pod.metadata.name, pod.metadata.namespace
                    yield f"evict {namespace}/{name}", lambda n=name, s=namespace: evict(core, n, s)
        case _:
            raise ValueError(f"not a command of a cut-over: {command}")


def evict(core: Any, name: str, namespace: str) -> None:
    """One eviction; one that a disruption budget refuses now is repeated in the next round."""
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=namespace))
    try:
        core.create_namespaced_pod_eviction(name, namespace, body)
    except ApiException as refused:
        if refused.status not in {404, 429}:
            raise


def dump(core: Any, resources: Any) -> dict[str, Any]:
    """`kubectl get nodes,pods,resourceslices -A -o json`: one list after the other."""
    plain = core.api_client.sanitize_for_serialization
    lists = {
        "Node": plain(core.list_node().items),
        "Pod": plain(core.list_pod_for_all_namespaces().items),
        "ResourceSlice": plain(resources.list_resource_slice().items),
    }
    items = [{**item, "kind": kind} for kind, found in lists.items() for item in found]
    return {"kind": "List", "items": items}


def make_cut_over(kubeconfig: str, declaration: str, asked: "Connection") -> None:
    """Every step of every node, until none is left.

    Args:
        kubeconfig: Path of the cluster's file.
        declaration: Path of the new FleetSpec.
        asked: Gets `before` or `after` with the write, and returns when it may continue.
    """
    os.setsid()
    fleet = compile_data(json.loads(Path(declaration).read_text())).fleet
    assert fleet is not None

    def gate(when: str, what: str) -> None:
        asked.send((when, what))
        asked.recv()

    with config.new_client_from_config(kubeconfig) as api:
        core, resources = client.CoreV1Api(api), client.ResourceV1Api(api)
        while True:
            document = dump(core, resources)
            state = read_cut_over_state(document, read_pods(document) or ())
            steps = next_steps(fleet, read_nodes(document), state.published, state.holders)
            if all(step.act is None for step in steps):
                asked.send(("done", ""))
                return
            for command in [step.command for step in steps if step.command]:
                for what, write in commands(core, command):
                    gate("before", what)
                    write()
                    gate("after", what)
            time.sleep(PAUSE_SECONDS)
