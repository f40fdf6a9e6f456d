"""The host as another language's program meets it: a process, gRPC, camelCase, float numbers."""

import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

ROOT = Path(__file__).parents[2]
FLEET = "gpufleet:index:GpuFleet"
POOL = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 1, "max": 2},
    "sharing": {"timeSlicing": {"replicas": 4}},
}
SPEC = {"catalogue": "2026.11", "platform": "sandbox", "cluster": {"name": "c"}, "pools": [POOL]}


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """Records what is registered and gives everything back as it came."""

    def __init__(self) -> None:
        self.registered: list[Any] = []

    def SupportsFeature(self, request: Any, context: Any) -> Any:
        known = {"secrets", "resourceReferences", "outputValues", "aliasSpecs"}
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id in known)

    def RegisterResource(self, request: Any, context: Any) -> Any:
        self.registered.append(request)
        urn = f"urn:pulumi:stack::project::{request.type}::{request.name}"
        return resource_pb2.RegisterResourceResponse(
            urn=urn, id=request.name, object=request.object
        )

    def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()


class Engine(engine_pb2_grpc.EngineServicer):
    """Takes log lines."""

    def Log(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetRootResource(self, request: Any, context: Any) -> Any:
        return engine_pb2.GetRootResourceResponse(urn="")

    def SetRootResource(self, request: Any, context: Any) -> Any:
        return engine_pb2.SetRootResourceResponse()


Construct = Callable[..., Any]


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    return Monitor()


@pytest.fixture(scope="module")
def address(monitor: Monitor) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(8))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    engine_pb2_grpc.add_EngineServicer_to_server(Engine(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(0).wait()


@pytest.fixture(scope="module")
def provider(address: str) -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """The host as the engine starts it."""
    process = subprocess.Popen(
        [sys.executable, "-u", str(ROOT / "components"), address],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True).start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{int(lines.get(timeout=60))}") as channel:
            yield provider_pb2_grpc.ResourceProviderStub(channel)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def construct(
    provider: provider_pb2_grpc.ResourceProviderStub, monitor: Monitor, address: str
) -> Construct:
    def call(token: str, inputs: dict[str, Any]) -> Any:
        monitor.registered.clear()
        given = struct_pb2.Struct()
        json_format.ParseDict(inputs, given)
        return provider.Construct(
            provider_pb2.ConstructRequest(
                project="project",
                stack="stack",
                type=token,
                name="made",
                inputs=given,
                monitorEndpoint=address,
                parallel=4,
            ),
            timeout=60,
        )

    return call


def test_a_fleet_from_another_language(construct: Construct, monitor: Monitor) -> None:
    answer = construct(FLEET, {"spec": SPEC})
    state = json_format.MessageToDict(answer.state)
    assert state["advertised"] == {"chat": {"nvidia.com/gpu.shared": 4.0}}
    assert state["clusterName"] == "c"
    assert float(state["minimumUsdPerHour"]) < float(state["maximumUsdPerHour"])
    types = [request.type for request in monitor.registered]
    assert types.count("kubernetes:core/v1:Node") == 1
    assert types.count("kubernetes:helm.sh/v3:Release") == 1


def test_declarations_arrive_in_camel_case(construct: Construct, monitor: Monitor) -> None:
    pool = {
        "name": "cut",
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 1, "max": 1},
        "sharing": {"mig": {"layouts": [{"gpus": 4, "devices": {"1g.10gb": 7}}, {"devices": {}}]}},
    }
    pool["sharing"]["mig"]["layouts"][1]["gpus"] = 4  # type: ignore[index]
    answer = construct(
        "gpufleet:index:SimulatedGpuNodePool",
        {"catalogue": "2026.11", "pool": pool, "namePrefix": "lab"},
    )
    state = json_format.MessageToDict(answer.state)
    assert state["nodeNames"] == ["lab-cut-0"]
    assert state["advertised"] == {"nvidia.com/gpu": 4.0, "nvidia.com/mig-1g.10gb": 28.0}


def test_every_error_crosses_the_wire(construct: Construct, monitor: Monitor) -> None:
    broken = {**SPEC, "pools": [{**POOL, "nodes": {"min": 3, "max": 2}}], "colour": "green"}
    with pytest.raises(grpc.RpcError) as caught:
        construct(FLEET, {"spec": broken})
    text = caught.value.details()  # type: ignore[attr-defined]
    assert 'GpuFleet "made": 2 errors' in text
    assert "pools[0].nodes: min 3 is greater than max 2" in text
    assert "`colour` is not a key here" in text
    assert ".py" not in text
    assert monitor.registered == []


def test_a_value_known_only_after_deployment_is_refused(construct: Construct) -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    with pytest.raises(grpc.RpcError) as caught:
        construct(FLEET, {"spec": {**SPEC, "cluster": {"name": unknown}}})
    assert "the value is a Pulumi Output" in caught.value.details()  # type: ignore[attr-defined]


UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The engine's wire format of a string that is not known yet."""


def test_what_other_resources_produce_may_be_unknown(
    construct: Construct, monitor: Monitor
) -> None:
    """The zones of a map of subnets are known, their ids need not be."""
    given = {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "clusterName": "ml",
        "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
        "subnetIdsByZone": {"us-east-1a": UNKNOWN, "us-east-1b": "subnet-0b"},
        "clusterSecurityGroupId": "sg-0c",
        "pool": {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}},
    }
    construct("gpufleet:index:KarpenterGpuNodePool", given)
    made = {
        request.type: json_format.MessageToDict(request.object) for request in monitor.registered
    }
    spec = made["kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"]["spec"]
    assert spec["subnetSelectorTerms"] == [{"id": UNKNOWN}, {"id": "subnet-0b"}]
    limits = made["kubernetes:karpenter.sh/v1:NodePool"]["spec"]["limits"]
    assert limits == {"nodes": "2", "nvidia.com/gpu": "2"}


def test_admission_policies_from_another_language(construct: Construct, monitor: Monitor) -> None:
    """The component is next to the rules; numbers of settings arrive as floats."""
    settings = {"profile": "strict", "thresholds": {"maxGpus": 8}}
    answer = construct(
        "gpufleet:index:GpuAdmissionPolicies",
        {"enforcement": "deny", "settings": settings, "exemptNamespaces": ["ml"]},
    )
    state = json_format.MessageToDict(answer.state)
    assert "gpu-idle-command" in state["rules"]
    types = [request.type.rsplit(":", 1)[1] for request in monitor.registered]
    assert types.count("ValidatingAdmissionPolicy") == len(state["policyNames"])
    assert types.count("ValidatingAdmissionPolicyBinding") == len(state["policyNames"])


def test_wrong_settings_of_admission_policies_cross_the_wire(construct: Construct) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        construct("gpufleet:index:GpuAdmissionPolicies", {"settings": {"profle": "dev"}})
    text = caught.value.details()  # type: ignore[attr-defined]
    assert 'GpuAdmissionPolicies "made"' in text
    assert "profle" in text
