"""Settings that a pool may use on its platform, and the labels and taints that it may set."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.platform import Platforms, PlatformValue
from gpufleet.findings import Finding, error, findings_in, rules_in, warning
from gpufleet.fleet.model import GPU_TAINT, Machine, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.partition.model import Partition
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.cluster import Cluster
from gpufleet.spec.device_needs import NvlinkReach
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import GpuPool, Intent, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

_LABELS = read_rows(Path(__file__).parent, "reserved_labels")
RESERVED_PREFIXES = tuple(row["prefix"] for row in _LABELS if "prefix" in row)
"""Label prefixes that gpufleet, the operators or the platform write."""
WELL_KNOWN = frozenset(row["label"] for row in _LABELS if "label" in row)
"""Labels of Kubernetes' own domains that a kubelet sets on its own node. With any other it ends
at once: "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels"
(kubernetes/kubernetes `cmd/kubelet/app/options/options.go`, ValidateKubeletFlags;
`staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go`, read 2026-11-28). Their values follow
from the machine."""


def validate(
    pool: GpuPool,
    path: str,
    platform: PlatformValue,
    provisioner: Provisioner,
    machines: Sequence[Machine],
) -> list[Finding]:
    """Findings about one pool from its platform and its machines alone."""
    return [
        *_platform(pool, path, platform, provisioner),
        *_fabric(pool, path, platform),
        *_labels(pool, path, platform, provisioner),
        *_taints(pool, path),
        *_rules("pool", path, pool=pool, platform=platform, facts=platform.facts),
        *platform_rules(platform).validate_pool(pool, path, machines),
    ]


def _platform(
    pool: GpuPool, path: str, platform: PlatformValue, provisioner: Provisioner
) -> Iterable[Finding]:
    facts = platform.facts
    if provisioner not in facts.provisioners:
        allowed = [p.value for p in facts.provisioners]
        yield _finding(
            "provisioner-not-on-platform",
            f"{path}.provisioner" if pool.provisioner else "provisioner",
            fix=(f"write {allowed[0]}" if len(allowed) == 1 else f"one of {', '.join(allowed)}"),
            found=provisioner.value,
            platform=platform.name,
            allowed=allowed,
        )
    for other in Platform:
        if other is not platform.name and getattr(pool, other.section, None) is not None:
            yield _finding(
                "options-of-other-platform",
                f"{path}.{other.value}",
                other=other.value,
                platform=platform.name.value,
            )


def _fabric(pool: GpuPool, path: str, platform: PlatformValue) -> Iterable[Finding]:
    fabrics = platform.facts.fabrics
    if pool.fabric not in fabrics:
        allowed = [f.value for f in fabrics]
        yield _finding(
            "fabric-not-on-platform",
            path,
            platform=platform.name,
            found=pool.fabric.value,
            allowed=allowed,
            largest=allowed[-1],
        )


def _labels(
    pool: GpuPool, path: str, platform: PlatformValue, provisioner: Provisioner
) -> Iterable[Finding]:
    facts = platform.facts
    by_kubelet = (
        facts.kubelet_sets_labels
        and not provisioner.by_node_pool
        and pool.ownership is not Ownership.EXISTING
    )
    for key in pool.labels:
        prefix = next((p for p in RESERVED_PREFIXES if key.startswith(p)), None)
        place = f'{path}.labels["{key}"]'
        if prefix:
            yield _finding("label-reserved", place, prefix=prefix, found=key)
        elif key in WELL_KNOWN:
            yield _finding("label-reserved/kubelet", place, found=key)
        elif by_kubelet and not kubelet_sets(key):
            yield _finding(
                "label-not-of-kubelet",
                f'{path}.labels["{key}',
                title=facts.title,
                found=key,
                own_domains=" and ".join(OWN_DOMAINS),
                allowed=OWN_DOMAINS,
            )


def _taints(pool: GpuPool, path: str) -> Iterable[Finding]:
    seen = {(GPU_TAINT.key, GPU_TAINT.effect)} if pool.gpu_taint else set[tuple[str, str]]()
    for index, taint in enumerate(pool.taints):
        if (taint.key, taint.effect) in seen:
            place, effect = f"{path}.taints[{index}]", taint.effect
            if pool.gpu_taint and taint.key == GPU_TAINT.key:
                yield _finding("taint-twice/common", place, found=taint.key, effect=effect)
            else:
                yield _finding("taint-twice/own", place, found=taint.key, effect=effect)
        seen.add((taint.key, taint.effect))


def validate_intent(
    pool: GpuPool, path: str, environment: str, partition: Partition
) -> Iterable[Finding]:
    """Training needs whole GPUs: an error, and in the environment `dev` a warning."""
    reason = _shared(pool, partition)
    if pool.intent is not Intent.TRAINING or reason is None:
        return
    make = warning if environment == "dev" else error
    yield make(
        "training-shared",
        f"{path}.sharing.{pool.sharing.mode}",
        f"training needs whole GPUs: {reason}",
        "remove `sharing`, or write `intent: batch` for small jobs that can be restarted",
        found=pool.sharing.mode,
        environment=environment,
    )


def _shared(pool: GpuPool, partition: Partition) -> str | None:
    """Why a training job cannot use the pool's devices; None: they are whole GPUs."""
    if partition.mig_enabled or any(share.profile for share in partition.shares):
        return (
            "MIG devices have no NVLink and no peer-to-peer transfers, so a job cannot use several "
            "(NVIDIA MIG User Guide, Application Considerations)"
        )
    if any(share.replicas > 1 for share in partition.shares):
        return (
            "a pod may not request several shares to get several GPUs, and other pods on the GPU "
            "use its memory and slow each step down"
        )
    if pool.sharing.vgpu is not None and partition.fraction < 1:
        return (
            f"each device is {partition.fraction} of a GPU, and peer-to-peer transfers over NVLink "
            "need a vGPU of the whole GPU (NVIDIA AI Enterprise 8.1, P2P CUDA Transfers)"
        )
    return None


def validate_fleet(
    spec: FleetSpec, paths: Sequence[str], platforms: Platforms
) -> Iterator[Finding]:
    """Findings about the pools and teams together."""
    by_name: dict[str, str] = {}
    by_import: dict[str, str] = {}
    teams = {team.name for team in spec.queues.teams} if spec.queues else None
    for pool, path in zip(spec.pools, paths, strict=True):
        if pool.name in by_name:
            yield _finding("pool-name-twice", path, by_name=by_name[pool.name], found=pool.name)
        by_name.setdefault(pool.name, path)
        if pool.import_id is not None:
            if pool.import_id in by_import:
                yield _finding(
                    "import-id-twice",
                    path,
                    by_import=by_import[pool.import_id],
                    found=pool.import_id,
                )
            by_import.setdefault(pool.import_id, path)
        named = [("team", pool.team)] if pool.team is not None else []
        named += [(f"commitments[{i}].team", one.team) for i, one in enumerate(pool.commitments)]
        yield from (
            _finding(
                "team-unknown",
                f"{path}.{key}",
                fix=(" or ".join([*map("write {}".format, near), "add it under queues.teams"])),
                found=team,
                teams=sorted(teams),
            )
            for key, team in named
            if teams is not None and team not in teams
            for near in [nearest_names(team, teams, 1)]
        )
    yield from _cluster(spec, platforms)
    example = platforms[spec.platform].facts.example_region
    if example is not None and spec.cluster.region is None:
        yield _finding("region-missing", platform=spec.platform.value, example=example)


def _cluster(spec: FleetSpec, platforms: Platforms) -> Iterable[Finding]:
    """Fields of the cluster that the platform does not read."""
    for name, field in Cluster.model_fields.items():
        value = getattr(spec.cluster, name)
        readers = [key for key, one in platforms.items() if name in one.facts.cluster_fields]
        if not readers or spec.platform in readers or value == field.default:
            continue
        key = field.alias or name
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        yield _finding(
            "cluster-field-of-other-platform",
            f"cluster.{key}",
            key=key,
            shown=shown,
            platform=spec.platform.value,
            platforms=[one.value for one in readers],
            found=value,
        )


OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
"""Domains, with their subdomains, of which it sets every label."""
_KUBERNETES = ("kubernetes.io", "k8s.io")


def kubelet_sets(key: str) -> bool:
    """Whether a kubelet starts with this label under `--node-labels`."""
    domain, slash, _ = key.partition("/")
    if not slash or not _under(domain, _KUBERNETES):
        return True
    return key in WELL_KNOWN or _under(domain, OWN_DOMAINS)


def _under(domain: str, parents: tuple[str, ...]) -> bool:
    return any(domain == one or domain.endswith(f".{one}") for one in parents)


# Claims that need NVLink: whether the machines of the pool have it, and its reach. The driver
# serves ComputeDomains on any machine; only machines of one NVLink domain can access each other's
# memory with them (NVIDIA/cloud-native-docs pull request 162;
# kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1).

_NVLINK = "NVLink"
_DOMAIN = "domain"
"""In the interconnect of a machine type: its NVLink connects several machines."""
_MESH = "NVLink 2.0"
"""Interconnect of machines whose NVLink connects only some pairs of GPUs."""


def validate_nvlink(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about each pool with `computeDomain` or claims with `nvlink`. Machines without a
    catalogue row are not known: a claim over one machine gets a warning, others no finding."""
    for pool in pools:
        made, declared = pool.partition.dra, pool.spec.sharing.dra
        if made is None:
            continue
        path = f"{pool.path}.sharing.dra"
        if made.channel_for_all:
            yield from _validate_domain(pool, f"{path}.computeDomain")
        for index, need in enumerate(() if declared is None else declared.claims):
            place = f"{path}.claims[{index}].nvlink"
            if need.nvlink is NvlinkReach.DOMAIN:
                yield from (
                    _finding("dra-claim-unmet", place, machine=name, limit=link, value="domain")
                    for name, link in _links(pool).items()
                    if _DOMAIN not in link
                )
            elif need.nvlink is NvlinkReach.MACHINE:
                yield from _validate_machine(pool, place)


def _links(pool: Pool) -> Mapping[str, str]:
    """Machine type -> its interconnect, for types in the catalogue."""
    rows = [machine.instance for machine in pool.machines if machine.instance is not None]
    return {row.name: row.accelerator.interconnect or "PCIe" for row in rows}


def _validate_domain(pool: Pool, path: str) -> Iterator[Finding]:
    made, links = pool.partition.dra, _links(pool)
    if made is not None and not made.namespaces:
        yield _finding("dra-compute-domain-nowhere", path)
    if links and not any(_DOMAIN in link for link in links.values()):
        name, link = next(iter(links.items()))
        yield _finding(
            "dra-compute-domain-alone", path, pool=pool.name, name=name, link=link, machines=links
        )


def _validate_machine(pool: Pool, path: str) -> Iterator[Finding]:
    links = _links(pool)
    if not links:
        yield _finding("dra-claim-not-known", path, pool=pool.name)
    for name, link in links.items():
        if not link.startswith(_NVLINK) or link == _MESH:
            yield _finding("dra-claim-unmet/all", path, machine=name, limit=link, value="machine")
