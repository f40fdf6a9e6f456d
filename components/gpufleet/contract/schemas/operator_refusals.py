"""What operators refuse in their own objects, though the definition takes it.

Sources: k8snetworkplumbingwg/sriov-network-operator 0d2faf1 `pkg/webhook/validate.go`
(`staticValidateSriovNetworkNodePolicy`); NVIDIA/k8s-nim-operator `internal/shared/pvc.go`
(`ConstructPVC`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpufleet.contract.schemas.pod_refusals import Said, problems_of
from gpufleet.contract.schemas.problems import SchemaProblem
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_mapping, is_mapping

_RESOURCE_NAME = re.compile(r"[a-zA-Z0-9_]+")
_NIC_SELECTORS = ("vendor", "deviceID", "pfNames", "rootDevices", "netFilter")


def refused_by_operators(document: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """The problems of an object whose operator reads more than its definition says."""
    rule = _RULES.get((str(document.get("apiVersion")).partition("/")[0], document.get("kind")))
    spec = as_mapping(document.get("spec"))
    if rule is not None and spec is not None:
        yield from problems_of(document, rule(spec))


def _nic_policy(spec: Mapping[str, Any]) -> Iterator[Said]:
    name = spec.get("resourceName")
    if isinstance(name, str) and _RESOURCE_NAME.fullmatch(name) is None:
        message = f"resourceName is {name!r}: the webhook takes letters, digits and _ alone"
        fix = f"write {re.sub(r'[^a-zA-Z0-9_]', '_', name.rpartition('/')[2])}, without a prefix"
        yield ("spec", "resourceName"), message, fix
    selector = spec.get("nicSelector")
    if is_mapping(selector) and not any(selector.get(one) for one in _NIC_SELECTORS):
        message = f"nicSelector has none of {', '.join(_NIC_SELECTORS)}"
        yield ("spec", "nicSelector"), message, "write `vendor: 15b3`, or another of them"
    if spec.get("deviceType") == "vfio-pci" and spec.get("isRdma") is True:
        message = "deviceType vfio-pci and isRdma true exclude each other"
        yield ("spec", "deviceType"), message, "write `deviceType: netdevice`, which RDMA needs"
    infiniband = str(spec.get("linkType")).lower() == "ib"
    if infiniband and spec.get("eSwitchMode") == "switchdev":
        message = "eSwitchMode switchdev is of Ethernet links alone"
        yield ("spec", "eSwitchMode"), message, "write `eSwitchMode: legacy`"


def _claim_size(spec: Mapping[str, Any]) -> Iterator[Said]:
    claim = as_mapping((as_mapping(spec.get("storage")) or {}).get("pvc")) or {}
    size = claim.get("size")
    if isinstance(size, str) and size and quantity(size) is None:
        message = f"size is {size!r}, a quantity such as 50Gi is needed"
        yield ("spec", "storage", "pvc", "size"), message, "write a size such as 50Gi"


_RULES: dict[tuple[str, Any], Callable[[Mapping[str, Any]], Iterator[Said]]] = {
    ("sriovnetwork.openshift.io", "SriovNetworkNodePolicy"): _nic_policy,
    ("apps.nvidia.com", "NIMService"): _claim_size,
    ("apps.nvidia.com", "NIMCache"): _claim_size,
}
