"""Existing resources as plain data, and a platform's proposal to declare them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gpufleet.contract.platform import PlatformValue
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import known_texts, mapping
from gpufleet.spec.base import Platform

Declaration = dict[str, Any]
"""Part of a FleetSpec, in the spelling of files."""


@dataclass(frozen=True, slots=True)
class ObservedResource:
    """One resource of a cloud, or one object of a cluster."""

    token: str
    """Type in Pulumi's form: `aws:eks/nodeGroup:NodeGroup`, `kubernetes::Node` for objects."""
    name: str
    """Its name in the program, the plan or the cluster."""
    properties: Mapping[str, Any]
    """Its inputs in Pulumi's spelling, or the object. Unknown values are left out."""
    id: str | None = None
    """Id in the cloud; None before it exists."""
    address: str = ""
    """Where it was found: URN, Terraform address, `kind/namespace/name`."""

    @property
    def metadata(self) -> dict[str, Any]:
        """`metadata` of a cluster object."""
        return mapping(self.properties.get("metadata"))

    @property
    def labels(self) -> dict[str, str]:
        """Labels of a cluster object."""
        return known_texts(self.metadata.get("labels"))

    @property
    def spec(self) -> dict[str, Any]:
        """`spec` of a cluster object."""
        return mapping(self.properties.get("spec"))


@dataclass(frozen=True, slots=True)
class Observations:
    """All resources that were found."""

    resources: tuple[ObservedResource, ...]

    def of(self, *tokens: str) -> Iterator[ObservedResource]:
        """Resources of these types, in the order of discovery."""
        return (one for one in self.resources if one.token in tokens)

    def objects(self, kind: str) -> Iterator[ObservedResource]:
        """Kubernetes objects of a kind, in any version."""
        return (
            one
            for one in self.resources
            if one.token.startswith("kubernetes:") and one.token.endswith(f":{kind}")
        )

    def kubernetes_minor(self) -> str | None:
        """Kubernetes' minor version, if all kubelets report the same."""
        found = {
            str(value_at(one.properties, "status.nodeInfo.kubeletVersion"))
            for one in self.objects("Node")
        }
        minors = {".".join(one.removeprefix("v").split(".")[:2]) for one in found if one != "None"}
        return minors.pop() if len(minors) == 1 else None


@dataclass(frozen=True, slots=True)
class ProposedPool:
    """A platform's proposal for some of the resources."""

    pool: Declaration
    """The pool: name, machines, nodes, and all settings that have a field."""
    resources: Mapping[str, Mapping[str, Any]]
    """Names as in `PlatformRules.registered` -> the properties that were found."""
    seen: tuple[ObservedResource, ...]
    """The resources from which it was derived."""
    import_id: str | None = None
    """`importId` of the pool; None if the platform has none."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of its nodes, from which the pool's own are read."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of its resources, from which the fleet's own are read."""
    name_prefix: str | None = None
    """Prefix of its names; None if they do not show it."""
    notes: tuple[str, ...] = ()
    """Facts that could not be read, one sentence each."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A field whose value shows only in the resources that are created from it."""

    path: str
    """Dotted, in the pool: `intent`, `eks.localStorage`."""
    values: tuple[Any, ...]


INTENT = Choice("intent", ("training", "batch", "interactive", "inference"))


class PlatformAdoption:
    """A platform's knowledge of resources that it did not create. Subclasses hold no state."""

    platform: Platform
    tokens: frozenset[str] = frozenset()
    """Types that create nodes on this platform: one of them identifies it."""
    wired: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Kind of `registered` -> paths whose values come from other resources."""
    raw: ClassVar[Mapping[str, str]] = {}
    """Kind of `registered` -> field of the pool for additional inputs of it."""
    choices: tuple[Choice, ...] = (INTENT,)
    kept: tuple[str, ...] = ()
    """Fields of the platform's options that stay, although no registered input shows them."""

    def recognises(self, seen: Observations) -> bool:
        """Whether the resources belong to this platform."""
        return any(one.token in self.tokens for one in seen.resources)

    def cluster(self, seen: Observations) -> Declaration:
        """`cluster` of the declaration, as far as the resources show it."""
        raise NotImplementedError

    def pools(self, seen: Observations) -> Iterable[ProposedPool]:
        """Every group of GPU nodes that was found."""
        raise NotImplementedError

    def addons(self, seen: Observations, pools: Sequence[Declaration]) -> Declaration:  # noqa: ARG002
        """`addons` of the declaration, as far as objects outside charts show them."""
        return {}


def platform_adoption(platform: PlatformValue) -> PlatformAdoption | None:
    """The adoption of a platform; None if it has none. Pure."""
    return platform.module("adoption").ADOPTION if platform.has("adoption") else None
