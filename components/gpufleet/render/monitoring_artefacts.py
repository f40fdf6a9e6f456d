"""Monitoring's part of the rendered folder, and the objects the component makes of it."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from gpufleet.catalogue import MICRO_USD
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.unit_weights import sanitised, unit_weights
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.dashboards import dashboard_config_maps, dashboards
from gpufleet.render.data_files import data_file
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.render.scrape_objects import BACKENDS, scrape_objects
from gpufleet.spec.monitoring import Monitoring

_file, _finding = files_in(__file__), findings_in(__file__)

RULES_NAME = "gpufleet"


def monitoring_objects(fleet: Fleet) -> list[dict[str, Any]]:
    """Rules, scrapes and dashboards. Empty without monitoring."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return []
    rules = rule_object(fleet, monitoring)
    return [
        *([] if rules is None else [rules]),
        *scrape_objects(fleet, monitoring),
        *dashboard_config_maps(fleet, monitoring),
    ]


def monitoring_files(fleet: Fleet) -> Iterator[Artefact]:
    """Manifests of rules and scrapes, and dashboards as Grafana imports them."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return
    folder, rules = "manifests/monitoring", rule_object(fleet, monitoring)
    if rules is not None:
        yield from _file(f"{folder}/rules.yaml", rules)
        yield from _file(f"{folder}/scrapes.yaml", scrape_objects(fleet, monitoring))
    if monitoring.dashboards.enabled:
        yield from _file(f"{folder}/dashboards.yaml", dashboard_config_maps(fleet, monitoring))
    for one in dashboards(fleet, monitoring):
        text = json.dumps(one, indent=1, sort_keys=True) + "\n"
        yield from _file("dashboards/{uid}.json", text, uid=one["uid"], title=one["title"])


def rule_groups(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """Groups in the format of rule files: recording rules first, then alerts."""
    interval = f"{monitoring.interval_seconds}s"
    rules = recording_rules(fleet, monitoring)
    groups = [{"name": "gpufleet-recorded", "interval": interval, "rules": rules}]
    if found := alerts(fleet, monitoring):
        groups.append({"name": "gpufleet-alerts", "interval": interval, "rules": found})
    return groups


def rule_object(fleet: Fleet, monitoring: Monitoring) -> dict[str, Any] | None:
    """The object of the backend; None for backend `none`."""
    if monitoring.backend not in BACKENDS:
        return None
    api_version, kind, *_ = BACKENDS[monitoring.backend]
    spec = {"groups": rule_groups(fleet, monitoring)}
    place, labels = monitoring.namespace, monitoring.labels
    return manifest(api_version, kind, RULES_NAME, place, labels, spec=spec)


# Every alert of a fleet, from `monitoring/alerts.yaml`.
#
# Thresholds that depend on the site are in the declaration (`monitoring.alerts`).


def alerts(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The alerts of a declaration, without disabled ones, as rule files write them."""
    if not monitoring.alerts.enabled:
        return []
    left_out = set(monitoring.alerts.without)
    return [alert for alert in _all(fleet, monitoring) if alert["alert"] not in left_out]


def validate_alerts(fleet: Fleet) -> list[Finding]:
    """Names under `without` that are no alert of this fleet."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return []
    known = sorted(alert["alert"] for alert in _all(fleet, monitoring))
    return [
        _finding("alert-unknown", f"monitoring.alerts.without[{index}]", found=name, known=known)
        for index, name in enumerate(monitoring.alerts.without)
        if name not in known
    ]


def _all(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    content = data_file("alerts", monitoring_parameters(fleet, monitoring)) or {}
    return [
        {
            **{key: row[key] for key in ("alert", "expr")},
            **({"for": f"{row['for']}m"} if row.get("for") else {}),
            "labels": {"severity": row["severity"]},
            "annotations": {key: row[key] for key in ("summary", "description")},
        }
        for row in content["alerts"]
    ]


# Recording rules: those of `monitoring/recording_rules.yaml`, and one for each team and price.

DEVICE = "node, gpu, UUID, GPU_I_ID, GPU_I_PROFILE, modelName, workload_namespace, workload_pod"
"""Labels of every recorded measure of a GPU or slice."""
_MEASURE = re.compile(r"device\(([^()]*)\)")
"""Form in the data file: a series of the exporter, which gets these labels."""


def recording_rules(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """Every recorded series of a fleet, as rule files write it, after the series that it needs."""
    parameters = monitoring_parameters(fleet, monitoring)
    groups = data_file("recording_rules", parameters) or {}
    return [
        *_written([*groups["devices"], *groups["allocation"]], monitoring),
        *_teams(fleet),
        *_prices(fleet),
        *_written(groups["money"] if parameters["prices"] else (), monitoring),
    ]


def _written(rows: Iterable[dict[str, str]], monitoring: Monitoring) -> Iterator[dict[str, Any]]:
    for row in rows:
        expression = _MEASURE.sub(lambda found: _measure(found[1], monitoring), row["expr"])
        yield _rule(row["record"], expression)


def _rule(record: str, expression: str, **labels: str) -> dict[str, Any]:
    return {"record": record, "expr": expression, **({"labels": labels} if labels else {})}


def _measure(series: str, monitoring: Monitoring) -> str:
    """The series with `node`, `workload_namespace` and `workload_pod`, once for each device."""
    prefix = "" if monitoring.honor_labels else "exported_"
    for source in ("Hostname", "hostname"):
        series = _copied(series, source, "node")
    for label in ("namespace", "pod"):
        series = _copied(series, f"{prefix}{label}", f"workload_{label}")
    return f"max by ({DEVICE}) ({series})"


def _copied(series: str, source: str, target: str) -> str:
    return f'label_replace({series}, "{target}", "$1", "{source}", "(.+)")'


def _teams(fleet: Fleet) -> list[dict[str, Any]]:
    """Team of each namespace, for the dashboards of teams."""
    return [
        _rule("gpu:team:info", "vector(1)", namespace=namespace, team=team)
        for namespace, team in fleet.team_of_namespaces().items()
    ]


def _prices(fleet: Fleet) -> Iterator[dict[str, Any]]:
    """Price of a node of each pool and of each unit, per hour, when the fleet was compiled."""
    for pool in fleet.pools:
        if pool.hourly_micro_usd is None:
            continue
        yield _rule("gpu:pool_node:usd_per_hour", _constant(pool.hourly_usd), pool=pool.name)
        for resource, price in unit_prices(pool).items():
            yield _rule(
                "gpu:unit:usd_per_hour",
                _constant(price),
                pool=pool.name,
                resource=resource,
            )


def _constant(value: object) -> str:
    return f"vector({value})"


# Price of one unit of a resource, the factor of recording rules.

_NANO = Decimal("0.000000001")


def unit_prices(pool: Pool) -> dict[str, Decimal]:
    """Resource, as kube-state-metrics spells it -> dollars an hour of one unit, to a billionth.
    Empty for a pool without a price."""
    if pool.hourly_micro_usd is None:
        return {}
    prices: dict[str, Decimal] = {}
    for resource, weight in sorted(unit_weights(pool).items()):
        exact = weight * pool.hourly_micro_usd
        price = Decimal(exact.numerator) / Decimal(exact.denominator) / MICRO_USD
        prices[sanitised(resource)] = price.quantize(_NANO, ROUND_HALF_UP)
    return prices
