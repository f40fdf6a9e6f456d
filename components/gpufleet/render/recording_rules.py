"""Recording rules: those of `monitoring/recording_rules.yaml`, and one for each team and price."""

import re
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from gpufleet.catalogue import MICRO_USD
from gpufleet.fleet.kube_state_names import sanitised
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.unit_weights import unit_weights
from gpufleet.render.data_files import data_file
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

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
