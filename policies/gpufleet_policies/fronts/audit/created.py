"""Creations as manifests."""

from typing import Any, cast

from gpufleet.findings.remediation import Creation


def manifest(creation: Creation) -> dict[str, Any]:
    """The object as it is applied."""
    if creation.kind == "ResourceQuota":
        return {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": creation.name, "namespace": creation.namespace},
            "spec": {"hard": dict(creation.content)},
        }
    # The models of a declaration: a third of a second that most runs save.
    from gpufleet.render.scaled_object import scaled_object
    from gpufleet.render.scaling_signals import PROMETHEUS
    from gpufleet.spec.scaling import KedaScaling

    target = {"namespace": creation.namespace, **_mapping(creation.content["target"])}
    declared = {**creation.content, "target": target, "server": PROMETHEUS}
    return scaled_object(KedaScaling.model_validate(declared))


def _mapping(value: object) -> dict[str, Any]:
    assert isinstance(value, dict)
    return {str(key): one for key, one in cast("dict[Any, Any]", value).items()}
