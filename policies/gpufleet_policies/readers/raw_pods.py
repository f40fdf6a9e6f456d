"""RawGroup and Kind: a pod template before it is read, and what is known about a kind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.cluster.fact import NOTHING, Fact, known, unknown
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.cluster.workload import Ray
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet_policies.readers.reading import at, boolean, fact, whole

ONE: Fact[int] = known(1)


@dataclass(frozen=True, slots=True)
class RawContainer:
    """A container that is not in a pod spec's list."""

    place: str
    fields: dict[str, Any]
    """In a container's own names: `image`, `args`, `resources`."""
    resources_place: str = ""
    """Path of its resources; empty: `resources` below its place."""
    short_form: bool = False
    """Whether its resources are in a form of its kind, which no patch can change."""


@dataclass(frozen=True, slots=True)
class RawGroup:
    """One pod template, not yet read."""

    name: str
    place: str
    """Field path of the pod spec, or of what represents it."""
    spec: Any
    pods: Fact[int]
    metadata: Any = None
    """Annotations and labels of the template."""
    together: Fact[int] = ONE
    """Pods that form one replica."""
    containers: tuple[RawContainer, ...] | None = None
    """Instead of the spec's own lists."""
    stated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Facts in fields of the object's kind: `tensor`, `pipeline`, `data`, `data_local`,
    `processes`, `model`, `spreads`; `preset`: its controller adds to the containers; `runtime`:
    the referenced runtime may add others; `claims`: the field of its claims, where it is not
    `resourceClaims`."""
    subdomain: Any = None
    """The `subdomain` that its controller sets on the pods; None: that of their spec."""


Groups = Iterator[RawGroup]


@dataclass(frozen=True, slots=True)
class JobFields:
    """Path of the fields that limit a run, in a kind that runs to completion."""

    deadlines: tuple[str, ...] = ()
    retries: str = ""
    time_to_live: str = ""
    schedule: str = ""
    concurrency: str = ""


@dataclass(frozen=True, slots=True)
class PodMakerKind:
    """Facts of a kind that creates pods."""

    groups: Callable[[dict[str, Any]], Groups]
    checked_on_creation: bool = False
    """The API server validates the pod template itself; it cannot for custom resources."""
    suspend: str = "spec.suspend"
    job: JobFields | None = None
    """None: it has no end."""
    scaling: "Scaling | None" = None
    ray: Callable[[dict[str, Any]], Ray] | None = None
    trains: bool = False
    serves: bool = False
    """Its pods serve requests, whichever programs their containers run."""
    starts_together: bool = False
    enough: str = ""
    """Path of the number of pods with which an elastic job starts; empty: it needs all of them."""
    node_agent: bool = False

    @property
    def runs_to_completion(self) -> bool:
        """Whether it is a job."""
        return self.job is not None


def times(*factors: Fact[int]) -> Fact[int]:
    """The product; not known as soon as one factor is not."""
    product = 1
    for factor in factors:
        if not factor.is_known:
            return unknown(factor.place)
        product *= factor.value
    return known(product, place=factors[0].place)


def total_of(numbers: Sequence[Fact[int]]) -> Fact[int]:
    """The sum; not known as soon as one number is not."""
    if not all(number.is_known for number in numbers):
        return unknown("pods")
    return known(sum(number.value for number in numbers))


def count(document: Any, path: str, default: int = 1) -> Fact[int]:
    """A number of pods under a path, its default applied; below zero counts as not known."""
    return fact(at(document, path), natural, path).or_default(default)


Scaling = Callable[[dict[str, Any]], Iterator[ScalingFacts]]


def scaling_of(
    place: str, *, block: str = "", switch: str = "", cooldown: str = "", most: int | None = None
) -> Scaling:
    """Scaling by `minReplicas` and `maxReplicas` under a path, where `block`, by default that path,
    is written.

    Args:
        place: Path of the two fields.
        block: Path of the mapping without which nothing scales.
        switch: Path of a boolean that turns it on; empty: nothing turns it off.
        cooldown: Path of the seconds until an idle replica goes.
        most: Default of the maximum; None: no limit.
    """

    def scaling(document: dict[str, Any]) -> Iterator[ScalingFacts]:
        if is_mapping(at(document, block or place)):
            most_at = f"{place}.maxReplicas"
            maximum = fact(at(document, most_at), natural, most_at)
            enabled = fact(at(document, switch), boolean, switch).or_default(False)
            yield ScalingFacts(
                place=place,
                minimum=count(document, f"{place}.minReplicas"),
                maximum=maximum if most is None else maximum.or_default(most),
                enabled=enabled if switch else NOTHING,
                cooldown_seconds=fact(at(document, cooldown), natural, cooldown)
                if cooldown
                else NOTHING,
                cooldown_place=cooldown,
            )

    return scaling


def at_least_one(pods: Fact[int]) -> Fact[int]:
    """Pods while there are any, of what scales to zero by itself."""
    return known(max(1, pods.value), pods.provenance, pods.place) if pods.is_known else pods


def natural(value: Any) -> int | None:
    """A whole number from 0."""
    number = whole(value)
    return number if number is not None and 0 <= number <= 10_000_000 else None


def template(
    document: Any,
    name: str,
    path: str,
    pods: Fact[int],
    prefix: str = "",
    together: Fact[int] = ONE,
    stated: Mapping[str, Any] | None = None,
    subdomain: Any = None,
) -> RawGroup:
    """The group of a usual pod template (`metadata`, `spec`) under a path."""
    found = at(document, path)
    return RawGroup(
        name,
        f"{prefix}{path}.spec",
        at(found, "spec"),
        pods,
        at(found, "metadata"),
        together,
        stated=stated or {},
        subdomain=subdomain,
    )


def own_pods(
    name: str,
    place: str,
    spec: Any,
    pods: Fact[int],
    container: dict[str, Any],
    stated: Mapping[str, Any] | None = None,
    together: Fact[int] = ONE,
    metadata: Any = None,
) -> RawGroup:
    """Pods of one container that a kind has in its own short form, which no patch can change."""
    raw = RawContainer(place, container, short_form=True)
    return RawGroup(name, place, spec, pods, metadata, together, (raw,), stated or {})


def node_terms(terms: Any) -> dict[str, Any]:
    """The affinity of pods to nodes that meet one of some terms; without terms, none."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {} if terms is None else {"affinity": {"nodeAffinity": required}}


def vllm_arguments(settings: Mapping[str, Any]) -> Any:
    """Arguments of a server of the vLLM production stack: its own, and its share of the memory."""
    words, share = settings.get("extraArgs"), settings.get("gpuMemoryUtilization")
    return words if share is None else [*items(words), f"--gpu-memory-utilization={share}"]


def name_of(value: Any, key: str, index: int) -> str:
    """The name an entry of a list gives itself, else its index."""
    written = mapping(value).get(key)
    return written if isinstance(written, str) and written else str(index)


def model_of_address(value: Any) -> str | None:
    """The model a storage address names: `hf://org/model`."""
    return value.removeprefix("hf://") if isinstance(value, str) and "{{" not in value else None
