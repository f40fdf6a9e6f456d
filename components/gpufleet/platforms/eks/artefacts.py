"""Files of EKS pools, for GitOps and other tools: what the components would register."""

from collections.abc import Iterator
from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_node_pool_manifest import karpenter_name, node_pool
from gpufleet.platforms.eks.karpenter_overlay import node_overlay
from gpufleet.platforms.eks.launch_template import launch_template
from gpufleet.platforms.eks.node_group_arguments import node_group
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.render.artefact import Artefact, Kind
from gpufleet.spec.pool import Provisioner

DISCOVERY = "karpenter.sh/discovery"
"""Tag of subnets and security groups in Karpenter's installation guide."""


def eks_files(fleet: Fleet, pool: Pool) -> Iterator[Artefact]:
    """The objects of a pool of Karpenter's, or the arguments of a node group and its template."""
    prefix = fleet.spec.name_prefix or fleet.spec.cluster.name
    if pool.provisioner is Provisioner.KARPENTER:
        yield from _karpenter(fleet, pool, prefix)
        return
    shape, tags = eks_shape(pool), fleet.spec.tags
    version = fleet.spec.cluster.kubernetes_version
    arguments = {
        "nodeGroup": node_group(pool, shape, prefix, tags, version),
        "launchTemplate": launch_template(pool, shape, prefix, tags),
    }
    yield Artefact(
        f"clouds/aws/{pool.name}.yaml",
        Kind.ARGUMENTS,
        f"arguments of the node group {pool.name} and its launch template, but for cluster, role, "
        "subnets, security groups and user data",
        yaml_text(arguments),
    )


def _karpenter(fleet: Fleet, pool: Pool, prefix: str) -> Iterator[Artefact]:
    folder, shape = "manifests/karpenter", eks_shape(pool)
    overlay = node_overlay(pool)
    if overlay is not None:
        yield Artefact(
            f"{folder}/node-overlay-{pool.name}.yaml",
            Kind.MANIFEST,
            f"what Karpenter must expect of a new node of {pool.name} (gate NodeOverlay)",
            yaml_text(overlay),
        )
    yield Artefact(
        f"{folder}/node-pool-{pool.name}.yaml",
        Kind.MANIFEST,
        f"what Karpenter may launch for {pool.name}, how much, and when it may take it away",
        yaml_text(node_pool(pool, shape)),
    )
    made = node_class(pool, shape, prefix, fleet.spec.tags, karpenter_name(pool))
    yield Artefact(
        f"{folder}/node-class-{pool.name}.yaml",
        Kind.MANIFEST,
        f"image, disks and interfaces of {pool.name}'s machines",
        yaml_text(
            {**made, "spec": {**made["spec"], **_found_by_tag(fleet.spec.cluster.name)}},
            "Role, subnets and security groups as Karpenter's installation guide names them:\n"
            f"correct them, or tag yours with {DISCOVERY}={fleet.spec.cluster.name}.",
        ),
    )


def _found_by_tag(cluster: str) -> dict[str, Any]:
    terms = [{"tags": {DISCOVERY: cluster}}]
    return {
        "role": f"KarpenterNodeRole-{cluster}",
        "subnetSelectorTerms": terms,
        "securityGroupSelectorTerms": [dict(term) for term in terms],
    }
