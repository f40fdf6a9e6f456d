"""Declaration of existing resources, values for their import, and what it cannot express."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpufleet.adopt.charts import adopted_addons
from gpufleet.adopt.refine import (
    Compared,
    Difference,
    Refinement,
    compiled_pool,
    differences_of,
    placed,
)
from gpufleet.catalogue import Gpu
from gpufleet.cluster.pool import region_of_zones
from gpufleet.contract.platform import Platforms, PlatformValue
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL, POOL_LABEL
from gpufleet.fleet.observed import (
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
    platform_adoption,
)
from gpufleet.fleet.reported_gpus import reported_gpus
from gpufleet.partition.placement import Refusal, place
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.base import Platform
from gpufleet.spec.document import UnreadableDocumentError

CATALOGUE = "2026.11"
TEAM_LABEL = "gpufleet.dev/team"
OWN_TAGS = ("Name", POOL_LABEL, TEAM_LABEL)
DERIVED_TAGS = ("k8s.io/cluster-autoscaler/", "gpufleet.dev/")


@dataclass(frozen=True, slots=True)
class NotExpressed:
    """An existing property that the declaration does not contain."""

    resource: str
    """Address of the resource."""
    path: str
    """Input of it; empty: the whole resource."""
    found: Any
    """Its value."""
    declared: Any
    """The value that the declaration would create; None: none."""


@dataclass(frozen=True, slots=True)
class Import:
    """How a resource is imported into a pool."""

    pool: str
    type: str
    address: str
    id: str | None
    """Id in the cloud for `pulumi import`; None: not in the input."""
    import_id: str | None
    """Value of the pool's `importId`; None if the platform has none."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """The result of the adoption."""

    spec: Declaration | None
    """The declaration; None if no GPU pool was found."""
    imports: tuple[Import, ...]
    not_expressed: tuple[NotExpressed, ...]
    notes: tuple[str, ...]
    """Facts that could not be read or validated."""


def adopt(
    seen: Observations,
    platforms: Platforms,
    platform: Platform | None = None,
    *,
    import_ids: bool = False,
) -> Adoption:
    """The closest declaration to existing resources.

    Args:
        seen: Existing resources.
        platforms: Possible platforms.
        platform: The platform. Default: the one that knows a type of the resources.
        import_ids: Write `importId` into pools that can be imported.
    """
    adoption = _adoption(seen, platforms, platform)
    if adoption is None:
        return Adoption(None, (), (), (_NOTHING,))
    proposals = sorted(adoption.pools(seen), key=lambda one: str(one.pool["name"]))
    if not proposals:
        return Adoption(None, (), (), ("no group of nodes with GPUs was found",))
    frame = _frame(adoption, seen, proposals)
    placed_by_example = _placed(frame, platforms[adoption.platform], proposals)
    notes = [_NO_REGION] if placed_by_example else []
    pools: list[Declaration] = []
    kept: list[tuple[ProposedPool, Compared]] = []
    imports: list[Import] = []
    missed: list[NotExpressed] = []
    known: dict[tuple[str, ...], list[tuple[ProposedPool, Compared]]] = {}
    for proposed in proposals:
        one, added = _with_sharing(frame, proposed, seen)
        alike = known.setdefault(tuple(r.address for r in proposed.seen), [])
        best = Refinement(frame, one, adoption).refined_alike(alike)
        pool = best.pool
        if best.refused:
            reasons = [*proposed.notes, *added, *best.refused]
            notes += [f"pool {pool['name']} is left out: {why}" for why in reasons]
            missed += [NotExpressed(r.address, "", r.name, None) for r in proposed.seen]
            continue
        if import_ids and proposed.import_id is not None:
            pool = placed(pool, "importId", proposed.import_id)
        pools.append(pool)
        said = (*proposed.notes, *added, *best.left_out)
        notes += [f"pool {pool['name']}: {note}" for note in said]
        kept.append((proposed, best))
        imports += [
            Import(pool["name"], r.token, r.address, r.id, proposed.import_id if i == 0 else None)
            for i, r in enumerate(proposed.seen)
        ]
    if not pools:
        return Adoption(None, (), tuple(missed), tuple(notes))
    spec: Declaration = {**frame, "pools": pools}
    addons = adopted_addons(spec, seen, adoption.addons(seen, pools))
    if addons.section:
        spec["addons"] = addons.section
    result = compile_data(spec)
    fleet = result.fleet if result.deployable else None
    for proposed, best in kept:
        differences = best.differences
        if fleet is not None:
            differences = differences_of(fleet, best.pool, proposed, adoption)
        missed += _missed(proposed, best.pool["name"], differences)
    missed += [NotExpressed(*one) for one in addons.missed]
    taken = {r.address for p in proposals for r in p.seen} | addons.taken
    missed += [
        NotExpressed(one.address, "", one.token, None)
        for one in seen.resources
        if one.address not in taken and _matters(one)
    ]
    if placed_by_example:
        cluster = {key: value for key, value in spec["cluster"].items() if key != "region"}
        spec["cluster"] = cluster
    return Adoption(spec, tuple(imports), tuple(missed), (*notes, *addons.notes))


_NOTHING = (
    "no resource is of a type that makes nodes with GPUs and is read here (docs/adopt.md), and no "
    "node shows one in its labels, its capacity or its machine type"
)
_NO_REGION = "cluster.region is not known from these resources: write it before you compile"


def _placed(frame: Declaration, platform: PlatformValue, proposals: list[ProposedPool]) -> bool:
    """Set the region of the pools' zones if no resource has one, else an example for the
    compilation, not in the proposed declaration. Returns whether it is an example."""
    example = platform.facts.example_region
    if example is None or "region" in frame["cluster"]:
        return False
    zones = tuple(zone for one in proposals for zone in one.pool.get("zones", ()))
    known = region_of_zones(zones)
    frame["cluster"] = {**frame["cluster"], "region": known or example}
    return known is None


def _matters(one: ObservedResource) -> bool:
    """Resources that belong neither to a pool nor to its connection, such as charts."""
    return one.token.endswith((":Release", ":Reservation", ":CapacityReservation", ":Budget"))


def _adoption(
    seen: Observations, platforms: Platforms, platform: Platform | None
) -> PlatformAdoption | None:
    if platform is not None:
        return platform_adoption(platforms[platform])
    known = map(platform_adoption, platforms.values())
    return next((one for one in known if one is not None and one.recognises(seen)), None)


def _frame(
    adoption: PlatformAdoption, seen: Observations, proposals: list[ProposedPool]
) -> Declaration:
    """All of the declaration except pools and add-ons."""
    minor = seen.kubernetes_minor()
    version = {} if minor is None else {"kubernetesVersion": minor}
    frame: Declaration = {
        "catalogue": CATALOGUE,
        "platform": adoption.platform.value,
        "cluster": {**version, **adoption.cluster(seen)},
    }
    prefixes = {one.name_prefix for one in proposals} - {None}
    if len(prefixes) == 1 and prefixes != {frame["cluster"]["name"]}:
        frame["namePrefix"] = prefixes.pop()
    common = [_own_tags(one.tags) for one in proposals]
    tags = {k: v for k, v in common[0].items() if all(c.get(k) == v for c in common)}
    if tags:
        frame["tags"] = tags
    return frame


def _own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value
        for key, value in sorted(tags.items())
        if key not in OWN_TAGS and not key.startswith(DERIVED_TAGS)
    }


def _with_sharing(
    frame: Declaration, proposed: ProposedPool, seen: Observations
) -> tuple[ProposedPool, list[str]]:
    """The proposal with sharing and the labels that only the author can have written."""
    pool, notes = dict(proposed.pool), list[str]()
    fleet, _ = compiled_pool(frame, pool)
    gpu, gpus = (
        (None, None) if fleet is None else (fleet.pools[0].gpu, fleet.pools[0].gpus_per_node)
    )
    if "sharing" not in pool:
        there = {one.address for one in seen.objects("Node")}
        nodes = [one for one in proposed.seen if one.address in there]
        sharing, notes = sharing_of(proposed.labels, seen, nodes, gpu, gpus)
        if sharing is not None:
            pool["sharing"] = sharing
    team = proposed.labels.get(TEAM_LABEL)
    if team is not None:
        pool["team"] = team
    fleet, _ = compiled_pool(frame, pool)
    derived = {POOL_LABEL} if fleet is None else set(fleet.pools[0].labels)
    own = {
        key: value
        for key, value in sorted(proposed.labels.items())
        if key not in derived and not _is_derived(key)
    }
    if own:
        pool["labels"] = own
    return replace(proposed, pool=pool), notes


_WRITTEN_BY_OTHERS = (
    *("gpufleet.dev", "cluster-api", "eks.amazonaws.com", "k8s.amazonaws.com", "karpenter.k8s.aws"),
    *("karpenter.sh", "cloud.google.com", "nvidia.com", "gke-no-default-nvidia-gpu-device-plugin"),
)


def _is_derived(key: str) -> bool:
    """Labels that gpufleet, GPU Operator, kubelet and clouds write."""
    domain = key.partition("/")[0]
    return domain in _WRITTEN_BY_OTHERS or domain.endswith(("kubernetes.io", "k8s.io"))


def _missed(
    proposed: ProposedPool, pool: str, differences: Iterable[Difference]
) -> Iterator[NotExpressed]:
    addresses = {one.name: one.address for one in proposed.seen}
    for name, path, ours, theirs in differences:
        yield NotExpressed(addresses.get(name, f"{pool}/{name}"), path, theirs, ours)


# Sharing of GPUs, from the configurations that nodes select by their labels.

MIG_KEY = "mig-configs"


def configurations(seen: Observations) -> tuple[dict[str, Any], dict[str, Any]]:
    """mig-parted configurations and device-plugin documents of all ConfigMaps, by name."""
    partitions: dict[str, Any] = {}
    plugins: dict[str, Any] = {}
    for one in seen.objects("ConfigMap"):
        for name, text in mapping(one.properties.get("data")).items():
            try:
                document = read_go(text).data if isinstance(text, str) else None
            except UnreadableDocumentError:
                continue  # data of another program
            if not is_mapping(document) or "version" not in document:
                continue
            if MIG_KEY in document:
                partitions |= mapping(document[MIG_KEY])
            else:
                plugins[name] = document
    return partitions, plugins


def sharing_of(
    labels: Mapping[str, str],
    seen: Observations,
    nodes: Sequence[ObservedResource],
    gpu: Gpu | None,
    gpus: int | None,
) -> tuple[Declaration | None, list[str]]:
    """`sharing` of nodes with these labels, and missing configurations. Slices that the nodes
    report are used if no configuration describes the partitions."""
    partitions, plugins = configurations(seen)
    notes: list[str] = []
    cut = labels.get(MIG_CONFIG_LABEL, "all-disabled")
    shared = labels.get(DEVICE_PLUGIN_CONFIG_LABEL, "default")
    layouts: list[Declaration] = []
    if cut != "all-disabled":
        if cut in partitions:
            layouts = _layouts(items(partitions[cut]), gpus)
        elif cut.startswith("all-"):
            return {"mig": {"layout": cut, **_strategy(labels)}}, notes
        else:
            notes.append(f"the MIG configuration {cut} was not found among the ConfigMaps")
    if shared not in plugins and shared != "default":
        notes.append(f"the device-plugin configuration {shared} was not found")
    seen_gpus = reported_gpus(nodes[0].properties if nodes else {})
    slices = seen_gpus.slices
    if slices and not layouts:
        found = _cut(slices, seen_gpus.whole, gpu, gpus)
        if found is None:
            text = ", ".join(f"{n} x {name}" for name, n in sorted(slices.items()))
            notes.append(
                f"a node offers {text}, and no object says which of its GPUs holds what: add the "
                "ConfigMap of the MIG manager to the input, or write `sharing.mig.layouts`"
            )
        # A pool of whole GPUs would remove them: without layouts it is left out.
        return {"mig": {"layouts": found or [], **_strategy(labels)}}, notes
    found = mapping(plugins.get(shared))
    turns = _turns(mapping(found.get("sharing")))
    if layouts:
        mig: Declaration = {"layouts": layouts}
        if mapping(found.get("flags")).get("migStrategy") == "single":
            mig["strategy"] = "single"
        return {"mig": {**mig, **turns}}, notes
    return (turns or None), notes


def _strategy(labels: Mapping[str, str]) -> Declaration:
    single = labels.get("nvidia.com/mig.strategy") == "single"
    return {"strategy": "single"} if single else {}


def _cut(
    slices: Mapping[str, int], whole: int, gpu: Gpu | None, gpus: int | None
) -> list[Declaration] | None:
    """The layout of the partitioned GPUs, if one layout fits all of them; else None."""
    cut = (gpus or 0) - whole
    if gpu is None or gpu.mig is None or cut < 1 or any(n % cut for n in slices.values()):
        return None
    devices = {name: count // cut for name, count in slices.items()}
    if isinstance(place(gpu.mig, devices), Refusal):
        return None
    return [{"devices": devices} if not whole else {"gpus": cut, "devices": devices}]


def _layouts(entries: list[Any], gpus: int | None) -> list[Declaration]:
    """One layout for each entry; whole GPUs at the end need none."""
    found: list[tuple[int, int, Declaration]] = []
    for entry in entries:
        indices = mapping(entry).get("devices")
        devices = dict(mapping(mapping(entry).get("mig-devices")))
        if indices == "all":
            found.append((0, gpus or 0, devices))
        else:
            listed = [i for i in items(indices) if isinstance(i, int)]
            found.append((min(listed, default=0), len(listed), devices))
    ordered = sorted(found, key=lambda one: one[0])
    while ordered and not ordered[-1][2]:
        ordered.pop()
    whole = len(ordered) == 1 and ordered[0][1] in (gpus, 0)
    return [
        {"devices": devices} if whole else {"gpus": count, "devices": devices}
        for _, count, devices in ordered
    ]


def _turns(sharing: Mapping[str, Any]) -> Declaration:
    for mode in ("timeSlicing", "mps"):
        written = mapping(sharing.get(mode))
        resources = [mapping(one) for one in items(written.get("resources"))]
        if not resources:
            continue
        turns: Declaration = {"replicas": resources[0].get("replicas")}
        if written.get("renameByDefault") is not True:
            turns["rename"] = False
        if mode == "timeSlicing" and written.get("failRequestsGreaterThanOne") is not True:
            turns["failRequestsGreaterThanOne"] = False
        return {mode: turns}
    return {}
