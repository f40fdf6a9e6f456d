"""Documents as resources that exist: dumps of clusters, plans, states, values of charts."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.fleet.observed import ObservedResource
from gpufleet_policies.names import meanings, names
from gpufleet_policies.readers.blocks import camel_keys, inside
from gpufleet_policies.readers.nvidia_configs import without_unknown
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.readers.pulumi_state import is_preview, is_state, opened
from gpufleet_policies.readers.pulumi_types import TERRAFORM
from gpufleet_policies.readers.terraform import is_plan, planned_resources
from gpufleet_policies.wrappers.charts import chart_of_file

RELEASE = "kubernetes:helm.sh/v3:Release"
_MORE_TERRAFORM = {
    "aws_eks_cluster": "aws:eks/cluster:Cluster",
    "aws_subnet": "aws:ec2/subnet:Subnet",
}
_MANIFESTS = {"kubernetes_manifest": "manifest"}
_LISTS = frozenset(names("list of Pulumi"))
"""Lists in Pulumi's spelling. Every other list of one block is the block itself."""
_RENAMED = meanings("block that Pulumi renames")
"""Blocks whose name Pulumi has in the plural."""


def resources_of(document: Any, path: str) -> Iterator[ObservedResource]:
    """Every resource of one document; none where it is of no kind that is read."""
    if not is_mapping(document):
        return
    if is_plan(document):
        yield from _of_plan(document)
    elif is_state(document):
        for one in items(inside(document, "deployment.resources")):
            if inside(one, "delete") is not True:
                yield from _of_pulumi(one)
    elif is_preview(document):
        for step in items(document.get("steps")):
            yield from _of_pulumi(inside(step, "newState"))
    elif is_list(document.get("items")):
        for one in items(document["items"]):
            yield from _object(one)
    elif "kind" in document:
        yield from _object(document)
    else:
        chart = chart_of_file(document, path)
        if chart is not None:
            values = {"chart": chart.name, "values": plain(document)}
            yield ObservedResource(RELEASE, chart.name, values, address=path)


def _of_plan(document: Mapping[str, Any]) -> Iterator[ObservedResource]:
    for kind, address, values in planned_resources(document):
        if kind in _MANIFESTS:
            yield from _object(mapping(values).get(_MANIFESTS[kind]), address)
            continue
        token = TERRAFORM.get(kind) or _MORE_TERRAFORM.get(kind)
        if token is None or not is_mapping(values):
            continue
        known, _ = without_unknown(values if kind == "helm_release" else camel_keys(values))
        inputs = known if kind == "helm_release" else _unwrapped(known)
        id_ = known.get("id")
        # `gpu-a` of `module.eks.aws_eks_node_group.gpu["a"]`
        name = address.split(".")[-1].replace('"', "").replace("[", "-").rstrip("]")
        yield ObservedResource(token, name, inputs, id_ if isinstance(id_, str) else None, address)


def _unwrapped(value: Any, key: str = "") -> Any:
    if is_mapping(value):
        return {
            (name := _RENAMED.get(one, one)): _unwrapped(item, name) for one, item in value.items()
        }
    if is_list(value):
        if key not in _LISTS and len(value) == 1 and is_mapping(value[0]):
            return _unwrapped(value[0])
        return [_unwrapped(item) for item in value]
    return value


def _of_pulumi(state: Any) -> Iterator[ObservedResource]:
    kind, urn = inside(state, "type"), inside(state, "urn")
    if not isinstance(kind, str) or not isinstance(urn, str):
        return
    inputs, _ = without_unknown(opened(plain(inside(state, "inputs"))))
    if not is_mapping(inputs):
        return
    own = {key: value for key, value in inputs.items() if not key.startswith("__")}
    outputs, _ = without_unknown(opened(plain(inside(state, "outputs"))))
    for key in ("nodeGroupName", "availabilityZone", "name"):
        if key not in own and isinstance(mapping(outputs).get(key), str):
            own[key] = outputs[key]
    id_ = inside(state, "id")
    yield ObservedResource(
        kind, urn.rpartition("::")[2], own, id_ if isinstance(id_, str) else None, urn
    )


def _object(value: Any, address: str = "") -> Iterator[ObservedResource]:
    one, _ = without_unknown(plain(value))
    kind = mapping(one).get("kind")
    if not is_mapping(one) or not isinstance(kind, str):
        return
    metadata = mapping(one.get("metadata"))
    name = str(metadata.get("name") or "")
    place = "/".join(str(p) for p in (kind, metadata.get("namespace"), name) if p)
    version = one.get("apiVersion") or "v1"
    yield ObservedResource(f"kubernetes:{version}:{kind}", name, one, None, address or place)
