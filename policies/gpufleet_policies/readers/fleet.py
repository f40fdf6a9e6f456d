"""A compiled fleet as FleetFacts: from GpuFleet's own properties, or from a declaration."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from gpufleet.catalogue import Catalogue, editions, load
from gpufleet.cluster.fact import Fact, Provenance
from gpufleet.cluster.fleet import FleetFacts, PoolFacts, UncompiledFleet
from gpufleet.cluster.pool import MOST_GPUS
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet.partition.grant import Grant, slice_part
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import at, decimal, fact, text, whole

MICRO_USD = 1_000_000


def fleet_from(
    properties: Mapping[str, Any], locator: Locator, *, in_program: bool = True
) -> FleetFacts | None:
    """The fleet under the key `fleet` of GpuFleet's properties, as plain data.

    None when it cannot be read: an older component, a value not known yet, or a fleet compiled with
    an edition of the catalogue that is not installed here.
    """
    summary = properties.get("fleet")
    if not is_mapping(summary) or summary.get("catalogue") not in editions():
        return None
    declared = Provenance.DECLARED
    spend = at(summary, "spend")
    return FleetFacts(
        locator=locator,
        environment=fact(summary.get("environment"), text, "environment", declared),
        platform=_text(summary.get("platform")),
        catalogue=str(summary["catalogue"]),
        pools=tuple(_pools(summary.get("pools"), load(str(summary["catalogue"])))),
        budget_micro_usd=fact(
            summary.get("budgetUsdPerHour"), _micro, "budget.usdPerHour", declared
        ),
        minimum_spend=fact(at(spend, "minimumMicroUsd"), whole, "spend.minimum", declared),
        maximum_spend=fact(at(spend, "maximumMicroUsd"), whole, "spend.maximum", declared),
        unbounded=tuple(c for c in items(at(spend, "unbounded")) if isinstance(c, str)),
        exceptions={
            rule: until
            for rule, until in mapping(properties.get("policyExceptions")).items()
            if isinstance(until, str)
        },
        monitored=_is_monitored(summary),
        in_program=in_program,
        kubernetes_version=_text(at(summary, "cluster.kubernetesVersion")),
    )


def _is_monitored(summary: Mapping[str, Any]) -> bool:
    """The exporter of the GPU Operator, or the one that `monitoring` installs without it."""
    operator = at(summary, "addons.gpuOperator.enabled") is True
    own = is_mapping(at(summary, "monitoring"))
    return own or (operator and at(summary, "addons.gpuOperator.dcgmExporter") is True)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _micro(value: Any) -> int | None:
    usd = decimal(value)
    return None if usd is None else int(usd * MICRO_USD)


def _pools(value: Any, catalogue: Catalogue) -> Iterable[PoolFacts]:
    for index, pool in enumerate(items(value)):
        count = whole(at(pool, "gpusPerNode"))
        if not is_mapping(pool) or count is None or not 0 <= count <= MOST_GPUS:
            continue
        machines = items(pool.get("machines"))
        yield PoolFacts(
            name=_text(pool.get("name")),
            path=_text(pool.get("path")) or f"pools[{index}]",
            intent=_text(pool.get("intent")),
            gpu=_text(pool.get("gpu")),
            gpus_per_node=count,
            gpu_fraction=_fraction(at(machines[0], "fraction") if machines else None),
            machines=tuple(n for m in machines if isinstance(n := at(m, "name"), str)),
            minimum_nodes=whole(at(pool, "nodes.min")) or 0,
            expected_nodes=whole(at(pool, "nodes.expected")) or 0,
            maximum_nodes=whole(at(pool, "nodes.max")) or 0,
            capacity=tuple(c for c in items(pool.get("capacity")) if isinstance(c, str)),
            sharing=_text(pool.get("sharing")),
            shares=tuple(_grants(at(pool, "partition.shares"), _text(pool.get("gpu")), catalogue)),
            layouts=tuple(_layouts(at(pool, "partition.gpus"))),
            stranded_compute=whole(at(pool, "partition.strandedCompute")) or 0,
            labels={k: v for k, v in mapping(pool.get("labels")).items() if isinstance(v, str)},
            hourly_micro_usd=_micro_usd(pool, "hourlyMicroUsd"),
            minimum_spend=_micro_usd(pool, "spend.minimumMicroUsd"),
            maximum_spend=_micro_usd(pool, "spend.maximumMicroUsd"),
            image=_text(pool.get("image")),
            team=_text(pool.get("team")),
        )


def _micro_usd(pool: dict[str, Any], key: str) -> Fact[int]:
    return fact(at(pool, key), whole, f"{_text(pool.get('path'))}.{key}", Provenance.DECLARED)


def _fraction(value: Any) -> Fraction:
    found = decimal(value) if isinstance(value, str) and "/" not in value else None
    if found is not None:
        return Fraction(found)
    parts = [natural(part) for part in value.split("/")] if isinstance(value, str) else []
    if len(parts) == 2 and parts[0] is not None and parts[1]:
        return Fraction(parts[0], parts[1])
    return Fraction(1)


def _grants(value: Any, gpu: str, catalogue: Catalogue) -> Iterable[Grant]:
    """The grant of each resource's unit, as `compile` made it. States of older components do not
    have the enforcement of a share's memory: then it is not enforced, and its device is unknown."""
    row = catalogue.gpus.get(gpu)
    for share in items(value):
        resource, profile = at(share, "resource"), at(share, "profile")
        if not isinstance(resource, str):
            continue
        profile = profile if isinstance(profile, str) else None
        enforced = at(share, "memoryEnforced")
        replicas, memory = whole(at(share, "replicas")) or 1, whole(at(share, "memoryBytes"))
        yield Grant(
            resource=resource,
            gpu=gpu,
            per_node=whole(at(share, "perNode")) or 0,
            part=slice_part(row, profile) / replicas,
            profile=profile,
            replicas=replicas,
            memory_bytes=memory,
            device_bytes=whole(at(share, "deviceBytes")) or (memory if replicas == 1 else None),
            is_enforced=replicas == 1 if enforced is None else enforced is True,
            device_class=_text(at(share, "deviceClass")) or None,
        )


def _layouts(value: Any) -> Iterable[dict[str, int]]:
    for gpu in items(value):
        devices = mapping(at(gpu, "devices"))
        yield {p: n for p, count in devices.items() if (n := whole(count)) is not None}


def fleet_from_declaration(
    document: Mapping[str, Any], origin: str
) -> FleetFacts | UncompiledFleet | None:
    """The fleet of a FleetSpec, or of what `gpufleet compile --format json` printed.

    A declaration that does not compile is a fleet of which nothing is known: half of one would
    mislead. None when what was printed has an edition of the catalogue that is not installed here.
    """
    locator = Locator("GpuFleet", origin)
    if is_mapping(document.get("fleet")):
        return fleet_from(document, locator, in_program=False)
    if items(document.get("pools")) and "spend" in document:
        return fleet_from({"fleet": document}, locator, in_program=False)
    # Imported on use: compiling loads pydantic and the whole catalogue.
    from gpufleet.fleet import fleet_as_dict
    from gpufleet.platforms.compiled import compile_data

    compiled = compile_data(document)
    if compiled.fleet is None or not compiled.deployable:
        return UncompiledFleet(locator=locator, findings=compiled.findings)
    return fleet_from({"fleet": fleet_as_dict(compiled.fleet)}, locator, in_program=False)
