"""The fleet of one cluster from the declarations of an add-on."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.components_base.component import FleetPlan, accepted
from gpufleet.components_base.inputs import declared, looked_at, refuse
from gpufleet.components_base.refused_arguments import in_own_words
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.base import Ownership

_finding = findings_in(__file__)


def declared_fleet(
    component: str, args_type: type, args: Mapping[str, object], *about: str
) -> FleetPlan:
    """The fleet in an add-on's arguments, with the warnings about the arguments `about`, which
    defaults to all that are given.

    `args_type` is the TypedDict of the arguments. Raises InvalidArgumentsError with every finding.
    """
    given = declared(component, args_type, args)
    fleet = compiled_declarations(component, given)
    return FleetPlan(fleet=fleet, warnings=accepted(component, _about(fleet, about or given)))


CLUSTER = {"cluster.region": "region", "cluster.kubernetesVersion": "kubernetesVersion"}
"""Fields of a FleetSpec's cluster -> arguments of components."""


def compiled_declarations(
    component: str, given: Mapping[str, Any], names: Mapping[str, str] = CLUSTER
) -> Fleet:
    """Pools and overrides of one cluster, compiled. `given` has fields of a FleetSpec and of its
    cluster.

    `names`: field of a FleetSpec -> the argument that gives it. Raises InvalidArgumentsError with
    every finding when one is an error.
    """
    of_cluster = given.keys() & {"region", "kubernetesVersion"}
    declaration = {key: given[key] for key in given.keys() - of_cluster}
    declaration["cluster"] = {"name": "cluster", **{key: given[key] for key in of_cluster}}
    result = compile_data(declaration, at=looked_at(component))
    findings = in_own_words(names, result.findings)
    if result.fleet is None or not result.deployable:
        refuse(component, findings)
    return replace(result.fleet, findings=tuple(findings))


POOL = "pool"
"""The argument with the declaration of the only pool of a component."""


def compiled_pool(component: str, platform: str, given: Mapping[str, Any], *keys: str) -> Fleet:
    """The fleet of one pool, of a component's arguments `pool`, `catalogue` and `keys`.

    Its findings are those about arguments that are given: add-ons and queues may be of another
    component. Raises InvalidArgumentsError with every finding when one is an error.
    """
    kept = {key: given[key] for key in ("catalogue", *keys) if key in given}
    declared = {**kept, "platform": platform, "pools": [given["pool"]]}
    fleet = compiled_declarations(component, declared, {**CLUSTER, "pools[0]": POOL})
    pool = replace(fleet.pools[0], path=POOL)
    if pool.ownership is not Ownership.MANAGED:
        owner = pool.ownership.value
        refuse(
            component, [_finding("pool-made-by-someone-else", POOL, pool=pool.name, found=owner)]
        )
    return replace(fleet, pools=(pool,), findings=_about(fleet, given))


def _about(fleet: Fleet, arguments: Collection[str]) -> tuple[Finding, ...]:
    """The findings about some arguments: the others are of another component."""
    return tuple(one for one in fleet.findings if re.split(r"\W", one.path)[0] in arguments)
