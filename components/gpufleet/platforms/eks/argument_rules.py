"""What EKS refuses of the arguments of each node group, and the API server of Karpenter's objects:
both are rendered as components register them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.contract.schemas import has_schema, schema_problems
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.autoscaler_tags import validate_autoscaler_tags
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_node_pool_manifest import karpenter_name, node_pool
from gpufleet.platforms.eks.karpenter_overlay import node_overlay
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import node_group
from gpufleet.platforms.eks.node_group_contract import validate_node_group
from gpufleet.platforms.eks.shape import EksShape, eks_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


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
"""Stands for what the connection gives a node class."""


def _objects(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str]
) -> Iterator[Finding]:
    """What the definitions refuse. AWS publishes none of EKS Auto Mode's NodeClass."""
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
                fix=(problem.fix or "write a value that the definition takes, or remove the field"),
                place=place,
                kind=document["kind"],
                message=problem.message,
                found=problem.value,
                source=f"definition of {document['kind']} ({document['apiVersion']}, v1.14.1)",
            )
