"""ClusterModel: pools, programs and claims of one cluster, declared or read from files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.claims import DeviceClaim, DeviceClass
from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource(Subject):
    """A source of GPU metrics: DCGM exporter, GKE's managed DCGM, CloudWatch's add-on."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredNamespace(Subject):
    """A namespace that the checked input creates."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuQuota(Subject):
    """A ResourceQuota."""

    covers_gpus: bool
    hard: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resource -> maximum that all pods of the namespace may request, if known."""
    uncounted: tuple[str, ...] = ()
    """GPU keys of `hard` for which the API server counts no usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterModel:
    """The objects between which contract rules check relations."""

    site: Site
    """Minor version of Kubernetes, programs, catalogue."""
    pools: tuple[NodePool, ...]
    claims: tuple[DeviceClaim, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    namespaces: tuple[DeclaredNamespace, ...] = ()
    complete: bool = False
    """Whether everything is declared, so that a missing object does not exist."""
    elsewhere: frozenset[str] = frozenset()
    """Programs that may be installed although the model does not contain them."""
    ofed: Fact[str] = NOTHING
    """Source of DOCA-OFED: `operator`, `host`, `inbox`. Unknown: not the operator."""
    waits_for_ofed: Fact[bool] = NOTHING
    """Whether the GPU Operator is installed after the Network Operator is ready."""

    @property
    def catalogue(self) -> Catalogue:
        """Facts about GPUs, images and charts."""
        return self.site.catalogue

    @property
    def operated(self) -> tuple[NodePool, ...]:
        """Pools on whose nodes operands certainly run."""
        return tuple(pool for pool in self.pools if pool.is_operated)

    def programs(self, name: str) -> Iterator[Program]:
        """The installations of a chart."""
        return (one for one in self.site.programs if one.name == name)

    def program(self, name: str) -> Program | None:
        """The installation of a chart; None: none is known."""
        return next(self.programs(name), None)
