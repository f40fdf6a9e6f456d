"""Whether claims can work in this cluster: Kubernetes' gates, one advertiser per node, one driver.

The driver's chart checks none of this, and errors show only when a claim is prepared: the pod stays
in ContainerCreating. Kubernetes' gates: `pkg/features/kube_features.go` of v1.36.3.
"""

from collections.abc import Iterable, Iterator, Sequence

from gpufleet.catalogue import Catalogue, NodeImage
from gpufleet.cluster.program import KUBERNETES
from gpufleet.cluster.site import Site
from gpufleet.contract.claims import ADMIN_LABEL
from gpufleet.contract.declared_site import declared_site
from gpufleet.contract.dra_api import CHART_KEY, FIRST_WITH_V1, claims_api, gate_off, own_gates
from gpufleet.contract.platform import PlatformValue
from gpufleet.contract.programs.dra_gates import DRIVER, unknown_gate
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.partition import dra_gates
from gpufleet.partition.partition import Partition
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

Member = tuple[GpuPool, str, Partition, NodeImage | None]
"""A compiled pool: declaration, path, partition, node image."""

EXTENDED_RESOURCE, PARTITIONABLE = "DRAExtendedResource", "DRAPartitionableDevices"
"""Gates of Kubernetes: classes for the name of a resource, and devices created on demand."""
CAPACITY, TAINT_RULES = "DRAConsumableCapacity", "DRADeviceTaintRules"
OPERATOR_ROOT = "/run/nvidia/driver"


def validate_dra(
    members: Sequence[Member], spec: FleetSpec, platform: PlatformValue, catalogue: Catalogue
) -> Iterator[Finding]:
    """Findings about all pools that use claims, together; none without such a pool."""
    dynamic = [member for member in members if member[2].dra is not None]
    site = declared_site(spec, catalogue)
    yield from own_gates(site)
    facts = platform.facts
    if spec.cluster.feature_gates and not facts.beta_claims.switch:
        yield _finding("cluster-gate-fixed", title=facts.title)
    if not dynamic:
        return
    version = minor_of(spec.cluster.kubernetes_version)
    for _, path, partition, image in dynamic:
        place = f"{path}.sharing.dra"
        yield from _validate_version(partition, place, version, platform, site)
        yield from _validate_advertiser(place, image, platform)
        yield from _rules("admin", place, made=partition.dra, label=ADMIN_LABEL)
    if spec.addons.dra_driver.device_taints:
        yield from _gates_off([(TAINT_RULES, "addons.draDriver.deviceTaints", "")], site)
    yield from _validate_shares(dynamic)
    yield from _validate_driver(dynamic, spec, platform)
    yield from _validate_gates(dynamic, spec, site)
    yield from _validate_classes(members, site)


def driver_root(image: NodeImage | None, platform: PlatformValue) -> str:
    """Directory of the driver's files on a node of this image: the chart's `nvidiaDriverRoot`."""
    if image is None or not image.driver:
        return OPERATOR_ROOT
    return platform.facts.driver_root


def driver_gates(partitions: Iterable[Partition]) -> tuple[str, ...]:
    """Feature gates of the driver that these partitions need, by name."""
    needed = {gate for p in partitions if p.dra is not None for gate in p.dra.gates}
    return tuple(sorted(needed))


def _validate_version(
    partition: Partition, place: str, version: tuple[int, int], platform: PlatformValue, site: Site
) -> Iterable[Finding]:
    made = partition.dra
    assert made is not None
    said = f"{version[0]}.{version[1]}"
    facts = platform.facts
    beta = facts.beta_claims
    if version < minor_of(beta.since):
        yield _finding(
            "dra-kubernetes-too-old",
            place,
            title=facts.title,
            limit=beta.since,
            value=said,
            source=beta.source,
            on_since=site.catalogue.features(KUBERNETES).gates[EXTENDED_RESOURCE].on_since,
        )
        return
    if version < FIRST_WITH_V1:
        on = f"which {facts.title} has switched on"
        state = "off unless it is switched on" if beta.switch else on
        first = f"{beta.switch}; " if beta.switch else ""
        state = f"{state} ({beta.source})"
        yield _finding("dra-kubernetes-beta/declared", place, value=said, state=state, first=first)
    wanted: list[tuple[str, str, str]] = []
    if made.on_demand:
        wanted.append((PARTITIONABLE, f"{place}.devices", ", or list the devices in `layouts`"))
    if any(offer.extended_resource for offer in made.offers):
        without = ", or write `extendedResource: false`"
        wanted.append((EXTENDED_RESOURCE, f"{place}.extendedResource", without))
    remove = ", or remove the line"
    if made.consumable_shares is not None:
        wanted.append((CAPACITY, f"{place}.consumableShares", remove))
    kept = site.catalogue.features(KUBERNETES).fields
    for index, need in enumerate(made.needs):
        asked = {
            "firstAvailable": need.choices,
            "tolerations": need.asked.tolerations,
            "adminAccess": need.asked.admin_access,
        }
        wanted += [
            (kept[field].gate, f"{place}.claims[{index}].{field}", remove)
            for field, value in asked.items()
            if value
        ]
    yield from _gates_off(wanted, site)


def _gates_off(wanted: Iterable[tuple[str, str, str]], site: Site) -> Iterable[Finding]:
    """Gate, field that needs it, and the alternative."""
    for gate, field, instead in wanted:
        off = gate_off(gate, site)
        if off is None:
            continue
        newer = f'write `kubernetesVersion: "{off.on_since}"`, or ' if off.on_since else ""
        yield _finding(
            "dra-kubernetes-gate-off",
            field,
            why=off.message,
            newer=newer,
            instead=instead,
            value=".".join(map(str, site.minor or ())),
            limit=off.on_since,
            gate=gate,
        )


def _validate_shares(dynamic: Sequence[Member]) -> Iterable[Finding]:
    """One driver serves the cluster, and it has one setting."""
    ways = {path: part.dra.consumable_shares for _, path, part, _ in dynamic if part.dra}
    if len(set(ways.values())) > 1:
        shown = "; ".join(f"{path}: {way or 'none'}" for path, way in ways.items())
        yield _finding("dra-shares-differ", next(iter(ways)), shown=shown)


def fleet_claims_api(spec: FleetSpec) -> str:
    """`apiVersion` of the claims, templates and classes of a fleet."""
    return claims_api(
        minor_of(spec.cluster.kubernetes_version), spec.addons.dra_driver.values.get(CHART_KEY)
    )


def _validate_advertiser(
    place: str, image: NodeImage | None, platform: PlatformValue
) -> Iterable[Finding]:
    """Two advertisers assign every GPU twice. A label keeps the operator's plugin off the nodes."""
    if image is None or not image.device_plugin:
        return
    plugin = platform.facts.plugin
    fix = (
        "choose an image without a device plugin"
        if plugin is None
        else f"write `{plugin.switched_off_by}`, which keeps {plugin.owner}'s plugin off the nodes"
    )
    yield _finding("dra-two-advertisers", place, fix=fix, image=image.key, rule="OUR-16")


def _validate_driver(
    dynamic: Sequence[Member], spec: FleetSpec, platform: PlatformValue
) -> Iterable[Finding]:
    addon = spec.addons.dra_driver
    if addon.enabled is False:
        yield _finding("dra-driver-disabled", names=[pool.name for pool, *_ in dynamic])
    roots: dict[str, list[str]] = {}
    for pool, _, _, image in dynamic:
        roots.setdefault(driver_root(image, platform), []).append(pool.name)
    if len(roots) > 1 and "nvidiaDriverRoot" not in addon.values:
        shown = "; ".join(f"{root}: {', '.join(names)}" for root, names in sorted(roots.items()))
        last = dynamic[-1]
        yield _finding(
            "dra-driver-roots-differ",
            last[1],
            shown=shown,
            roots={root: tuple(names) for root, names in roots.items()},
        )


def _validate_gates(dynamic: Sequence[Member], spec: FleetSpec, site: Site) -> Iterable[Finding]:
    """One driver for the cluster: the gates of all pools and of the raw values apply together."""
    place = "addons.draDriver.values.featureGates"
    written = mapping(spec.addons.dra_driver.values.get("featureGates"))
    needed = set(driver_gates(partition for _, _, partition, _ in dynamic))
    for gate in sorted(needed):
        if written.get(gate) is False:
            asking = [p.name for p, _, part, _ in dynamic if part.dra and gate in part.dra.gates]
            yield _finding("dra-gate-switched-off", f"{place}.{gate}", asking=asking, gate=gate)
    on = needed | {name for name, value in written.items() if value is True}
    driver = site.release_of(DRIVER)
    for gate in sorted(needed - set(driver.gates)):
        asking = [p.name for p, _, part, _ in dynamic if part.dra and gate in part.dra.gates]
        message, _ = unknown_gate(gate, driver)
        yield _finding("dra-gate-unknown", message=message, asking=asking, gate=gate)
    on |= {name for name, default in driver.gates.items() if default and name not in written}
    clash = dra_gates.conflicts(on)
    if clash:
        asking = [f"{p.name}: {', '.join(part.dra.gates)}" for p, _, part, _ in dynamic if part.dra]
        yield _finding(
            "dra-gates-conflict",
            place if written else f"{dynamic[-1][1]}.sharing.dra",
            clash="; ".join(clash),
            asking="; ".join(asking),
            gates=sorted(on),
        )


def _validate_classes(members: Sequence[Member], site: Site) -> Iterable[Finding]:
    """A DeviceClass applies to the cluster: a class for an extended resource name serves it on
    every node where the driver serves such a device."""
    if not site.kubernetes_gate(EXTENDED_RESOURCE):
        return
    answered: dict[str, str] = {"gpu.nvidia.com": "nvidia.com/gpu"}
    for _, _, partition, _ in members:
        for offer in partition.dra.offers if partition.dra is not None else ():
            if offer.extended_resource is not None:
                answered[offer.device_class] = offer.extended_resource
    plugin = sorted({r for _, _, part, _ in members if part.dra is None for r in part.advertised})
    for _, path, partition, _ in members:
        if partition.dra is None:
            continue
        silent = [o for o in partition.dra.offers if o.extended_resource is None]
        names = sorted({answered[o.device_class] for o in silent if o.device_class in answered})
        if not names:
            continue
        both = [name for name in names if name in plugin]
        if not both:
            yield _finding("dra-class-answers-everywhere", path, resources=names)
            continue
        yield _finding("dra-class-answers-everywhere/advertised", path, resources=names, both=both)
