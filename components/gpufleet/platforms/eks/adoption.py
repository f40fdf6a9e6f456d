"""Pools on EKS from existing node groups, launch templates and Karpenter's objects."""

import base64
import binascii
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import AWS, load
from gpufleet.documents.shapes import items, known_texts, mapping
from gpufleet.fleet.adopted_rows import adopted_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    INTENT,
    Choice,
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
)
from gpufleet.fleet.observed_nodes import (
    NodeGroups,
    group_taints,
    is_of_cloud,
    pool_name,
    regions_of_nodes,
)
from gpufleet.platforms.clouds.taint_effects import READ
from gpufleet.platforms.eks import auto_mode
from gpufleet.platforms.eks.adopted_fields import (
    GPU_TAINTS,
    bottlerocket_sharing,
    disk_size,
    has_accelerator,
    kms_key,
    prefix_of,
    sorted_taints,
    zones_of_subnets,
)
from gpufleet.platforms.eks.karpenter_adoption import karpenter_pools
from gpufleet.platforms.eks.node_repair_rules import LIMITS
from gpufleet.platforms.eks.user_data import without_cluster
from gpufleet.spec.base import Platform
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION
from gpufleet.spec.health import HealthPolicy

_adopted = adopted_in(__file__)

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CLUSTER = "aws:eks/cluster:Cluster"
UNTIL = "gpufleet.dev/capacity-block-until"
STARTS = "gpufleet.dev/capacity-block-starts"
AUTOSCALED = "k8s.io/cluster-autoscaler/"


NODES = NodeGroups(
    AWS,
    ("eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool"),
    {"eks.amazonaws.com/capacityType": "SPOT", "karpenter.sh/capacity-type": "spot"},
    "The node group is in a Terraform or Pulumi state; Karpenter's objects are read with "
    "`kubectl get nodes,nodepools,ec2nodeclasses -o json`",
)
"""EKS writes its labels on nodes of managed groups; Karpenter on its own (karpenter.sh/v1)."""


class EksAdoption(PlatformAdoption):
    """Node groups, and NodePools with their EC2NodeClasses."""

    platform = Platform.EKS
    tokens = frozenset(
        {
            *(GROUP, CLUSTER, "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"),
            f"kubernetes:{auto_mode.API_VERSION}:{auto_mode.KIND}",
        }
    )
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        "nodeGroup": (
            *("clusterName", "nodeRoleArn", "launchTemplate", "nodeGroupName", "region"),
            *("nodeGroupNamePrefix", "subnetIds", "scalingConfig.desiredSize", "version"),
        ),
        "launchTemplate": (
            *("name", "namePrefix", "vpcSecurityGroupIds", "placement.groupName", "region"),
            *("updateDefaultVersion",),
        ),
        "nodePool": (
            "region",
            "clusterName",
            "spec.template.spec.nodeClassRef.name",
            "metadata.name",
        ),
        "nodeClass": (
            *("region", "clusterName", "metadata.name", "spec.role", "spec.subnetSelectorTerms"),
            *("spec.securityGroupSelectorTerms", "spec.placementGroupSelector"),
        ),
        "*": ("tag", "placementGroup", "nodeOverlay"),
    }
    raw: ClassVar[Mapping[str, str]] = {
        "nodeGroup": "eks.nodeGroup",
        "launchTemplate": "eks.launchTemplate",
    }
    kept = (
        *("eks.nodeRepair", "eks.placementGroup", "health"),
        *("karpenter.placementGroup", "karpenter.priceAdjustment"),
    )
    choices = (
        INTENT,
        Choice("eks.localStorage", ("none", "raid0")),
        Choice("eks.placementGroup", (False, True)),
        Choice("gpuTaint", (False, True)),
    )

    def recognises(self, seen: Observations) -> bool:
        """By types of resources, or by the nodes."""
        named = any(one.token in self.tokens for one in seen.resources)
        return named or is_of_cloud(seen, "aws:")

    def cluster(self, seen: Observations) -> Declaration:
        """Name and place."""
        found: Declaration = {"name": "adopted"}
        for one in (*seen.of(CLUSTER), *seen.of(GROUP)):
            found |= {"region": v} if (v := _arn_region(_text(one, "arn"))) else {}
        for one in seen.of(GROUP):
            found["name"] = one.properties.get("clusterName") or found["name"]
            found |= {"kubernetesVersion": v} if (v := _text(one, "version")) else {}
            found |= {"region": v} if (v := _text(one, "region")) else {}
        for one in seen.of(CLUSTER):
            found["name"] = one.properties.get("name") or found["name"]
            found |= {"kubernetesVersion": v} if (v := _text(one, "version")) else {}
        for one in seen.objects("EC2NodeClass"):
            tags = mapping(one.spec.get("tags"))
            discovery = [
                mapping(mapping(term).get("tags")).get("karpenter.sh/discovery")
                for term in items(one.spec.get("subnetSelectorTerms"))
            ]
            named = next((name for name in discovery if isinstance(name, str)), None)
            if named is not None and found["name"] == "adopted":
                found["name"] = named
            elif found["name"] == "adopted" and isinstance(tags.get("Name"), str):
                found["name"] = tags["Name"].removesuffix(f"-{tags.get(POOL_LABEL)}")
        regions = {z[:-1] for z in zones_of_subnets(seen).values()} | set(regions_of_nodes(seen))
        if len(regions) == 1:
            found["region"] = regions.pop()
        return found

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One pool for each group of nodes."""
        for one in seen.of(GROUP):
            made = _group(seen, one)
            if made is not None:
                yield made
        stated = self.cluster(seen).get("kubernetesVersion") or seen.kubernetes_minor()
        for one in seen.objects("NodePool"):
            yield from karpenter_pools(seen, one, stated or DEFAULT_KUBERNETES_VERSION)
        groups = (*seen.of(GROUP), *seen.objects("NodePool"))
        yield from NODES.pools(seen, {_group_name(one) for one in groups})


def _arn_region(arn: str | None) -> str | None:
    """Region of an ARN: `arn:partition:service:region:account:resource`."""
    parts = (arn or "").split(":")
    return parts[3] or None if len(parts) >= 6 else None


def _group_name(one: ObservedResource) -> str:
    """The group's name as in the label of its nodes."""
    named = one.properties.get("nodeGroupName") or (one.id or "").rpartition(":")[2]
    return str(named or one.metadata.get("name") or one.name)


def _group(seen: Observations, one: ObservedResource) -> ProposedPool | None:
    group = dict(one.properties)
    template = _template_of(seen, one)
    spec = {} if template is None else mapping(template.properties)
    types = [t for t in items(group.get("instanceTypes")) if isinstance(t, str)]
    if not types and isinstance(spec.get("instanceType"), str):
        types = [spec["instanceType"]]
    if not any(has_accelerator(name) for name in types):
        return None
    labels, tags = known_texts(group.get("labels")), known_texts(group.get("tags"))
    name = tags.get(POOL_LABEL) or labels.get(POOL_LABEL) or _pool_name(one)
    scaling = mapping(group.get("scalingConfig"))
    notes: list[str] = []
    autoscaled = any(key.startswith(AUTOSCALED) for key in tags)
    pool: Declaration = {
        "name": name,
        "instanceTypes": types,
        "nodes": {"min": scaling.get("minSize", 0), "max": scaling.get("maxSize", 1)},
        "provisioner": "clusterAutoscaler" if autoscaled else "managed",
    }
    zones = _zones(seen, group, notes)
    if zones:
        pool["zones"] = zones
    _capacity(pool, group, spec, tags, zones, notes)
    text = _template_inputs(spec).get("userData")
    _adopted(
        "nodeGroup",
        pool,
        group=group,
        template=spec,
        taints=group_taints(group.get("taints"), GPU_TAINTS, READ),
        text=text if isinstance(text, str) else None,
        image=_image(group.get("amiType")),
        size=disk_size(spec.get("blockDeviceMappings")) or group.get("diskSize"),
        key=kms_key(spec.get("blockDeviceMappings")),
        health=_health(mapping(group.get("nodeRepairConfig")), pool["nodes"]),
        sharing=None if template is None else bottlerocket_sharing(text, types[0]),
    )
    kept = {**group, "taints": sorted_taints(group.get("taints"))}
    found: dict[str, Mapping[str, Any]] = {"nodeGroup": kept}
    if template is not None:
        found["launchTemplate"] = _template_inputs(spec)
    cluster = str(group.get("clusterName") or "")
    named = str(group.get("nodeGroupName") or (one.id or "").rpartition(":")[2])
    return ProposedPool(
        pool,
        found,
        (one,) if template is None else (one, template),
        import_id=f"{cluster}:{named}" if cluster and named else None,
        labels=labels,
        tags=tags,
        name_prefix=prefix_of(tags, name),
        notes=tuple(notes),
    )


def _health(repair: Mapping[str, Any], nodes: Mapping[str, int]) -> Declaration | None:
    """The `health` with the repair limits of a group; None if it has no limits, or limits that
    `health` cannot express."""
    percent, count, at_once = (repair.get(name) for name in LIMITS)
    if repair.get("enabled") is not True or (percent, count, at_once) == (None, None, None):
        return None
    floor: Declaration = {"asPlatform": True}
    if isinstance(percent, int):
        floor = {"percent": 100 - percent}
    elif isinstance(count, int):
        floor = {"nodes": 0 if count >= nodes["max"] else nodes["min"] - count}
        if floor["nodes"] < 0:
            return None
    found: Declaration = {"mode": "repair", "floor": floor}
    least = HealthPolicy.model_validate(found).allowed(nodes["max"])
    if isinstance(at_once, int):
        found["atOnce"] = at_once
    return found if least >= found.get("atOnce", 1) else None


def _image(kind: Any) -> str | None:
    """The image of a type of AMI."""
    rows = load().images.values()
    return next((r.key for r in rows if r.platform == "eks" and kind in r.ami_types.values()), None)


def _capacity(
    pool: Declaration,
    group: Mapping[str, Any],
    template: Mapping[str, Any],
    tags: Mapping[str, str],
    zones: list[str],
    notes: list[str],
) -> None:
    target = mapping(
        mapping(template.get("capacityReservationSpecification")).get("capacityReservationTarget")
    )
    held = target.get("capacityReservationId") or target.get("capacityReservationResourceGroupArn")
    zone = {"zone": zones[0]} if len(zones) == 1 else {}
    if group.get("capacityType") == "CAPACITY_BLOCK" and held is not None:
        if UNTIL not in tags or not zone:
            notes.append(
                "a Capacity Block needs its end and its zone, which the resources do not show"
            )
            return
        starts = {"starts": tags[STARTS]} if STARTS in tags else {}
        block = {"id": held, **zone, "until": tags[UNTIL], **starts}
        pool["capacity"] = [{"capacityBlock": block}]
        pool.pop("zones", None)
    elif held is not None:
        pool["capacity"] = [{"reserved": {"id": held, **zone}}]
        if zone:
            pool.pop("zones", None)
    elif group.get("capacityType") == "SPOT":
        pool["capacity"] = [{"spot": {}}]


def _template_inputs(template: Mapping[str, Any]) -> dict[str, Any]:
    """In the form of `registered`: user data as text, interfaces without security groups."""
    found = dict(template)
    text = found.get("userData")
    if isinstance(text, str):
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):  # written as text
            text = base64.b64decode(text, validate=True).decode()
        found["userData"] = without_cluster(text)
    if items(found.get("networkInterfaces")):
        found["networkInterfaces"] = [
            {k: v for k, v in mapping(one).items() if k != "securityGroups"}
            for one in items(found["networkInterfaces"])
        ]
    return found


def _template_of(seen: Observations, one: ObservedResource) -> ObservedResource | None:
    """By id or name; in a plan, which does not have the id yet, that of the same module."""
    if "launchTemplate" not in one.properties:
        return None
    written = mapping(one.properties["launchTemplate"])
    wanted = {v for v in (written.get("id"), written.get("name")) if isinstance(v, str)}
    for found in seen.of(TEMPLATE):
        if wanted:
            if {found.id, found.properties.get("name"), found.name} & wanted:
                return found
        elif found.address.rpartition(".aws_")[0] == one.address.rpartition(".aws_")[0]:
            return found
    return None


def _zones(seen: Observations, group: Mapping[str, Any], notes: list[str]) -> list[str]:
    subnets = [s for s in items(group.get("subnetIds")) if isinstance(s, str)]
    by_id = zones_of_subnets(seen)
    zones = sorted({by_id[s] for s in subnets if s in by_id})
    if len(zones) < len(set(subnets)):
        notes.append("the zones of some subnets were not found: zones are not declared")
        return []
    return zones


def _pool_name(one: ObservedResource) -> str:
    """A valid pool name from the name of its group."""
    inputs = one.properties
    return pool_name(
        str(inputs.get("nodeGroupName") or inputs.get("nodeGroupNamePrefix") or one.name)
    )


def _text(one: ObservedResource, key: str) -> str | None:
    value = one.properties.get(key)
    return value if isinstance(value, str) else None


ADOPTION = EksAdoption()
