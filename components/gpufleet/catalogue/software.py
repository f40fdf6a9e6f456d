"""Types of the software tables: chart pins and what each node image contains."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.catalogue.frozen import FrozenDict
from gpufleet.catalogue.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartImage:
    """One image that a chart deploys, and the value with its address."""

    key: str
    """Dotted key of the value that names the registry, the repository without the image, or the
    whole repository."""
    default: str
    """Default value of the key; empty: the chart names no public image."""
    name: str = ""
    """Part of the reference after the key's value; empty: the value is the whole repository."""
    tag: str = ""
    """Default tag; empty: not read."""
    tag_key: str = ""
    """Dotted key of the value that replaces the tag; empty: none."""
    digest_key: str = ""
    """Dotted key of a digest that the published chart pins; empty: it pins none."""
    when: Mapping[str, bool] = field(default_factory=FrozenDict[str, bool], hash=False)
    """Dotted keys that must all be true for the image to be used -> default of each."""
    per_node: str = ""
    """Suffix that the operator adds to the tag: `os` (the node's operating system); empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Pin of one Helm chart."""

    name: str
    version: str
    app_version: str = ""
    """Version of the program that the chart deploys by default; empty: not sourced."""
    repository: str
    """The vendor's address: a chart repository, or with `oci://` the complete reference of the
    chart. `charts.source` replaces it."""
    namespace: str
    """Default namespace of the installation."""
    min_kubernetes: str = ""
    """Lowest Kubernetes minor that the chart's kubeVersion admits; empty: not stated."""
    source: Source
    documented_kubernetes: tuple[str, str] | None = None
    """First and last Kubernetes minor the vendor documents as supported."""
    components: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """Versions of the parts the chart deploys by default: `driver`, `device-plugin`, ..."""
    dependencies: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """Charts that it includes, with their versions; these must not be installed twice."""
    images: tuple[ChartImage, ...] | None = None
    """Images that it deploys; None: its values were not read."""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An operator in the catalogues of Operator Lifecycle Manager, on OpenShift."""

    name: str
    """Name of the chart with the same operator on other platforms, or of the operator."""
    package: str
    """Its name in the catalogue."""
    catalog: str
    """Name of the catalogue: `certified` or `redhat`."""
    namespace: str
    """Namespace that its vendor uses."""
    group: str
    """Name of its OperatorGroup."""
    source: Source
    channel: str = ""
    """Channel of updates; empty: the channel is the minor version, `v26.7`."""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeImage:
    """Parts of the GPU stack in a node image, so that nothing is installed twice."""

    key: str
    """`al2023-nvidia`, `bottlerocket-nvidia`, `cos`, `ubuntu`, ..."""
    platform: str
    """`eks`, `gke`, `vsphere`, `openshift`, `sandbox`, `existing`."""
    architectures: tuple[str, ...]
    driver: bool
    """A GPU driver is in the image (or the platform installs it by itself)."""
    toolkit: bool
    device_plugin: bool
    efa: bool
    ami_types: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """EKS: architecture -> `amiType`."""
    notes: str = ""
    source: Source
    driver_branch: str | None = None
    """Major version of the driver in the image; None: no driver, or not sourced."""
    branches: Mapping[str, tuple[str, str]] = field(
        default_factory=FrozenDict[str, tuple[str, str]], hash=False
    )
    """GPU that gets another branch -> the branch, and the day of the first release that has it,
    `20260917`."""
    toolkit_env: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """Environment that the GPU Operator's toolkit needs to find the container runtime."""
    seen_as: Mapping[str, str] = field(default_factory=FrozenDict[str, str], hash=False)
    """Label or field of a node -> the expression that its value begins with on such nodes; of
    several rows that fit, the first is what the provider makes by default."""
    operator_may_install_driver: bool = True
    """Whether the GPU Operator can install the driver on this image if it has no driver."""
    vendors: tuple[str, ...] = ("nvidia",)
    """Accelerator vendors the image serves."""
    operator_supported: bool = True
    """Whether the GPU Operator's vendor lists the operating system as supported."""
    last_kubernetes: str | None = None
    """Last Kubernetes minor the image is published for; None: no end is known."""
    fips: bool | None = None
    """Whether its kernel runs in FIPS mode; None: it follows from how the image or the cluster was
    made."""
    fips_because: str = ""
    """Why; empty: unknown."""
    evidence: str = ""
    """Facts of this row that were not verified; empty: all were read in the source."""

    @property
    def brings(self) -> frozenset[str]:
        """Parts of the GPU stack that are in it: `driver`, `toolkit`, `device_plugin`."""
        parts = {
            "driver": self.driver,
            "toolkit": self.toolkit,
            "device_plugin": self.device_plugin,
        }
        return frozenset(part for part, there in parts.items() if there)

    def branch_for(self, gpu: str) -> str | None:
        """Driver branch of a GPU in the newest release; None: unknown."""
        return self.branches[gpu][0] if gpu in self.branches else self.driver_branch
