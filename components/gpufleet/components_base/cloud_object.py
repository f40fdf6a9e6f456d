"""A cloud's resource from rendered arguments, without the cost of its SDK's modules.

`pulumi_aws.ec2` takes 0.6 s to import and `pulumi_gcp.container` 0.7 s, at every start of a
program. This class registers the same resources. Its arguments are in the provider's spelling, the
form of `gpufleet.render`; the SDK's own classes check them in the tests
(docs/decisions/2026-11-22-provider-resources.md).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pulumi

from gpufleet.documents.data_files import data_part

Value = TypeVar("Value")


class CloudObject(pulumi.CustomResource):
    """One resource of a cloud's provider."""

    def __init__(
        self,
        type_: str,
        name: str,
        arguments: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
        outputs: Iterable[str] = (),
    ) -> None:
        """Register it.

        Args:
            type_: Type token.
            name: Name of the resource, unique in its stack.
            arguments: Inputs in the provider's spelling; values may be outputs.
            opts: Options: the parent with the provider.
            outputs: Outputs of the provider, to be read with `output`.
        """
        properties = {**dict.fromkeys(outputs), **arguments}
        self._names = frozenset(properties)
        options = pulumi.ResourceOptions.merge(self.defaults(), opts)
        super().__init__(type_, name, properties, options)

    def defaults(self) -> pulumi.ResourceOptions:
        """Options that the provider's SDK gives each resource."""
        raise NotImplementedError

    def output(self, name: str) -> pulumi.Output[Any]:
        """An input or output in the provider's spelling. KeyError if it was not requested."""
        if name not in self._names:
            raise KeyError(name)
        return cast("pulumi.Output[Any]", self.__dict__[name])

    def derived(self, name: str, compute: Callable[[Any], Value]) -> pulumi.Output[Value | None]:
        """A value that is derived from an output of the provider.

        None if it is absent, as under mocks that return the inputs of a resource
        (`pulumi.runtime.Mocks`). Raises KeyError for an output that was not requested.
        """
        return self.output(name).apply(lambda found: None if found is None else compute(found))

    def part(self, name: str, key: str) -> pulumi.Output[str | None]:
        """The text at a key of an output that is a mapping; None if it has none."""

        def read(found: Mapping[str, Any]) -> str | None:
            # The SDK returns keys in either spelling.
            spelt = {one.replace("_", "").lower(): value for one, value in found.items()}
            return spelt.get(key.lower())

        return self.derived(name, read)


AnyObject = TypeVar("AnyObject", bound=CloudObject)


@dataclass(frozen=True, slots=True)
class CloudParts(Generic[AnyObject]):
    """Creates the resources of a component from the parts of a data file: `type`, `name` after that
    of the component, `arguments`, and if needed `outputs` to be read and the tag Name, `tagged`."""

    kind: type[AnyObject]
    file: Path
    """Without its suffix."""
    parent: pulumi.Resource
    name: str
    """Prefix of the resources' names."""
    known: Mapping[str, Any]
    """Parameters of all parts; `tags` are the common tags."""

    def __call__(self, part: str, *after: pulumi.Resource, **more: Any) -> AnyObject:
        """The resource of a part with more parameters, created after others."""
        row = data_part(self.file, part, **{**self.known, **more})
        arguments, tagged = row["arguments"], row.get("tagged")
        if tagged is not None:
            arguments["tags"] = {"Name": tagged, **self.known["tags"], **arguments.get("tags", {})}
        return self.made(
            row["type"], row["name"], arguments, *after, outputs=row.get("outputs", ())
        )

    def made(
        self,
        type_: str,
        name: str,
        arguments: Mapping[str, Any],
        *after: pulumi.Resource,
        outputs: Iterable[str] = (),
    ) -> AnyObject:
        """A resource from its rendered arguments, created after others."""
        opts = pulumi.ResourceOptions(parent=self.parent, depends_on=list(after))
        return self.kind(type_, f"{self.name}-{name}", arguments, opts, outputs)


Ready = TypeVar("Ready")


def ready_output(
    value: pulumi.Output[Ready], *resources: pulumi.CustomResource
) -> pulumi.Output[Ready]:
    """The value, with a dependency on the resources.

    Resources that use it are created after them and removed before them: in every language, and
    without `dependsOn`.
    """
    return pulumi.Output.all(value, *(one.id for one in resources)).apply(_first)


def _first(known: list[Any]) -> Any:
    return known[0]
