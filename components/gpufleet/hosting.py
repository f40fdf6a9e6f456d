"""Serving the components to programs in other languages."""

import inspect
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import pulumi
from pulumi.provider import Provider
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from gpufleet.components_base.resource_plugin import ResourceServicer, serve_plugin
from gpufleet.platforms.registry import platform_resource

VERSION = "0.1.0"
PACKAGE: dict[str, Any] = {
    "displayName": "GPU Fleet",
    "description": "One declaration provisions, partitions, queues and polices GPU fleets on EKS, "
    "GKE, vSphere and OpenShift.",
    "publisher": "gpufleet",
    "license": "Apache-2.0",
    "keywords": [
        "pulumi",
        "gpu",
        "kubernetes",
        "mig",
        "karpenter",
        "kueue",
        "category/infrastructure",
        "kind/component",
    ],
    "language": {
        "nodejs": {"packageName": "@gpufleet/gpufleet"},
        "go": {"importBasePath": "gpufleet.dev/sdk/go/gpufleet"},
        # `pulumi-gpufleet` is the distribution of the components themselves.
        "python": {
            "packageName": "gpufleet_sdk",
            "pyproject": {"enabled": True},
            "readme": "The components of GPU Fleet for Python programs that do not install "
            "`pulumi-gpufleet` itself.",
        },
        "csharp": {"rootNamespace": "GpuFleet", "packageReferences": {"Pulumi": "3.*"}},
        "java": {"basePackage": "dev.gpufleet"},
    },
}
"""What the package says of itself and how its SDKs are named. Addresses are those of the release
(`components/addresses.json`)."""


class ComponentHost(ComponentProvider):
    """The SDK's component provider, with a complete schema, the same for every Python, and plain
    errors.

    Python 3.13 strips the indentation of docstrings and older ones keep it: descriptions are
    stripped here, so that SDKs generated from the schema do not depend on who generated them.

    The SDK wraps whatever a constructor raises and sends it with a traceback (pulumi 3.272.0,
    `provider/experimental/component.py`). Arguments that are refused are no fault of the code.
    """

    def __init__(
        self,
        components: list[type[pulumi.ComponentResource]],
        name: str,
        version: str,
        addresses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(components, name, version=version)
        schema = _stripped(json.loads(self.schema or "{}"))
        languages = {
            language: {**schema["language"].get(language, {}), **settings}
            for language, settings in PACKAGE["language"].items()
        }
        known = {key: address for key, address in addresses.items() if address}
        self.schema = json.dumps({**schema, **PACKAGE, "language": languages, **known})

    def construct(self, *args: Any, **settings: Any) -> Any:
        """Make a component; wrong arguments come out as their own error, text only."""
        try:
            return super().construct(*args, **settings)
        except ComponentInitError as failed:
            if isinstance(failed.inner, pulumi.InputPropertiesError):
                # The text says all, and a list next to it would be printed a second time. None
                # instead of an empty list breaks the SDK's own report.
                raise pulumi.InputPropertiesError(str(failed.inner), []) from None
            raise


def _stripped(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: inspect.cleandoc(value)
            if key == "description" and isinstance(value, str)
            else _stripped(value)
            for key, value in cast("dict[str, Any]", schema).items()
        }
    if isinstance(schema, list):
        return [_stripped(item) for item in cast("list[Any]", schema)]
    return schema


def serve(
    components: list[type[pulumi.ComponentResource]],
    name: str,
    version: str,
    addresses: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Answer the engine until it ends this process: components, and the resources they make.

    `addresses`: `homepage`, `repository`, `logoUrl` and `pluginDownloadURL` of the release; empty
    ones are left out of the schema."""
    host = ComponentHost(components, name, version, addresses)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


def serve_resources() -> None:
    """`pulumi-resource-gpufleet`: the resources that components in Python programs make."""
    host = Provider(VERSION)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


if __name__ == "__main__":
    serve_resources()
