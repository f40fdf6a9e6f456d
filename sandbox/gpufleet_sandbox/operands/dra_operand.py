"""The DRA driver's kubelet plugin on every node: publishes slices, validates claims allocated on
the node.

A pod runs in the sandbox even if its claim fails, because only the scheduler delays pods here.
Where a real kubelet would wait, the pod gets the Event `FailedPrepareDynamicResources`.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from gpufleet_sandbox.operands.api import FIELD_MANAGER, Api, ApiError
from gpufleet_sandbox.operands.cluster import ClusterView, NodeView
from gpufleet_sandbox.operands.dra_claims import ClaimError, allocated_on, check_claim
from gpufleet_sandbox.operands.dra_driver import DRIVER_NAME, DraDriverError, SimulatedDraDriver
from gpufleet_sandbox.operands.dra_slices import objects, slices
from gpufleet_sandbox.operands.gpu_operator import driver_problem, driver_version
from gpufleet_sandbox.operands.hardware import HardwareError, SimulatedHardware, read_hardware
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.journal import log
from gpufleet_sandbox.operands.mig_operand import read_record

DRA_ANNOTATION = "sandbox.gpufleet.dev/dra-driver"
"""On the Node: `running: 26 devices`, or why the driver does not serve it. Absent: not meant to."""
CONTENT_ANNOTATION = "sandbox.gpufleet.dev/content"
"""On a ResourceSlice: digest of its whole pool, as the server rewrites quantities."""

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
OPERATOR_ROOT = "/run/nvidia/driver"


class DraOperand:
    """All nodes of one cluster."""

    def __init__(self, api: Api, due: Callable[[str], None]) -> None:
        """`due` is called with the name of a node that must be looked at."""
        self._api = api
        self._due = due
        selected = f"{SLICES}?fieldSelector=spec.driver%3D{DRIVER_NAME}"
        self._slices = Informer(api, selected, lambda _: None)
        self._claims = Informer(api, CLAIMS, self._claim_changed)
        self.informers = (self._slices, self._claims)
        self._told: dict[tuple[str, str], str] = {}

    def step(self, item: Mapping[str, Any], node: NodeView, cluster: ClusterView) -> None:
        """Bring one node's slices up to date, and validate the claims it was given."""
        driver = cluster.dra
        status: str | None
        if driver is None or not driver.runs_on(node.labels):
            status, problem = None, "is not registered on the node"
            self._publish(node, [], "")
        else:
            problem = ""
            try:
                status = self._serve(item, node, cluster, driver)
            except DraDriverError as refused:
                status, problem = f"failed: {refused}", "is not registered on the node"
                self._publish(node, [], "")
        if node.annotations.get(DRA_ANNOTATION) != status:
            metadata = {"annotations": {DRA_ANNOTATION: status}}
            self._api.merge_patch(f"/api/v1/nodes/{node.name}", {"metadata": metadata})
            log(node.name, f"DRA driver {status or 'gone'}")
        for claim in self._claims.objects().values():
            if allocated_on(claim, node.name):
                self._validate(claim, node, driver, problem)

    def _serve(
        self,
        item: Mapping[str, Any],
        node: NodeView,
        cluster: ClusterView,
        driver: SimulatedDraDriver,
    ) -> str:
        taint = driver.untolerated((item.get("spec") or {}).get("taints") or ())
        if taint is not None:
            raise DraDriverError(f"its pod does not bear the taint {taint}")
        if driver.crash is not None:
            raise DraDriverError(driver.crash)
        try:
            hardware = read_hardware(node.annotations)
        except HardwareError as unreadable:
            raise DraDriverError(str(unreadable)) from unreadable
        version = _gpu_driver(hardware, cluster, driver)
        states = read_record(node, hardware).states
        found = slices(node.name, hardware, states, driver, version)
        text = json.dumps([node.uid, found], sort_keys=True)
        self._publish(node, found, hashlib.sha256(text.encode()).hexdigest()[:16])
        devices = sum(len(content.get("devices", ())) for content in found)
        return f"running: {devices} devices"

    def _publish(self, node: NodeView, found: list[dict[str, Any]], digest: str) -> None:
        """Make a new generation where the content differs; the old one goes after it."""
        present = [
            item
            for item in self._slices.objects().values()
            if item["spec"].get("nodeName") == node.name
        ]
        contents = [
            (item["metadata"].get("annotations") or {}).get(CONTENT_ANNOTATION) for item in present
        ]
        if contents == [digest] * len(found):
            return
        generation = max((item["spec"]["pool"]["generation"] for item in present), default=0) + 1
        for body in objects(node.name, node.uid, found, generation):
            body["metadata"]["annotations"] = {CONTENT_ANNOTATION: digest}
            try:
                self._slices.add(self._api.create(SLICES, body))
            except ApiError as problem:
                if problem.status != 409:
                    raise
        for item in present:
            name = item["metadata"]["name"]
            try:
                self._api.delete(f"{SLICES}/{name}")
            except ApiError as problem:
                if problem.status != 404:
                    raise
            self._slices.drop(("", name))

    def _claim_changed(self, key: Key) -> None:
        claim = self._claims.get(key)
        allocation = ((claim or {}).get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or []:
            if result.get("driver") == DRIVER_NAME:
                self._due(result["pool"])

    def _validate(
        self,
        claim: Mapping[str, Any],
        node: NodeView,
        driver: SimulatedDraDriver | None,
        problem: str,
    ) -> None:
        reason = f"DRA driver {DRIVER_NAME} {problem}" if problem else ""
        if driver is not None and not problem:
            try:
                check_claim(claim, node.name, driver.gates)
            except ClaimError as refused:
                reason = f"error preparing devices for claim {_named(claim)}: {refused}"
        users = (claim.get("status") or {}).get("reservedFor") or []
        gone = {pair for pair in self._told if pair[0] == claim["metadata"]["uid"]}
        gone -= {(claim["metadata"]["uid"], pod["uid"]) for pod in users}
        for identity in gone:
            del self._told[identity]
        for pod in users:
            identity = (claim["metadata"]["uid"], pod["uid"])
            if self._told.get(identity, "") == reason:
                continue
            self._told[identity] = reason
            if reason:
                log(node.name, f"{pod['name']}: {reason}")
                self._event(claim["metadata"]["namespace"], pod, node, reason)

    def _event(self, namespace: str, pod: Mapping[str, Any], node: NodeView, reason: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{pod['name']}.{uuid.uuid4().hex[:16]}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod["name"],
                "namespace": namespace,
                "uid": pod["uid"],
            },
            "reason": "FailedPrepareDynamicResources",
            "message": f"Failed to prepare dynamic resources: {reason}"[:1000],
            "type": "Warning",
            "source": {"component": FIELD_MANAGER, "host": node.name},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._api.create(f"/api/v1/namespaces/{namespace}/events", body)


def _gpu_driver(
    hardware: SimulatedHardware, cluster: ClusterView, driver: SimulatedDraDriver
) -> str:
    """Version of the GPU driver, found where the DRA driver looks for it."""
    policy = cluster.policy if cluster.operator_namespace is not None else None
    if hardware.driver is None and policy is None:
        raise DraDriverError("failed to locate driver libraries: the node has no GPU driver")
    if policy is not None:
        lacking = driver_problem(hardware, policy)
        if lacking is not None:
            raise DraDriverError(f"failed to locate driver libraries: {lacking}")
    installed_by_operator = hardware.driver is None
    if installed_by_operator != (driver.driver_root.rstrip("/") == OPERATOR_ROOT):
        where = OPERATOR_ROOT if installed_by_operator else "the host"
        raise DraDriverError(
            f"failed to locate driver libraries: they are in {where}, and nvidiaDriverRoot is "
            f"{driver.driver_root}"
        )
    if policy is None:
        assert hardware.driver is not None
        return hardware.driver
    return driver_version(hardware, policy)


def _named(claim: Mapping[str, Any]) -> str:
    metadata = claim["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}:{metadata['uid']}"
