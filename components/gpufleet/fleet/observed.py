"""Resources that exist, as plain data, and what a platform proposes to declare of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gpufleet.contract.platform import PlatformValue
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import mapping
from gpufleet.spec.base import Platform

Declaration = dict[str, Any]
"""Part of a FleetSpec, in the spelling of files."""


@dataclass(frozen=True, slots=True)
class ObservedResource:
    """One resource of a cloud, or one object of a cluster."""

    token: str
    """Type as Pulumi names it: `aws:eks/nodeGroup:NodeGroup`, `kubernetes::Node` for objects."""
    name: str
    """What the program, the plan or the cluster calls it."""
    properties: Mapping[str, Any]
    """Its inputs in Pulumi's spelling, or the object. Values that are not known are left out."""
    id: str | None = None
    """Id in the cloud; None before it exists."""
    address: str = ""
    """Where it was found: URN, Terraform address, `kind/namespace/name`."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Of an object of a cluster."""
        return mapping(self.properties.get("metadata"))

    @property
    def labels(self) -> dict[str, str]:
        """Of an object of a cluster."""
        return texts(self.metadata.get("labels"))

    @property
    def spec(self) -> dict[str, Any]:
        """Of an object of a cluster."""
        return mapping(self.properties.get("spec"))


@dataclass(frozen=True, slots=True)
class Observations:
    """Everything that was found."""

    resources: tuple[ObservedResource, ...]

    def of(self, *tokens: str) -> Iterator[ObservedResource]:
        """Resources of these types, in the order in which they were found."""
        return (one for one in self.resources if one.token in tokens)

    def objects(self, kind: str) -> Iterator[ObservedResource]:
        """Kubernetes objects of a kind, whatever their version."""
        return (
            one
            for one in self.resources
            if one.token.startswith("kubernetes:") and one.token.endswith(f":{kind}")
        )

    def kubernetes_minor(self) -> str | None:
        """Kubernetes' minor version, where all kubelets report the same."""
        found = {
            str(value_at(one.properties, "status.nodeInfo.kubeletVersion"))
            for one in self.objects("Node")
        }
        minors = {".".join(one.removeprefix("v").split(".")[:2]) for one in found if one != "None"}
        return minors.pop() if len(minors) == 1 else None


@dataclass(frozen=True, slots=True)
class ProposedPool:
    """What a platform would declare for some of the resources."""

    pool: Declaration
    """The pool: name, machines, nodes, and everything that has a field of its own."""
    resources: Mapping[str, Mapping[str, Any]]
    """The same names as `PlatformRules.registered` -> the properties that were found."""
    seen: tuple[ObservedResource, ...]
    """The resources it was made of."""
    import_id: str | None = None
    """What `importId` of the pool would be; None where the platform takes none."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of its nodes, from which the pool's own are read."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tags of its resources, from which the fleet's own are read."""
    name_prefix: str | None = None
    """What its names begin with; None where they do not say."""
    notes: tuple[str, ...] = ()
    """What could not be read, in one sentence each."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A field whose value only shows in what is made of it."""

    path: str
    """Dotted, in the pool: `intent`, `eks.localStorage`."""
    values: tuple[Any, ...]


INTENT = Choice("intent", ("training", "batch", "interactive", "inference"))


class PlatformAdoption:
    """What a platform knows of resources that it did not make. Subclasses hold no state."""

    platform: Platform
    tokens: frozenset[str] = frozenset()
    """Types that make nodes there: one of them means this platform."""
    wired: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Kind of `registered` -> paths whose values other resources give."""
    raw: ClassVar[Mapping[str, str]] = {}
    """Kind of `registered` -> field of the pool that takes further inputs of it."""
    choices: tuple[Choice, ...] = (INTENT,)
    kept: tuple[str, ...] = ()
    """Fields of the platform's options that stay, though no registered input shows them."""

    def recognises(self, seen: Observations) -> bool:
        """Whether the resources are of this platform."""
        return any(one.token in self.tokens for one in seen.resources)

    def cluster(self, seen: Observations) -> Declaration:
        """`cluster` of the declaration, as far as the resources say it."""
        raise NotImplementedError

    def pools(self, seen: Observations) -> Iterable[ProposedPool]:
        """Every group of GPU nodes that was found."""
        raise NotImplementedError

    def addons(self, seen: Observations, pools: Sequence[Declaration]) -> Declaration:  # noqa: ARG002
        """`addons` of the declaration, as far as objects that no chart brings say them."""
        return {}


def texts(value: Any) -> dict[str, str]:
    """Those entries of a mapping that are texts."""
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


def platform_adoption(platform: PlatformValue) -> PlatformAdoption | None:
    """What the platform reads out of resources that exist; None where it reads none. Pure."""
    return platform.module("adoption").ADOPTION if platform.has("adoption") else None
