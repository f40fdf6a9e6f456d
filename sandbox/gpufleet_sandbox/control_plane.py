"""The processes of a sandbox: which there are, in what order, and their exact arguments.

Flags as measured on Kubernetes 1.36, etcd 3.6 and kwok 0.8 (2026-11-21). Feature gates stay at
their defaults: partitionable devices and extended resources of DRA are on in 1.36.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.ports import LOOPBACK

DEFINITIONS = "custom resource definitions"
"""Not a process: ready once the API server serves our custom resources."""

SERVICE_RANGE = "10.0.0.0/16"
POD_RANGE = "10.244.0.0/16"
"""Simulated pods get addresses from here; nothing listens on them."""
_ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class ControlPlanePlan:
    """All that the arguments of the processes depend on."""

    layout: SandboxLayout
    certificates: Certificates
    ports: dict[str, int]
    """Port name to number; see `Component.ports`."""
    selected: frozenset[str]
    """Names of the components that run."""

    def url(self, port: str, scheme: str = "https") -> str:
        """Loopback address of a named port."""
        return f"{scheme}://{LOOPBACK}:{self.ports[port]}"


@dataclass(frozen=True, slots=True)
class Component:
    """One process of the control plane."""

    name: str
    """Also the name of its log, and of its program unless that is the Python interpreter."""
    arguments: Callable[[ControlPlanePlan], list[str]]
    """Arguments after the program."""
    ports: tuple[str, ...]
    """Names of the ports it listens on; the first is the one requested its health."""
    needs: frozenset[str]
    """Components that must be ready before it starts."""
    health: str | None
    """Path that returns 200 over TLS when it is ready; None: ready when its port listens, or when
    it still runs a moment after its start."""
    configuration: Callable[[SandboxLayout, Certificates], tuple[Path, ...]]
    """Files whose content decides how it runs: when one changes, it is started again."""
    python: bool = False
    """Run by this Python interpreter, not as a separate program."""


def _etcd(plan: ControlPlanePlan) -> list[str]:
    keys = plan.certificates
    client, peer = plan.url("etcd-client"), plan.url("etcd-peer")
    tls = [
        item
        for prefix in ("", "peer-")
        for item in (
            f"--{prefix}cert-file={keys.certificate('server')}",
            f"--{prefix}key-file={keys.key('server')}",
            f"--{prefix}trusted-ca-file={keys.authority}",
            f"--{prefix}client-cert-auth=true",
        )
    ]
    return [
        "--name=default",
        f"--data-dir={plan.layout.etcd}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # a sandbox survives a killed process, not a power failure
        "--log-level=warn",
        *tls,
    ]


def _apiserver(plan: ControlPlanePlan) -> list[str]:
    keys = plan.certificates
    arguments = [
        f"--etcd-servers={plan.url('etcd-client')}",
        f"--etcd-cafile={keys.authority}",
        f"--etcd-certfile={keys.certificate('admin')}",
        f"--etcd-keyfile={keys.key('admin')}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={plan.ports['kube-apiserver']}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={keys.certificate('server')}",
        f"--tls-private-key-file={keys.key('server')}",
        f"--client-ca-file={keys.authority}",
        "--authorization-mode=Node,RBAC",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--service-account-issuer={_ISSUER}",
        f"--service-account-key-file={keys.service_account_public_key}",
        f"--service-account-signing-key-file={keys.service_account_key}",
        # For aggregated APIs. One authority signs everything here, hence the single allowed name.
        f"--requestheader-client-ca-file={keys.authority}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={keys.certificate('front-proxy')}",
        f"--proxy-client-key-file={keys.key('front-proxy')}",
        "--allow-privileged=true",
        "--profiling=false",
    ]
    if "kube-controller-manager" not in plan.selected:
        # Nothing would make the default service accounts, and every pod would be refused.
        arguments.append("--disable-admission-plugins=ServiceAccount")
    return arguments


def _with_kubeconfig(plan: ControlPlanePlan, identity: str, port: str) -> list[str]:
    path = component_kubeconfig(plan.layout, identity)
    return [
        f"--kubeconfig={path}",
        f"--authentication-kubeconfig={path}",
        f"--authorization-kubeconfig={path}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={plan.ports[port]}",
        "--leader-elect=false",
        "--profiling=false",
    ]


def _controller_manager(plan: ControlPlanePlan) -> list[str]:
    keys = plan.certificates
    return [
        *_with_kubeconfig(plan, "controller-manager", "kube-controller-manager"),
        f"--root-ca-file={keys.authority}",
        f"--service-account-private-key-file={keys.service_account_key}",
        "--use-service-account-credentials=true",
        # The defaults (20, 30) make a first start wait seconds for its own service accounts.
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        f"--cluster-signing-cert-file={keys.authority}",
        f"--cluster-signing-key-file={keys.authority_key}",
    ]


def _scheduler(plan: ControlPlanePlan) -> list[str]:
    return _with_kubeconfig(plan, "scheduler", "kube-scheduler")


def _kwok(plan: ControlPlanePlan) -> list[str]:
    return [
        f"--kubeconfig={plan.layout.kubeconfig}",
        f"--config={stages(plan.layout)}",
        "--manage-all-nodes=true",
        f"--cidr={POD_RANGE}",
        f"--node-ip={LOOPBACK}",
        f"--node-port={plan.ports['kwok']}",
        f"--server-address={LOOPBACK}:{plan.ports['kwok']}",
        # Without its own leases a node turns Unknown after 54 s.
        "--node-lease-duration-seconds=40",
    ]


def _operands(plan: ControlPlanePlan) -> list[str]:
    return ["-m", "gpufleet_sandbox.operands", "--kubeconfig", str(plan.layout.kubeconfig)]


def component_kubeconfig(layout: SandboxLayout, identity: str) -> Path:
    """The kubeconfig of a component with its own identity."""
    return layout.config / f"{identity}.kubeconfig"


def stages(layout: SandboxLayout) -> Path:
    """kwok's configuration: what simulated nodes and pods do."""
    return layout.config / "kwok-stages.yaml"


def _keys(_: SandboxLayout, certificates: Certificates) -> tuple[Path, ...]:
    return (certificates.authority, certificates.certificate("server"))


def _tokens(layout: SandboxLayout, certificates: Certificates) -> tuple[Path, ...]:
    return (*_keys(layout, certificates), certificates.service_account_public_key)


COMPONENTS: tuple[Component, ...] = (
    # Its ports listen before it has read its data: only `/health` shows that it serves.
    Component("etcd", _etcd, ("etcd-client", "etcd-peer"), frozenset(), "/health", _keys),
    Component(
        "kube-apiserver",
        _apiserver,
        ("kube-apiserver",),
        frozenset({"etcd"}),
        "/readyz",
        _tokens,
    ),
    Component(
        "kube-controller-manager",
        _controller_manager,
        ("kube-controller-manager",),
        frozenset({"kube-apiserver"}),
        "/healthz",
        lambda layout, keys: (
            *_tokens(layout, keys),
            component_kubeconfig(layout, "controller-manager"),
        ),
    ),
    Component(
        "kube-scheduler",
        _scheduler,
        ("kube-scheduler",),
        frozenset({"kube-apiserver"}),
        "/healthz",
        lambda layout, _: (component_kubeconfig(layout, "scheduler"),),
    ),
    Component(
        "kwok",
        _kwok,
        ("kwok",),
        frozenset({"kube-apiserver"}),
        None,
        lambda layout, _: (layout.kubeconfig, stages(layout)),
    ),
    Component(
        "operands",
        _operands,
        (),
        frozenset({"kube-apiserver", DEFINITIONS}),
        None,
        lambda layout, _: (layout.kubeconfig,),
        python=True,
    ),
)
"""Every process of a sandbox in the order of starting; they are stopped in the reverse order."""


def select(only: Iterable[str] | None) -> tuple[Component, ...]:
    """The components to run: all, or the named ones and those they need.

    Raises:
        SandboxError: A name is not a component.
    """
    by_name = {component.name: component for component in COMPONENTS}
    if only is None:
        return tuple(component for component in COMPONENTS if _available(component))
    wanted: set[str] = set()
    pending = list(only)
    if unknown := [name for name in pending if name not in by_name]:
        raise SandboxError(
            f"no such part of the sandbox: {', '.join(unknown)}; there are {', '.join(by_name)}"
        )
    while pending:
        name = pending.pop()
        wanted.add(name)
        pending.extend(by_name[name].needs - wanted - {DEFINITIONS})
    return tuple(component for component in COMPONENTS if component.name in wanted)


def _available(component: Component) -> bool:
    """Whether a component run by Python is part of this installation."""
    package = f"gpufleet_sandbox.{component.name}"
    return not component.python or (
        find_spec(package) is not None and find_spec(f"{package}.__main__") is not None
    )


def command_line(component: Component, plan: ControlPlanePlan) -> tuple[str, ...]:
    """Program and arguments of a component."""
    program = sys.executable if component.python else str(plan.layout.bin / component.name)
    return (program, *component.arguments(plan))
