"""Serving the components to programs in other languages."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pulumi
from pulumi.provider import Provider
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from gpufleet.components_base.resource_plugin import ResourceServicer, serve_plugin
from gpufleet.platforms.registry import platform_resource

VERSION = "0.1.0"
PACKAGE: dict[str, Any] = json.loads(Path(__file__).with_name("pulumi_package.json").read_bytes())
"""Metadata of the package and of its SDKs. Addresses are those of the release
(`components/addresses.json`)."""


class ComponentHost(ComponentProvider):
    """The SDK's component provider with a complete schema that is equal for every Python version,
    and with plain error messages.

    Python 3.13 removes the indentation of docstrings and older versions keep it: descriptions are
    dedented here, so that generated SDKs do not depend on the Python version.

    The SDK wraps every exception of a constructor and sends it with a traceback (pulumi 3.272.0,
    `provider/experimental/component.py`). Invalid arguments are not a fault of the code.
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
        """Create a component; invalid arguments are reported as plain text."""
        try:
            return super().construct(*args, **settings)
        except ComponentInitError as failed:
            if isinstance(failed.inner, pulumi.InputPropertiesError):
                # The text is complete, and a list next to it would be printed a second time. None
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
    """Serve the engine until it ends this process: components, and the resources they create.

    `addresses`: `homepage`, `repository`, `logoUrl` and `pluginDownloadURL` of the release; empty
    values are omitted from the schema."""
    host = ComponentHost(components, name, version, addresses)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


def serve_resources() -> None:
    """`pulumi-resource-gpufleet`: the resources that components in Python programs create."""
    host = Provider(VERSION)
    serve_plugin(lambda args, address: ResourceServicer(host, args, address, platform_resource))


if __name__ == "__main__":
    serve_resources()
