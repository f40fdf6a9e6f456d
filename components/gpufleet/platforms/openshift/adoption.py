"""Pools on OpenShift on vSphere from MachineSets, their autoscalers, health checks and
configurations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import load
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.adopted_rows import adopted_in
from gpufleet.fleet.autoscaler_rules import UNNEEDED
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    INTENT,
    Choice,
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
    texts,
)
from gpufleet.fleet.reported_gpus import reported_gpus
from gpufleet.platforms.openshift.shape import (
    ACCELERATOR_LABEL,
    GPU_ANNOTATION,
    MACHINE,
    ROLE_PREFIX,
)
from gpufleet.platforms.openshift.vsphere_machines import KIND, PROVISIONING
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Intent

_adopted = adopted_in(__file__)

_OWN_TAINTS = ("nvidia.com/gpu",)


class OpenShiftAdoption(PlatformAdoption):
    """MachineSets on vSphere."""

    platform = Platform.OPENSHIFT
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        "machineSet": (
            *("metadata.name", "metadata.labels", "spec.selector", "spec.template.metadata"),
            *("spec.replicas", f"{MACHINE}.credentialsSecret", f"{MACHINE}.userDataSecret"),
            *(f"{MACHINE}.{key}" for key in ("workspace", "network")),
        ),
        "machineAutoscaler": ("metadata", "spec.scaleTargetRef.name"),
        "healthCheck": ("metadata",),
    }
    kept = ("openshift",)
    choices = (INTENT, Choice("gpuTaint", (False, True)))

    def recognises(self, seen: Observations) -> bool:
        """By the kind of machine of a MachineSet."""
        return any(_machine_of(one).get("kind") == KIND for one in seen.objects("MachineSet"))

    def cluster(self, seen: Observations) -> Declaration:
        """Its name, from that of a set."""
        for one in seen.objects("MachineSet"):
            labels = one.labels
            name = str(one.metadata.get("name"))
            pool = labels.get(POOL_LABEL)
            if pool is not None and f"-{pool}-" in name:
                return {"name": name.partition(f"-{pool}-")[0]}
        return {"name": "adopted"}

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One pool for each group of nodes: the sets of one pool in all its zones."""
        groups: dict[str, list[ObservedResource]] = {}
        for one in seen.objects("MachineSet"):
            if _machine_of(one).get("kind") == KIND:
                groups.setdefault(_group(one), []).append(one)
        for sets in groups.values():
            made = self._pool(seen, sets)
            if made is not None:
                yield made

    def _pool(self, seen: Observations, sets: list[ObservedResource]) -> ProposedPool | None:
        one = sets[0]
        metadata, spec = one.metadata, one.spec
        template = mapping(mapping(spec.get("template")).get("spec"))
        labels = texts(mapping(template.get("metadata")).get("labels"))
        annotations = texts(metadata.get("annotations"))
        name = _group(one)
        gpu = _gpu(labels, one.labels) or _gpu_of_nodes(seen, name)
        count = str(annotations.get(GPU_ANNOTATION))
        if gpu is None and not count.isdigit():
            return None
        machine = _machine_of(one)
        options = _options(machine)
        found: dict[str, Mapping[str, Any]] = {}
        seen_too: list[ObservedResource] = [*sets]
        sizes: list[tuple[int, int, str | None]] = []
        scaled = False
        for each in sets:
            zone = _zone(each)
            apart = "" if zone is None else f"/{zone}"
            found[f"machineSet{apart}"] = _object(each)
            scaler = _target(seen, "MachineAutoscaler", str(each.metadata.get("name")))
            bounds = {} if scaler is None else scaler.spec
            size = each.spec.get("replicas") or 0
            fewest = int(bounds.get("minReplicas", size))
            sizes.append((int(bounds.get("maxReplicas", size)), fewest, zone))
            if scaler is not None:
                scaled = True
                found[f"machineAutoscaler{apart}"] = _object(scaler)
                seen_too.append(scaler)
        notes = (
            [] if gpu else ["the GPU is in the template, and no label names it: `gpu` is a guess"]
        )
        _health(options, seen, name)
        _configuration(options, seen, name, labels)
        pool: Declaration = {
            "name": name,
            "gpu": gpu or "L4",
            "gpusPerNode": (int(count) if count.isdigit() else 0) or 1,
            "disk": {"sizeGib": machine.get("diskGiB") or 200},
            "nodes": {
                "min": sum(low for _, low, _ in sizes),
                "max": max(sum(high for high, _, _ in sizes), 1),
            },
            self.platform.value: options,
        }
        # The remainder of an even division went to the first zones.
        divided = sorted(sizes, key=lambda one: (-one[0], -one[1]))
        zones = [zone for _, _, zone in divided if zone is not None]
        if zones:
            pool["zones"] = zones
            for of_a_domain in ("datastore", "folder"):
                options.pop(of_a_domain, None)
        intent = _patient_intent(seen)
        if intent is not None and scaled:
            pool["intent"] = intent
        taints = [dict(mapping(t)) for t in items(template.get("taints"))]
        own = [t for t in taints if t.get("key") not in _OWN_TAINTS]
        if own:
            pool["taints"] = own
        for kind, resource in (
            ("MachineHealthCheck", "healthCheck"),
            ("MachineConfigPool", "machineConfigPool"),
            ("MachineConfig", "machineConfig"),
        ):
            other = _of_pool(seen, kind, name)
            if other is not None:
                found[resource] = _object(other)
                seen_too.append(other)
        labelled = {k: v for k, v in labels.items() if not k.startswith(ROLE_PREFIX)}
        text = str(metadata.get("name"))
        prefix = text.partition(f"-{name}-")[0] if f"-{name}-" in text else None
        return ProposedPool(
            pool,
            found,
            tuple(seen_too),
            labels=labelled,
            name_prefix=prefix,
            notes=tuple(notes),
        )


def _group(one: ObservedResource) -> str:
    """The pool's label; a set without it is a separate pool."""
    return one.labels.get(POOL_LABEL) or str(one.metadata.get("name"))


def _zone(one: ObservedResource) -> str | None:
    """Failure domain of a set: the part of its name between the pool and the digest."""
    _, found, rest = str(one.metadata.get("name")).partition(f"-{_group(one)}-")
    return (rest.rpartition("-")[0] or None) if found else None


def _options(machine: Mapping[str, Any]) -> Declaration:
    """The platform's options in the spec of a machine."""
    options: Declaration = {
        "cpus": machine.get("numCPUs"),
        "memoryGib": (machine.get("memoryMiB") or 0) // 1024,
        "template": machine.get("template"),
    }
    options |= _adopted("machine", machine=machine)
    if disks := [_disk(mapping(one)) for one in items(machine.get("dataDisks"))]:
        options["extraDisks"] = disks
    devices = items(mapping(machine.get("network")).get("devices"))
    adapters = [_adapter(mapping(one)) for one in devices]
    if adapters[1:] or any("addresses" in one for one in adapters):
        options["networks"] = adapters
    return options


def _disk(found: Mapping[str, Any]) -> Declaration:
    formats = {text: key.value for key, text in PROVISIONING.items()}
    disk: Declaration = {"name": found.get("name"), "sizeGib": found.get("sizeGiB")}
    if found.get("provisioningMode") in formats:
        disk["format"] = formats[found["provisioningMode"]]
    return disk


def _adapter(found: Mapping[str, Any]) -> Declaration:
    addresses = {
        "pools": found.get("addressesFromPools"),
        "fixed": found.get("ipAddrs"),
        "gateway": found.get("gateway"),
        "nameservers": found.get("nameservers"),
    }
    static = addresses["pools"] or addresses["fixed"]
    given = {"addresses": {k: v for k, v in addresses.items() if v}} if static else {}
    return {"network": found.get("networkName"), **given}


def _health(options: Declaration, seen: Observations, name: str) -> None:
    check = _of_pool(seen, "MachineHealthCheck", name)
    if check is None:
        options["health"] = {"enabled": False}
        return
    spec = check.spec
    health: Declaration = {}
    seconds = str(
        next((mapping(c).get("timeout") for c in items(spec.get("unhealthyConditions"))), "")
    )
    if seconds[:-1].isdigit() and seconds != "300s":
        health["unhealthySeconds"] = int(seconds[:-1])
    startup = str(spec.get("nodeStartupTimeout") or "")
    if startup[:-1].isdigit() and startup != "30m":
        health["startupMinutes"] = int(startup[:-1])
    if isinstance(spec.get("maxUnhealthy"), int):
        health["maxUnhealthy"] = spec["maxUnhealthy"]
    if health:
        options["health"] = health


def _configuration(
    options: Declaration, seen: Observations, name: str, labels: Mapping[str, str]
) -> None:
    if f"{ROLE_PREFIX}{name}" not in labels:
        return
    config = _of_pool(seen, "MachineConfig", name)
    group = _of_pool(seen, "MachineConfigPool", name)
    options["machineConfig"] = _adopted("configuration", config=config, group=group)


def _gpu(labels: Mapping[str, str], others: Mapping[str, str]) -> str | None:
    """GPU of the catalogue in the accelerator label."""
    accelerator = labels.get(ACCELERATOR_LABEL) or others.get(ACCELERATOR_LABEL)
    if accelerator is None:
        return None
    return next((k for k in load().gpus if f"nvidia-{k.lower()}" == accelerator), None)


def _patient_intent(seen: Observations) -> str | None:
    """The intent from the cluster autoscaler's wait time; None if it is that of the default."""
    for one in seen.objects("ClusterAutoscaler"):
        wait = mapping(one.spec.get("scaleDown")).get("unneededTime")
        found = [intent for intent, time in UNNEEDED.items() if time == wait]
        return found[0].value if found and Intent.INFERENCE not in found else None
    return None


def _gpu_of_nodes(seen: Observations, pool: str) -> str | None:
    """GPU of the catalogue whose product GPU feature discovery reports on a node of the pool."""
    nodes = (reported_gpus(one.properties) for one in seen.objects("Node"))
    found = next((n for n in nodes if n.labels.get(POOL_LABEL) == pool and n.gpu), None)
    return found.gpu.key if found is not None and found.gpu is not None else None


def _target(seen: Observations, kind: str, name: str) -> ObservedResource | None:
    for one in seen.objects(kind):
        reference = mapping(one.spec.get("scaleTargetRef"))
        if reference.get("name") == name:
            return one
    return None


def _of_pool(seen: Observations, kind: str, name: str) -> ObservedResource | None:
    for one in seen.objects(kind):
        if one.labels.get(POOL_LABEL) == name:
            return one
    return None


def _object(one: ObservedResource) -> dict[str, Any]:
    """Without fields that the API server and the engine add."""
    metadata = {
        k: v for k, v in one.metadata.items() if k in ("name", "namespace", "labels", "annotations")
    }
    rest = {k: v for k, v in one.properties.items() if k not in ("status", "metadata")}
    return {**rest, "metadata": metadata}


def _machine_of(one: ObservedResource) -> dict[str, Any]:
    """The machines in a MachineSet."""
    return mapping(value_at(one.properties, MACHINE))


ADOPTION = OpenShiftAdoption()
