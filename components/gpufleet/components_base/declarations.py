"""What an add-on's declarations mean, when no fleet has compiled them already."""

from collections.abc import Mapping
from typing import Any, cast

from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.fleet import Fleet, compile_data


def declared_fleet(component: str, kind: type, args: object, compiled: Fleet | None) -> Fleet:
    """The fleet that an add-on's arguments declare; `compiled` when the caller has it already.

    `kind` is the TypedDict of the arguments. Raises InvalidArgumentsError with every finding.
    """
    mapping = cast("Mapping[str, Any]", args)
    given = declared(component, kind, mapping, unread=compiled_already(compiled))
    return compiled or compiled_declarations(component, given)


def compiled_declarations(component: str, given: dict[str, Any]) -> Fleet:
    """Pools and overrides of one cluster, compiled. Raises InvalidArgumentsError with every finding
    when one is an error."""
    cluster: dict[str, Any] = {"name": "cluster"}
    for key in ("region", "kubernetesVersion"):
        if key in given:
            cluster[key] = given[key]
    result = compile_data(
        {
            "catalogue": given["catalogue"],
            "platform": given["platform"],
            "cluster": cluster,
            "pools": given["pools"],
            "addons": given.get("addons", {}),
            **{key: given[key] for key in ("queues", "monitoring") if key in given},
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet
