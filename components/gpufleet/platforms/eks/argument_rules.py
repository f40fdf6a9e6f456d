"""Arguments of node groups that EKS refuses, and objects of Karpenter that the API server refuses,
rendered in the form in which components register them.

Works on the arguments of `aws:eks/nodeGroup` and `aws:ec2/launchTemplate` in the provider's
spelling, complete or in part. Enumerations, bounds and exclusions of the provider are rows of
`catalogue.provider_inputs`; combinations and quotas that no schema has are rules of
`findings.jsonl`, and here those that fields alone do not decide. Sources: EKS and EC2 service
models (botocore 1.44.5, LaunchTemplateSpecification, CreateNodegroup, WarmPoolConfig), EKS user
guide `nodes/launch-templates`, `ml/capacity-blocks-mng`, and EC2 user guide `efa-acc-inst-types`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import load
from gpufleet.catalogue.features import numbers
from gpufleet.cluster.fact import NOTHING, known
from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.contract.machine_images import ended_image
from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.autoscaler_tags import validate_autoscaler_tags
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import karpenter_name, node_overlay, node_pool
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import node_group
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding, _rules = findings_in(__file__), rules_in(__file__)


def validate_arguments(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Findings about node groups, launch templates and their tags."""
    prefix, version = spec.resource_prefix, spec.cluster.kubernetes_version
    for pool in pools:
        if pool.ownership is Ownership.EXISTING:
            continue
        shape = eks_shape(pool)
        if pool.provisioner.by_node_pool:
            yield from _objects(pool, shape, prefix, spec.tags)
            continue
        yield from validate_node_group(
            node_group(pool, shape, prefix, spec.tags, version),
            launch_template(pool, shape, prefix, spec.tags),
            f"{pool.path}.eks.nodeGroup",
            f"{pool.path}.eks.launchTemplate",
        )
        yield from validate_autoscaler_tags(pool)


_WIRED: Mapping[str, Any] = {
    "role": "role",
    "subnetSelectorTerms": [{"id": "subnet-0123456789abcdef0"}],
    "securityGroupSelectorTerms": [{"id": "sg-0123456789abcdef0"}],
}
"""Placeholder for the values of a node class from the connection."""


def _objects(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str]
) -> Iterator[Finding]:
    """Objects that the definitions refuse. AWS publishes none for EKS Auto Mode's NodeClass."""
    made = node_class(pool, shape, prefix, tags, karpenter_name(pool))
    objects = {
        "nodePool": node_pool(pool, shape),
        "nodeClass": {**made, "spec": {**made["spec"], **_WIRED}},
        "nodeOverlay": node_overlay(pool),
    }
    for name, document in objects.items():
        if document is None or not has_schema(document["apiVersion"], document["kind"]):
            continue
        for problem in schema_problems(document):
            place = problem.path.removeprefix("spec.")
            yield _finding(
                "karpenter-object-refused",
                f"{pool.path}.karpenter.{name}.{place}",
                fix=(problem.fix or "write a value that the definition accepts, or remove it"),
                place=place,
                kind=document["kind"],
                message=problem.message,
                found=problem.value,
                source=f"definition of {document['kind']} ({document['apiVersion']}, v1.14.1)",
            )


NODE_GROUP_TYPE = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE_TYPE = "aws:ec2/launchTemplate:LaunchTemplate"


def validate_node_group(
    group: Mapping[str, Any],
    template: Mapping[str, Any] | None,
    group_path: str,
    template_path: str,
) -> list[Finding]:
    """Everything that EKS or EC2 would refuse about the two together.

    `template` is None for a group without one. Arguments that are not given are not validated.
    """
    findings = [
        *_rules("node-group", group_path, group=group, template=template),
        *_sizes(group, group_path),
        *_image(group, group_path),
    ]
    if template is not None:
        findings += [
            *_rules("launch-template", template_path, template=template),
            *_types(group, template, template_path),
            *_groups(template, template_path),
            *_places(template, template_path),
            *_capacity_block(group, template, group_path, template_path),
        ]
    return [
        *findings,
        *refused_arguments(NODE_GROUP_TYPE, group, group_path),
        *refused_arguments(LAUNCH_TEMPLATE_TYPE, template or {}, template_path),
    ]


def _sizes(group: Mapping[str, Any], path: str) -> Iterable[Finding]:
    scaling = mapping(group.get("scalingConfig"))
    given = [scaling.get(f"{name}Size") for name in ("min", "desired", "max")]
    least, wanted, most = (size if type(size) is int else None for size in given)
    written = [size for size in (least, wanted, most) if size is not None]
    if written != sorted(written):
        yield _finding(
            "node-group-sizes", path, least=least, wanted=wanted, most=most, found=written
        )


def _types(
    group: Mapping[str, Any], template: Mapping[str, Any], template_path: str
) -> Iterable[Finding]:
    types, one = items(group.get("instanceTypes")), template.get("instanceType")
    if types and one is not None:
        yield _finding(
            "node-group-types-twice", template_path, one=one, types=types, found=[one, *types]
        )


def _capacity_block(
    group: Mapping[str, Any], template: Mapping[str, Any], group_path: str, template_path: str
) -> Iterable[Finding]:
    market = mapping(template.get("instanceMarketOptions")).get("marketType") == "capacity-block"
    capacity = group.get("capacityType")
    if not market and capacity != "CAPACITY_BLOCK":
        return
    reserved = mapping(template.get("capacityReservationSpecification"))
    target = mapping(reserved.get("capacityReservationTarget"))
    missing = [
        name
        for name, there in (
            (f"{group_path}.capacityType CAPACITY_BLOCK", capacity == "CAPACITY_BLOCK"),
            (f"{template_path}.instanceMarketOptions.marketType capacity-block", market),
            (
                f"{template_path}.capacityReservationSpecification.capacityReservationTarget",
                bool(target),
            ),
            (f"{template_path}.instanceType", template.get("instanceType") is not None),
        )
        if not there
    ]
    if missing:
        yield _finding(
            "capacity-block-incomplete", template_path, lacking="; ".join(missing), missing=missing
        )


def _image(group: Mapping[str, Any], path: str) -> Iterable[Finding]:
    """`amiType` with `version`."""
    image, version = group.get("amiType"), group.get("version")
    if not isinstance(image, str):
        return
    minor = known(numbers(version)) if isinstance(version, str) else NOTHING
    if (problem := ended_image(image, minor, load())) is not None:
        yield _finding("node-group-image-ended", path, problem=problem, found=version)


def _groups(template: Mapping[str, Any], path: str) -> Iterable[Finding]:
    interfaces = items(template.get("networkInterfaces"))
    groups = [
        key for key in ("vpcSecurityGroupIds", "securityGroupNames") if items(template.get(key))
    ] + [
        f"networkInterfaces[{index}].securityGroups"
        for index, interface in enumerate(interfaces)
        if items(interface.get("securityGroups"))
    ]
    if groups:
        yield _finding("launch-template-own-security-groups", f"{path}.{groups[0]}")


def _places(template: Mapping[str, Any], path: str) -> Iterable[Finding]:
    interfaces = items(template.get("networkInterfaces"))
    places = [(i.get("networkCardIndex") or 0, i.get("deviceIndex") or 0) for i in interfaces]
    efas = [one.get("interfaceType") in {"efa", "efa-only"} for one in interfaces]
    cards = [card for (card, _), efa in zip(places, efas, strict=True) if efa]
    listed = [
        {
            "place": place,
            "again": place in places[:index],
            "kind": one.get("interfaceType"),
            "second": efas[index] and place[0] in cards[: sum(efas[:index])],
        }
        for index, (one, place) in enumerate(zip(interfaces, places, strict=True))
    ]
    yield from _rules("interfaces", path, listed=listed, places=places)
