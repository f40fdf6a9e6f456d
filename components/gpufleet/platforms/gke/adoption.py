"""Pools on GKE from existing node pools and ComputeClasses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import GCP, load
from gpufleet.catalogue.google_zones import region_of_google_zone
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
from gpufleet.platforms.gke.daemon_sets import DRIVER, INSTALLER, chosen_pools
from gpufleet.platforms.gke.facts import fabric_of
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, GKE_TAINTS, step_names
from gpufleet.spec.base import Platform

_adopted = adopted_in(__file__)

CLUSTER = "gcp:container/cluster:Cluster"
_OWN_TAINTS = ("nvidia.com/gpu", "google.com/tpu", COMPUTE_CLASS, *(one.key for one in GKE_TAINTS))
_DYNAMIC = ("flexStart", "queued")


NODES = NodeGroups(
    GCP,
    ("cloud.google.com/gke-nodepool",),
    {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-preemptible": "true"},
    "The node pool is in a Terraform or Pulumi state",
)
"""GKE writes its labels on every node."""


class GkeAdoption(PlatformAdoption):
    """Node pools: those of one ComputeClass are one pool."""

    platform = Platform.GKE
    tokens = frozenset({NODE_POOL, CLUSTER})
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        "nodePool": (
            *("cluster", "location", "project", "name", "initialNodeCount", "nodeCount"),
            *("nodeConfig.serviceAccount", "networkConfig.additionalNodeNetworkConfigs"),
            *("placementPolicy.policyName", "version"),
        ),
        "computeClass": ("spec.priorities",),
        "*": ("placement",),
    }
    raw: ClassVar[Mapping[str, str]] = {"nodePool": "gke.nodePool"}
    choices = (
        INTENT,
        Choice("gpuTaint", (False, True)),
        Choice("gke.openReservations", (True,)),
        Choice("fabric", ("rdma", "tcpx", "tcpxo")),
    )

    def recognises(self, seen: Observations) -> bool:
        """By types of resources, or by the nodes."""
        return super().recognises(seen) or is_of_cloud(seen, "gce:")

    def cluster(self, seen: Observations) -> Declaration:
        """Name and place."""
        found: Declaration = {"name": "adopted"}
        regions = set(regions_of_nodes(seen))
        if len(regions) == 1:
            found["region"] = regions.pop()
        for one in (*seen.of(NODE_POOL), *seen.of(CLUSTER)):
            inputs = one.properties
            key = "cluster" if one.token == NODE_POOL else "name"
            name, place = inputs.get(key), inputs.get("location")
            if isinstance(name, str):
                found["name"] = name.rpartition("/")[2]
            if isinstance(place, str):
                found["region"] = _region(place)
            if isinstance(inputs.get("project"), str):
                found["project"] = inputs["project"]
            for version in (inputs.get("version"), inputs.get("minMasterVersion")):
                if isinstance(version, str) and version.count(".") >= 1:
                    found["kubernetesVersion"] = ".".join(version.split(".")[:2])
        return found

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One pool for each group of nodes."""
        groups: dict[str, list[ObservedResource]] = {}
        for one in seen.of(NODE_POOL):
            if not _is_gpu(one):
                continue
            labels = _labels(one)
            name = labels.get(POOL_LABEL) or labels.get(COMPUTE_CLASS) or pool_name(_name(one))
            groups.setdefault(name, []).append(one)
        classes = {c.metadata.get("name"): c for c in seen.objects("ComputeClass")}
        for name, members in groups.items():
            yield _pool(
                name,
                _ordered(members, classes.get(name)),
                classes.get(name),
                gpudirect=name in _installed_for(seen, INSTALLER),
            )
        yield from NODES.pools(seen, {_name(one) for one in seen.of(NODE_POOL)})

    def addons(self, seen: Observations, pools: Sequence[Declaration]) -> Declaration:
        """Plugins of NCCL and the driver's installer are declared only if a fleet created them:
        otherwise Google's own manifests may exist, which need not be in the input."""
        wanted = {
            "gpuDirect": any(pool.get("fabric", "none") != "none" for pool in pools),
            "driverInstaller": any(pool["gke"].get("driver") for pool in pools if "gke" in pool),
        }
        made = {"gpuDirect": INSTALLER, "driverInstaller": f"gpufleet-{DRIVER}"}
        return {
            addon: {"enabled": False}
            for addon, needed in wanted.items()
            if needed and not _installed_for(seen, made[addon])
        }


def _installed_for(seen: Observations, prefix: str) -> set[str]:
    """Pools whose nodes get a program of Google's from a fleet, by DaemonSets of such names."""
    found: set[str] = set()
    for one in seen.objects("DaemonSet"):
        if str(one.metadata.get("name")).startswith(prefix):
            found |= {*chosen_pools(one.properties)}
    return found


def _pool(
    name: str,
    members: list[ObservedResource],
    compute_class: ObservedResource | None,
    *,
    gpudirect: bool,
) -> ProposedPool:
    first = members[0]
    inputs, config = first.properties, mapping(first.properties.get("nodeConfig"))
    scalings = [mapping(one.properties.get("autoscaling")) for one in members]
    # A step of TPUs by flex start always has bounds for each zone: the other steps decide.
    scaling = next((one for one in scalings if "maxNodeCount" not in one), scalings[0])
    per_zone = "maxNodeCount" in scaling
    low = _count(scaling.get("minNodeCount" if per_zone else "totalMinNodeCount"))
    high = _count(scaling.get("maxNodeCount" if per_zone else "totalMaxNodeCount"))
    notes: list[str] = []
    fixed = inputs.get("nodeCount") or inputs.get("initialNodeCount")
    if high is None and isinstance(fixed, int):
        low = high = fixed
        notes.append("the node pool does not scale; its size is used for both bounds")
    elif high is None:
        high = 1
        notes.append("no upper bound was found: nodes.max is a guess")
    pool: Declaration = {
        "name": name,
        **_machine(config),
        "nodes": {"min": low or 0, "max": max(high, 1)},
        "capacity": [_capacity(one, notes) for one in members],
    }
    zones = [z for z in items(inputs.get("nodeLocations")) if isinstance(z, str)]
    location = inputs.get("location")
    if not zones and isinstance(location, str) and _region(location) != location:
        zones = [location]
    if zones:
        pool["zones"] = zones
        for way in pool["capacity"]:
            if "reserved" in way and len(zones) == 1:
                way["reserved"]["zone"] = zones[0]
    row = load().instances.get(str(config.get("machineType")))
    network = mapping(inputs.get("networkConfig"))
    fast = gpudirect or items(network.get("additionalNodeNetworkConfigs"))
    shared = {"upgradeSettings": _upgrade(members), "management": _management(members)}
    _adopted(
        "pool",
        pool,
        inputs={**inputs, **shared},
        config=config,
        per_zone=per_zone,
        fabric=fabric_of(row).value if row is not None and fast else None,
        taints=group_taints(config.get("taints"), _OWN_TAINTS, READ),
        sharing=_sharing(config),
    )
    steps = step_names([next(iter(way)) for way in pool["capacity"]])
    found: dict[str, Mapping[str, Any]] = {
        (f"nodePool/{step}" if step else "nodePool"): _inputs(one)
        for step, one in zip(steps, members, strict=True)
    }
    seen = tuple(members)
    if compute_class is not None and len(members) > 1:
        found["computeClass"] = {
            key: value for key, value in compute_class.properties.items() if key != "status"
        }
        seen = (*seen, compute_class)
    return ProposedPool(
        pool,
        found,
        seen,
        import_id=_import_id(first),
        labels={k: v for k, v in _labels(first).items() if not k.startswith("cloud.google.com/")},
        tags=known_texts(config.get("resourceLabels")),
        name_prefix=_prefix(str(inputs.get("name") or ""), name, steps[0]),
        notes=tuple(notes),
    )


def _upgrade(members: list[ObservedResource]) -> dict[str, Any]:
    """Upgrade settings of all steps; those of dynamic capacity have none if no strategy is
    declared."""
    given = [found for m in members if (found := mapping(m.properties.get("upgradeSettings")))]
    if not given:
        return {}
    declared = len(given) == len(members)
    return {key: value for key, value in given[0].items() if declared or key != "strategy"}


def _management(members: list[ObservedResource]) -> dict[str, Any]:
    """Management of all steps, without the repair that dynamic capacity never has."""
    ways = [next(iter(_capacity(one, []))) for one in members]
    found = [mapping(one.properties.get("management")) for one in members]
    repairs = [
        one.get("autoRepair") for one, way in zip(found, ways, strict=True) if way not in _DYNAMIC
    ]
    return {**found[0], "autoRepair": repairs[0] if repairs else None}


def _machine(config: Mapping[str, Any]) -> Declaration:
    """Machine type; with N1 hosts also their attached GPUs."""
    accelerators = [mapping(one) for one in items(config.get("guestAccelerators"))]
    kind = str(config.get("machineType"))
    found: Declaration = {"instanceTypes": [kind]}
    if kind.startswith("n1-") and accelerators:
        rows = [
            row
            for row in load().instances.values()
            if row.attachable and row.gke_accelerator_type == accelerators[0].get("type")
        ]
        if rows:
            found |= {"gpu": rows[0].accelerator.gpu, "gpusPerNode": accelerators[0].get("count")}
    return found


def _capacity(one: ObservedResource, notes: list[str]) -> Declaration:
    config = mapping(one.properties.get("nodeConfig"))
    longest = str(config.get("maxRunDuration") or "")
    run = {"maxRunDuration": f"{int(longest[:-1]) // 60}m"} if longest[:-1].isdigit() else {}
    affinity = mapping(config.get("reservationAffinity"))
    if mapping(one.properties.get("queuedProvisioning")).get("enabled") is True:
        return {"queued": {**run, **({"flexStart": True} if config.get("flexStart") else {})}}
    if config.get("flexStart") is True:
        return {"flexStart": run}
    if config.get("spot") is True:
        return {"spot": {}}
    if config.get("preemptible") is True:
        notes.append("preemptible machines are declared as spot: GKE stops them after a day")
        return {"spot": {}}
    if affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION":
        name, _, block = str(next(iter(items(affinity.get("values"))), "")).partition(
            "/reservationBlocks/"
        )
        return {"reserved": {"id": name, **({"blocks": [block]} if block else {})}}
    return {"onDemand": {}}


def _sharing(config: Mapping[str, Any]) -> Declaration | None:
    accelerators = [mapping(one) for one in items(config.get("guestAccelerators"))]
    found = accelerators[0] if accelerators else mapping(None)
    shared = mapping(found.get("gpuSharingConfig"))
    size, clients = found.get("gpuPartitionSize"), shared.get("maxSharedClientsPerGpu")
    turns: Declaration = {}
    if isinstance(clients, int) and clients > 1:
        mode = "mps" if shared.get("gpuSharingStrategy") == "MPS" else "timeSlicing"
        turns = {mode: {"replicas": clients}}
    if isinstance(size, str) and size:
        row = load().instances.get(str(config.get("machineType")))
        count = {} if row is None else row.offered_partition_sizes
        layout = {"devices": {size: count.get(size, 1)}}
        return {"mig": {"layouts": [layout], **turns}}
    return turns or None


def _inputs(one: ObservedResource) -> dict[str, Any]:
    found = dict(one.properties)
    config = dict(mapping(found.get("nodeConfig")))
    if config.get("taints"):
        config["taints"] = sorted(
            ({k: mapping(t).get(k) for k in ("key", "value", "effect")} for t in config["taints"]),
            key=str,
        )
    found["nodeConfig"] = config
    return found


def _count(found: object) -> int | None:
    """A number of nodes; None for other values, such as a text of a plan without values."""
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _ordered(
    members: list[ObservedResource], compute_class: ObservedResource | None
) -> list[ObservedResource]:
    """In the order of the ComputeClass's priorities."""
    spec = {} if compute_class is None else compute_class.spec
    named = [n for p in items(spec.get("priorities")) for n in items(mapping(p).get("nodepools"))]
    rank = {str(name): index for index, name in enumerate(named)}
    return sorted(members, key=lambda one: rank.get(_name(one), len(rank)))


def _is_gpu(one: ObservedResource) -> bool:
    config = mapping(one.properties.get("nodeConfig"))
    if items(config.get("guestAccelerators")):
        return True
    row = load().instances.get(str(config.get("machineType")))
    return row is not None and row.cloud == GCP and not row.attachable


def _labels(one: ObservedResource) -> dict[str, str]:
    return known_texts(mapping(one.properties.get("nodeConfig")).get("labels"))


def _name(one: ObservedResource) -> str:
    return str(one.properties.get("name") or one.name)


def _region(place: str) -> str:
    """`us-central1` of `us-central1-a`."""
    return region_of_google_zone(place) or place


def _prefix(written: str, name: str, step: str) -> str | None:
    ending = f"-{name}-{step}" if step else f"-{name}"
    return written.removesuffix(ending) if written.endswith(ending) and written != name else None


def _import_id(one: ObservedResource) -> str | None:
    """`project/location/cluster/node-pool`, the provider's import id."""
    parts = [one.properties.get(key) for key in ("project", "location", "cluster", "name")]
    return "/".join(map(str, parts)) if all(isinstance(p, str) for p in parts) else None


ADOPTION = GkeAdoption()
