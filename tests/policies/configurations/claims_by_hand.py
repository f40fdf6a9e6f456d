"""Hand-written claims, templates and classes, and an API server's result for each.

The valid ones are those of the drivers' demonstrations. The invalid ones are cases of Kubernetes'
own tests of validation: the name of the case is the source's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NVIDIA = "kubernetes-sigs/dra-driver-nvidia-gpu @ 735809d, demo/specs"
EXAMPLE = "kubernetes-sigs/dra-example-driver @ b5862b8, demo/examples"
TESTS = "kubernetes/kubernetes v1.36.0, pkg/apis/resource/validation"
CLAIM, CLASS = (
    f"{TESTS}/validation_resourceclaim_test.go",
    f"{TESTS}/validation_deviceclass_test.go",
)
GPU = {"deviceClassName": "gpu.nvidia.com"}
BAD = "!@#$%^"
"""An invalid name, as in Kubernetes' tests."""


@dataclass(frozen=True)
class Written:
    """One object."""

    name: str
    manifest: Mapping[str, Any]
    source: str
    refused: str | None = None
    """Field that the API server names; None: it takes the object."""

    def __str__(self) -> str:
        return self.name


def claim(*requests: Any, api: str = "v1", kind: str = "ResourceClaim", **more: Any) -> Any:
    devices = {"requests": list(requests), **more}
    spec = {"devices": devices}
    return {
        "apiVersion": f"resource.k8s.io/{api}",
        "kind": kind,
        "metadata": {"name": "by-hand", "namespace": "default"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def template(*requests: Any, **more: Any) -> Any:
    return claim(*requests, kind="ResourceClaimTemplate", **more)


def device_class(**spec: Any) -> Any:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "by-hand"},
        "spec": spec,
    }


def exactly(name: str = "gpu", **fields: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {**GPU, **fields}}


def either(*ways: Any, name: str = "gpu") -> dict[str, Any]:
    return {"name": name, "firstAvailable": [{**GPU, **way} for way in ways]}


def cel(*expressions: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": one}} for one in expressions]


def config(kind: str, *requests: str, driver: str = "gpu.nvidia.com", **more: Any) -> Any:
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **more}
    only = {"requests": list(requests)} if requests else {}
    return {**only, "opaque": {"driver": driver, "parameters": parameters}}


def slicing(interval: str) -> dict[str, Any]:
    return {"sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}}


PRODUCT = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'"
ROOMY = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
WAYS = ({"name": "large", "selectors": cel(PRODUCT)}, {"name": "any"})
FOO = {"driver": "dra.example.com", "parameters": {"kind": "foo", "apiVersion": "example.com/v1"}}

ACCEPTED = (
    Written("one-gpu", template(exactly()), f"{NVIDIA}/consumable-shares/integer-sharing.yaml"),
    Written(
        "part-of-the-memory",
        template(exactly(capacity={"requests": {"memory": "4Gi"}})),
        f"{NVIDIA}/consumable-shares/memory-sharing.yaml",
    ),
    Written(
        "two-gpus-before-v1",
        claim({"name": "gpu", **GPU, "count": 2}, api="v1beta1"),
        "NVIDIA/k8s-dra-driver-gpu @ 4066752, demo/specs/quickstart/gpu-test-count.yaml",
    ),
    Written(
        "slices-as-an-extended-resource",
        device_class(
            selectors=cel(
                "device.driver == 'gpu.nvidia.com' && "
                "device.attributes['gpu.nvidia.com'].type == 'mig' && "
                "device.attributes['gpu.nvidia.com'].profile == '1g.12gb'"
            ),
            extendedResourceName="nvidia.com/gpu",
        ),
        "NVIDIA/k8s-dra-driver-gpu @ 5b4e8b1, demo/specs/extended-resources/mig-1g-12gb.yaml",
    ),
    Written(
        "for-a-virtual-machine",
        template(
            {"name": "gpu", "exactly": {"deviceClassName": "vfio.gpu.nvidia.com"}},
            config=[
                config(
                    "VfioDeviceConfig",
                    "gpu",
                    iommu={"backendPolicy": "LegacyOnly", "enableAPIDevice": True},
                )
            ],
        ),
        f"{NVIDIA}/quickstart/v1/gpu-test-vfio-config.yaml",
    ),
    Written(
        "two-requests",
        template(exactly("gpu-1"), exactly("gpu-2")),
        f"{EXAMPLE}/basic-multiple-requests/basic-multiple-requests.yaml",
    ),
    Written(
        "administrative-access-to-all",
        template(exactly(allocationMode="All", adminAccess=True)),
        f"{EXAMPLE}/admin-access/admin-access.yaml",
    ),
    Written(
        "selectors",
        template(exactly(selectors=cel(PRODUCT, ROOMY))),
        f"{EXAMPLE}/cel-selector/cel-selector.yaml",
    ),
    Written(
        "a-taint-that-is-borne",
        template(
            exactly(
                tolerations=[
                    {
                        "key": "gpu.nvidia.com/unhealthy",
                        "operator": "Equal",
                        "value": "true",
                        "effect": "NoExecute",
                    }
                ]
            )
        ),
        f"{EXAMPLE}/device-taints-tolerations/device-taint-pod-toleration",
    ),
    Written(
        "alternatives",
        template(either(*WAYS)),
        f"{EXAMPLE}/prioritized-alternatives/prioritized-alternatives.yaml",
    ),
    Written(
        "config-of-a-request-with-alternatives",
        template(
            either(*WAYS), exactly("extra"), config=[config("GpuConfig", "gpu", **slicing("Long"))]
        ),
        f"{EXAMPLE}/subrequest-config-scoping/subrequest-config-scoping.yaml",
    ),
    Written(
        "configs-of-alternatives",
        template(
            either(*WAYS),
            exactly("extra"),
            config=[
                config("GpuConfig", "gpu/large", **slicing("Short")),
                config("GpuConfig", "gpu/any", **slicing("Medium")),
            ],
        ),
        f"{EXAMPLE}/subrequest-config-scoping/subrequest-config-scoping.yaml",
    ),
    Written(
        "as-many-as-there-may-be",
        claim(
            *(exactly(f"gpu-{number}") for number in range(32)),
            constraints=[{"matchAttribute": "resource.kubernetes.io/pcieRoot"}] * 32,
            config=[{"opaque": FOO}] * 32,
        ),
        f"{CLAIM}, valid-request",
    ),
    Written(
        "constraint-of-an-alternative",
        claim(
            either(*WAYS),
            constraints=[{"requests": ["gpu/large"], "matchAttribute": "gpu.nvidia.com/uuid"}],
        ),
        f"{CLAIM}, prioritized-list-constraints-requests-with-subrequest-reference",
    ),
    Written(
        "tolerations",
        claim(
            exactly(
                tolerations=[
                    {"operator": "Exists"},
                    {"key": "example.com/taint", "operator": "Exists", "effect": "NoExecute"},
                    {
                        "key": "example.com/taint",
                        "operator": "Equal",
                        "value": "tainted",
                        "effect": "NoSchedule",
                    },
                ]
            )
        ),
        f"{CLAIM}, tolerations",
    ),
    Written(
        "a-class-of-an-extended-resource",
        device_class(extendedResourceName="example.com/gpu"),
        f"{CLASS}, good-extended-resource-name",
    ),
)
