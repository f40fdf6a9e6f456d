"""What an add-on's declarations mean, when no fleet has compiled them already."""

from typing import Any

from gpufleet.fleet import Fleet, compile_data
from gpufleet.inputs import refuse


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
