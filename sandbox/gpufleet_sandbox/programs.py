"""Every program the sandbox runs: its pin, which other versions will do, and how it is made.

The pins themselves are the go.mod and go.sum files under `tools/`; a test compares the versions
named here with them. Build times were measured on two cores with an empty Go cache, in this order:
they drive the progress display, nothing else. Those of `sandbox up` are half of what each took
with two at a time (2026-11-29), the others what each took alone (2026-11-21).
"""

import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from gpufleet_sandbox.errors import SandboxError

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Which versions of an installed program will do: `low` <= version < `below`."""

    low: Version
    below: Version
    reason: str
    """Why the range ends where it ends."""

    def __contains__(self, found: object) -> bool:
        return isinstance(found, tuple) and self.low <= found < self.below

    def __str__(self) -> str:
        low, below = (".".join(map(str, bound)) for bound in (self.low, self.below))
        return f">={low}, <{below}"


@dataclass(frozen=True, slots=True)
class Vendor:
    """Address of the vendor's download. `{version}`, `{os}`, `{arch}` are filled in."""

    url: str
    checksums: str
    """A file of SHA-256 sums: lines `<sum>  <file name>`, or one bare sum."""
    member: str | None = None
    """Folder inside the archive that holds the files; None: the download is the program itself."""
    systems: tuple[str, ...] = ("linux", "darwin")
    architectures: tuple[tuple[str, str], ...] = (("amd64", "amd64"), ("arm64", "arm64"))
    """Go's name of the architecture -> the vendor's."""


@dataclass(frozen=True, slots=True)
class SandboxProgram:
    """One program."""

    name: str
    """File name of the executable."""
    module: str
    """Folder under `tools/` with its go.mod."""
    package: str
    """Go package path that is built."""
    version: str
    """The pinned version, without a leading v."""
    seconds: int
    """Measured time of a cold build."""
    linker: str = "-s -w"
    flags: tuple[str, ...] = ("-trimpath",)
    version_command: tuple[str, ...] | None = ("--version",)
    """Arguments that make an installed one print its version; None: never taken from PATH."""
    accepted: VersionRange | None = None
    """Which installed versions will do."""
    vendor: Vendor | None = None
    """None: the vendor publishes no checksum that the download could be verified with."""
    schema_of: str | None = None
    """Go module whose schema file is copied next to the sources before building."""

    def parse_version(self, output: str) -> Version | None:
        """The first `1.2.3` in what the version command printed."""
        found = re.search(r"\bv?(\d+)\.(\d+)\.(\d+)", output)
        return tuple(int(part) for part in found.groups()) if found else None


_PULUMI = "3.259.0"
_KUBERNETES = "1.36.3"
_ETCD = "3.6.14"
PROVIDER_VERSION = "4.25.0"
"""The Kubernetes provider that the pinned Go module is."""

_KUBERNETES_VERSION_PACKAGE = "k8s.io/component-base/version"


def _kubernetes(name: str, seconds: int) -> SandboxProgram:
    major, minor, _ = _KUBERNETES.split(".")
    settings = {"gitVersion": f"v{_KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    linker = " ".join(f"-X {_KUBERNETES_VERSION_PACKAGE}.{k}={v}" for k, v in settings.items())
    base = "https://dl.k8s.io/release/v{version}/bin/{os}/{arch}/" + name
    return SandboxProgram(
        name=name,
        module="control-plane",
        package=f"k8s.io/kubernetes/cmd/{name}",
        version=_KUBERNETES,
        seconds=seconds,
        # A chart with a kubeVersion range refuses a server without a version.
        linker=f"-s -w {linker}",
        # With its profile, every package of Kubernetes would be compiled again for each binary.
        flags=("-trimpath", "-pgo=off"),
        accepted=VersionRange(
            (1, 36, 0), (1, 37, 0), "the flags and the DRA feature gates are those of 1.36"
        ),
        vendor=Vendor(base, base + ".sha256", systems=("linux",)),
    )


PROGRAMS: dict[str, SandboxProgram] = {
    program.name: program
    for program in (
        SandboxProgram(
            name="pulumi",
            module="pulumi",
            package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            version=_PULUMI,
            seconds=51,
            linker=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{_PULUMI}",
            version_command=("version",),
            accepted=VersionRange((3, 237, 0), (4,), "requiredPulumiVersion of the project"),
            vendor=Vendor(
                "https://github.com/pulumi/pulumi/releases/download/v{version}/"
                "pulumi-v{version}-{os}-{arch}.tar.gz",
                "https://github.com/pulumi/pulumi/releases/download/v{version}/"
                "pulumi-{version}-checksums.txt",
                member="pulumi",
                architectures=(("amd64", "x64"), ("arm64", "arm64")),
            ),
        ),
        SandboxProgram(
            name="pulumi-resource-kubernetes",
            module="kubernetes-provider",
            package=".",
            version=PROVIDER_VERSION,
            seconds=112,
            linker=f"-s -w -X main.version={PROVIDER_VERSION}",
            version_command=None,  # taken from Pulumi's plugin folder, which names the version
            vendor=Vendor(
                "https://github.com/pulumi/pulumi-kubernetes/releases/download/v{version}/"
                "pulumi-resource-kubernetes-v{version}-{os}-{arch}.tar.gz",
                "https://github.com/pulumi/pulumi-kubernetes/releases/download/v{version}/"
                "pulumi-kubernetes_{version}_checksums.txt",
                member="",
            ),
            schema_of="github.com/pulumi/pulumi-kubernetes/provider/v4",
        ),
        SandboxProgram(
            name="etcd",
            module="control-plane",
            package="go.etcd.io/etcd/server/v3",
            version=_ETCD,
            seconds=40,
            flags=("-trimpath", "-pgo=off"),
            accepted=VersionRange((3, 5, 0), (4,), "the storage interface Kubernetes 1.36 speaks"),
            vendor=Vendor(
                "https://github.com/etcd-io/etcd/releases/download/v{version}/"
                "etcd-v{version}-{os}-{arch}.tar.gz",
                "https://github.com/etcd-io/etcd/releases/download/v{version}/SHA256SUMS",
                member="etcd-v{version}-{os}-{arch}",
                systems=("linux",),
            ),
        ),
        _kubernetes("kube-apiserver", 123),
        _kubernetes("kube-controller-manager", 26),
        _kubernetes("kube-scheduler", 3),
        SandboxProgram(
            name="kwok",
            module="control-plane",
            package="sigs.k8s.io/kwok/cmd/kwok",
            version="0.8.0",
            seconds=8,
            flags=("-trimpath", "-pgo=off"),
            accepted=VersionRange((0, 7, 0), (1,), "template functions of the stages"),
        ),
        SandboxProgram(
            name="pulumi-language-yaml",
            module="pulumi-yaml",
            package="github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
            version="1.38.1",
            seconds=43,
            linker="-s -w -X github.com/pulumi/pulumi-yaml/pkg/version.Version=v1.38.1",
            version_command=None,  # read from the command line that starts it
        ),
        SandboxProgram(
            name="kueue",
            module="kueue",
            package="sigs.k8s.io/kueue/cmd/kueue",
            version="0.19.2",
            seconds=171,
            version_command=None,  # it has none
        ),
        SandboxProgram(
            name="promtool",
            module="prometheus",
            package="github.com/prometheus/prometheus/cmd/promtool",
            version="0.305.0",  # of the Go module; the release is v3.5.0
            seconds=230,
            version_command=None,  # releases count otherwise than the module
        ),
        SandboxProgram(
            name="prometheus",
            module="prometheus",
            package="github.com/prometheus/prometheus/cmd/prometheus",
            version="0.305.0",
            seconds=45,
            version_command=None,
        ),
        SandboxProgram(
            name="keda",
            module="keda",
            package="github.com/kedacore/keda/v2/cmd/operator",
            version="2.20.2",
            seconds=600,
            version_command=None,  # it has none
        ),
        SandboxProgram(
            name="kube-state-metrics",
            module="kube-state-metrics",
            package="k8s.io/kube-state-metrics/v2",
            version="2.18.0",
            seconds=120,
            version_command=None,  # a build by Go's tool chain has no version
        ),
        SandboxProgram(
            name="karpenter",  # its core, with the provider whose machines are kwok nodes
            module="karpenter",
            package="sigs.k8s.io/karpenter/kwok",
            version="1.14.1",
            seconds=125,
            # Set by providers that sell reservations (karpenter-provider-aws pkg/apis/v1/doc.go).
            linker="-s -w -X sigs.k8s.io/karpenter/pkg/cloudprovider.ReservationIDLabel="
            "karpenter.k8s.aws/capacity-reservation-id",
            version_command=None,  # it has none
        ),
        SandboxProgram(
            name="nfd-master",
            module="node-feature-discovery",
            package="sigs.k8s.io/node-feature-discovery/cmd/nfd-master",
            version="0.18.3",
            seconds=150,
            version_command=None,  # it names the version of a build by its own Makefile only
        ),
        SandboxProgram(
            name="vcsim",
            module="vsphere",
            package=".",
            version="0.56.0",  # of govmomi
            seconds=18,
            version_command=None,  # it only reads an inventory
        ),
        SandboxProgram(
            name="nvidia-parsers",
            module="nvidia-parsers",
            package=".",
            version="0.19.0",  # of the device plugin; mig-parted is v0.13.1
            seconds=34,
            version_command=None,  # it only reads requests
        ),
        SandboxProgram(
            name="pulumi-sdks",
            module="sdks",
            package=".",
            version=_PULUMI,
            seconds=60,
            version_command=None,  # it only reads a schema
        ),
        SandboxProgram(
            name="pulumi-sdks-java-dotnet",
            module="sdks-java-dotnet",
            package=".",
            version="0.16.1",  # of pulumi-java; the .NET generator is that of Pulumi 3.132.0
            seconds=60,
            version_command=None,  # as above
        ),
        SandboxProgram(
            name="helm",  # the audit renders charts of the tree with it
            module="helm",
            package="helm.sh/helm/v3/cmd/helm",
            version="3.18.6",
            seconds=60,
            linker="-s -w -X helm.sh/helm/v3/internal/version.version=v3.18.6",
            version_command=("version", "--short"),
            accepted=VersionRange((3, 14, 0), (5,), "the options of `helm template`"),
            vendor=Vendor(
                "https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz",
                "https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz.sha256sum",
                member="{os}-{arch}",
            ),
        ),
        SandboxProgram(
            name="conftest",  # benchmarks compare the audit with it
            module="conftest",
            package="github.com/open-policy-agent/conftest",
            version="0.56.0",
            seconds=71,
            version_command=None,  # a build by Go's tool chain has no version
        ),
        SandboxProgram(
            name="kube-score",  # as above
            module="kube-score",
            package="github.com/zegl/kube-score/cmd/kube-score",
            version="1.20.0",
            seconds=15,
            version_command=None,
        ),
    )
}
"""All programs, in the order in which they are built."""

SANDBOX_PROGRAMS: tuple[str, ...] = (
    "pulumi",
    "pulumi-resource-kubernetes",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
)
"""Programs for `gpufleet sandbox up`. The others are prepared on first use."""


def named(names: list[str] | tuple[str, ...]) -> list[SandboxProgram]:
    """The programs of these names, in building order.

    Raises:
        SandboxError: A name is not a program of ours.
    """
    if unknown := [name for name in names if name not in PROGRAMS]:
        raise SandboxError(
            f"no such program: {', '.join(unknown)}; there are {', '.join(PROGRAMS)}"
        )
    return [program for name, program in PROGRAMS.items() if name in names]


@dataclass(frozen=True, slots=True)
class ProviderPlugin:
    """The Kubernetes provider as the engine looks for it."""

    version: str = field(default_factory=lambda: _installed_sdk())

    @property
    def folder(self) -> str:
        """Folder name under `$PULUMI_HOME/plugins`."""
        return f"resource-kubernetes-v{self.version}"


def _installed_sdk() -> str:
    """Version of the installed `pulumi_kubernetes`: the engine requests exactly that provider."""
    try:
        return version("pulumi_kubernetes")
    except PackageNotFoundError:
        return PROVIDER_VERSION
