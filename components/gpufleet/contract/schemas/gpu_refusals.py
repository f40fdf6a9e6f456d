"""What is refused in claims of devices and volumes of NIM, though their definitions take it.

Sources: kubernetes v1.36.3 `pkg/apis/core/validation/validation.go` (`validatePodResourceClaims`,
`validateContainerResourceClaims`); NVIDIA/k8s-nim-operator `internal/shared/pvc.go`
(`ConstructPVC`). What else the server's code refuses, a server dry run says.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    path_of,
    visible,
)
from gpufleet.documents.paths import at_steps, mapping_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping, is_mapping

_Steps = tuple[str | int, ...]
_Said = tuple[_Steps, str, str]
"""Where, what is wrong and what to write."""

_PODS: dict[tuple[str, str], _Steps] = {
    ("v1", "Pod"): ("spec",),
    **dict.fromkeys(
        (
            *(("apps/v1", kind) for kind in ("Deployment", "DaemonSet", "ReplicaSet")),
            ("apps/v1", "StatefulSet"),
            ("batch/v1", "Job"),
        ),
        ("spec", "template", "spec"),
    ),
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
"""Kinds that the server validates with their pods -> where the pod is."""
_CLAIM_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
_NIM_SIZE = ("spec", "storage", "pvc", "size")


def refused_for_gpus(document: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """The problems of the pod that an object makes, and of the volume of a NIM object."""
    version, kind = str(document.get("apiVersion")), str(document.get("kind"))
    said: list[_Said] = []
    if (version, kind) in _PODS:
        said += _claims(_PODS[version, kind], document)
    if version.startswith("apps.nvidia.com/") and kind in ("NIMService", "NIMCache"):
        size = mapping_at(document, path_of(_NIM_SIZE[:-1])).get("size")
        if isinstance(size, str) and size and quantity(size) is None:
            message = f"size is {size!r}, a quantity such as 50Gi is needed"
            said.append((_NIM_SIZE, message, "write a size such as 50Gi"))
    for steps, message, fix in said:
        value = visible(document, steps, at_steps(document, steps))
        kind_of_problem = SchemaProblemKind.CONDITION
        yield SchemaProblem(kind_of_problem, path_of(steps), message, fix, steps, value)


def _claims(place: _Steps, document: Mapping[str, Any]) -> Iterator[_Said]:
    """Claims that name two objects or none, and containers that use a claim the pod lacks."""
    pod = mapping_at(document, path_of(place))
    containers = [
        (steps, one)
        for key in ("initContainers", "containers")
        for steps, one in _each(pod, key, place)
    ]
    # A patch leaves out what it keeps, images too.
    is_whole = any(one.get("image") for _, one in containers)
    claims = list(_each(pod, "resourceClaims", place))
    for where, one in claims:
        named = sum(one.get(name) is not None for name in _CLAIM_NAMES)
        if named == len(_CLAIM_NAMES):
            yield where, f"an entry has {' and '.join(_CLAIM_NAMES)}", "write one of them"
        elif named == 0 and is_whole:
            message = f"an entry names neither {' nor '.join(_CLAIM_NAMES)}"
            yield where, message, f"write `{_CLAIM_NAMES[1]}: ...` next to `name`"
    names = {str(one.get("name")) for _, one in claims}
    for steps, container in containers if is_whole else ():
        resources = as_mapping(container.get("resources")) or {}
        for where, one in _each(resources, "claims", (*steps, "resources")):
            if isinstance(one.get("name"), str) and one["name"] not in names:
                message = f"no entry of resourceClaims is called {one['name']}"
                yield (*where, "name"), message, "add it to resourceClaims of the pod"


def _each(
    value: Mapping[str, Any], key: str, steps: _Steps
) -> Iterator[tuple[_Steps, Mapping[str, Any]]]:
    for index, one in enumerate(as_list(value.get(key)) or []):
        if is_mapping(one):
            yield (*steps, key, index), one
