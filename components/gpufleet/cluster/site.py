"""Site: the environment that reads a configuration: hardware, Kubernetes minor version, programs.

A rule gets a release, a feature gate, the Kubernetes minor version and the GPU from a `Site` only;
no other module reads a pinned release.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpufleet.catalogue import Catalogue, Gpu, load
from gpufleet.catalogue.features import Release
from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.cluster.program import (
    KUBERNETES,
    PARTS,
    Program,
    Reader,
    decided_release,
    part_release,
    pinned_part,
)
from gpufleet.cluster.scaling import AutoscalerTarget, TargetKey

Layout = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Site:
    """Known facts about the environment. Facts that are not given are None, absent or empty."""

    gpu: Gpu | None = None
    gpus_per_node: int | None = None
    product: str | None = None
    """Value of the node label `nvidia.com/gpu.product`, with suffixes."""
    layouts: tuple[Layout | None, ...] | None = None
    """MIG layout of each GPU of the node; None as an item: MIG is off."""
    kubernetes: Fact[Release] = NOTHING
    """Minor version of the cluster, `(1, 36)`."""
    programs: tuple[Program, ...] = ()
    """The program that is read, if any, and the other programs."""
    reader: str = ""
    """The program that reads the configuration."""
    version: Fact[str] = NOTHING
    """Release of that program in the context."""
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Gates in the context."""
    gates_named: bool = False
    """Whether the context lists gates: an empty mapping then means that all have their defaults."""
    cluster_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Gates of Kubernetes in a declaration."""
    images: tuple[str, ...] = ()
    """Images of the GPU nodes, by key in the catalogue."""
    env: Mapping[str, str] | None = None
    """Environment of the program that reads. None: not known."""
    environment: str | None = None
    """`prod`, `staging`, `dev`: decides which versions must be pinned."""
    previous: Any = None
    """The present object, when a change is validated."""
    select: str | None = None
    """The config, or ConfigMap key, that a node uses."""
    device_classes: frozenset[str] = frozenset()
    """DeviceClasses that the text itself creates."""
    targets: Mapping[TargetKey, AutoscalerTarget] = field(
        default_factory=dict[TargetKey, AutoscalerTarget]
    )
    """Workloads of other documents that an autoscaler may name."""
    catalogue: Catalogue = field(default_factory=load, repr=False, compare=False)

    @property
    def chart(self) -> Program | None:
        """The program that is read, else the one in the context; None: neither is known."""
        return self.programs[0] if self.programs else None

    @property
    def others(self) -> tuple[Program, ...]:
        """Programs other than the one that is read."""
        return self.programs[1:]

    def program(self, name: str) -> Program | None:
        """The program with this name; a program without a known name also matches."""
        return next((one for one in self.programs if one.name in (None, name)), None)

    def reading(self, program: Program) -> "Site":
        """The same environment, for reading the values of a program."""
        rest = tuple(one for one in self.programs if one.name not in (None, program.name))
        return replace(self, programs=(program, *rest))

    def release_of(self, name: str) -> Reader:
        """The release of a program here: from its wrapper or declaration, the context, the program
        that installs it, else the catalogue."""
        own = self.program(name)
        written = NOTHING if own is None else own.release
        given = self.version if self.reader in ("", name) else NOTHING
        features = self.catalogue.features(name)
        if name in PARTS and written.is_absent and given.is_absent:
            host = next((one for one in self.programs if one.name == PARTS[name][0]), None)
            if host is not None:
                return Reader(name, part_release(name, host, self.catalogue), features)
            if name not in self.catalogue.charts:
                return Reader(name, pinned_part(name, self.catalogue), features)
        found = decided_release(name, written, given, self.catalogue)
        return Reader(name, found, features)

    @property
    def minor(self) -> Release | None:
        """Minor version of the cluster; None if not known."""
        return self.kubernetes.found

    def kubernetes_gate(self, name: str) -> bool | None:
        """Whether a gate of Kubernetes is on here; None if not known."""
        for own in (self.cluster_gates, self.feature_gates):
            if name in own:
                return own[name]
        return None if self.minor is None else kubernetes_gate(name, self.minor, self.catalogue)

    @property
    def bare_product(self) -> str | None:
        """The product label of a whole GPU that is not shared."""
        if self.product is not None:
            return re.sub(r"(-MIG-[0-9a-zA-Z.]+)?(-SHARED)?$", "", self.product.replace(" ", "-"))
        return self.gpu.product_label if self.gpu is not None else None

    @property
    def labelled_profile(self) -> str | None:
        """The MIG profile in the product label, in the label's spelling."""
        found = re.search(r"-MIG-([0-9][0-9a-zA-Z.]*)", self.product or "")
        return found[1] if found else None

    @property
    def gpu_count(self) -> int | None:
        """Number of GPUs of the node, if known."""
        if self.gpus_per_node is not None:
            return self.gpus_per_node
        return len(self.layouts) if self.layouts is not None else None


def kubernetes_gate(name: str, minor: Release, catalogue: Catalogue | None = None) -> bool:
    """Whether a gate of Kubernetes is on by default in a minor version; false if it has none."""
    return (catalogue or load()).features(KUBERNETES).gates_of(minor).get(name, False)
