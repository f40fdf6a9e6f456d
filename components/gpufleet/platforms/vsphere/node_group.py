"""VsphereGpuNodeGroup: the machines of one pool on vCenter."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
from pulumi.runtime.config import get_config, is_config_secret

from gpufleet.arguments.wired_components import VsphereGpuNodeGroupArgs
from gpufleet.components_base.component import GpuPoolComponent, Options, PoolPlan, accepted
from gpufleet.components_base.inputs import declared
from gpufleet.findings import Finding, error, findings_in, rules_in
from gpufleet.fleet import Pool
from gpufleet.fleet.layout_waves import nodes_before
from gpufleet.platforms.declarations import compiled_pool
from gpufleet.platforms.vsphere.machine_arguments import (
    PoolMachine,
    keys_of,
    machine_inputs,
    options_of,
    own_hosts,
    own_inputs,
    place_inputs,
    pool_machines,
)
from gpufleet.platforms.vsphere.node_join import CLOUD_INIT, first_boot, validate_first_boot
from gpufleet.spec.platforms.vsphere import VsphereOptions
from gpufleet_vcenter.adapters import ADAPTERS
from gpufleet_vcenter.guest_data import META_DATA_KEYS
from gpufleet_vcenter.node import BATCH, GROUP, OWNER
from gpufleet_vcenter.outputs import SECRETS
from gpufleet_vcenter.settings import Endpoint, KubernetesAccess, problems_of

_finding, _rules = findings_in(__file__), rules_in(__file__)

DEFAULT_PREFIX = "gpu"
PREFLIGHT = ("preview", "create")
"""When vCenter is checked for new machines. The first is the default."""


@dataclass(frozen=True, kw_only=True)
class VsphereGroupPlan(PoolPlan):
    """The machines of one pool."""

    connection: Mapping[str, Any]
    """`VsphereConnectionArgs` in the spelling of files."""
    machines: tuple[PoolMachine, ...]
    names: str
    """Prefix of the machines' names."""


class VsphereGpuNodeGroup(GpuPoolComponent[VsphereGroupPlan]):
    """GPU machines on vCenter: `nodes.min` of them, named `<prefix>-<pool>-<number>`.

    Fewer nodes remove the highest numbers, `vsphere.exclude` any, and no machine is renumbered; or
    `vsphere.machines` names them one by one. `vsphere.creationWidth` new machines are created at a
    time. The first machine is changed or replaced alone. The others form `vsphere.rolloutWidth`
    lanes: each waits for the previous one in its lane, which limits the number of simultaneous
    changes, and one that fails stops its lane, the first one all.
    """

    node_names: pulumi.Output[list[str]]
    """Names of the machines and of their Kubernetes nodes, by ordinal."""
    provider_ids: pulumi.Output[list[str]]
    """`vsphere://<bios uuid>` of each, by ordinal."""
    instance_uuids: pulumi.Output[list[str]]
    """vCenter's instance uuid of each, by ordinal, which identifies a machine in vCenter."""

    def __init__(self, name: str, args: VsphereGpuNodeGroupArgs, opts: Options = None) -> None:
        """No provider is needed."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: VsphereGroupPlan) -> Mapping[str, object]:
        pool, connection, machines = plan.pool, plan.connection, plan.machines
        options, group = options_of(pool), _group(name)
        common = {
            **machine_inputs(pool),
            "endpoint": {k: connection[k] for k in keys_of(Endpoint) if k in connection},
            "place": _place(connection, options),
            **{key: connection[key] for key in ("kubernetes", "metaData") if key in connection},
        }
        known = pulumi.ResourceOptions(parent=self, provider=self._vcenter(name, connection))
        former = pulumi.Alias(name=f"{name}-batch", type_=BATCH)  # of 0.1.0
        shared = {"group": group, "names": plan.names, "width": options.creation_width}
        of_id = {**shared, "common": common, "life": None}
        owner = pulumi.CustomResource(OWNER, f"{name}-owner", of_id, known)
        own = {one.key: _own(pool, connection, group, common, one) for one in machines}
        nodes = {key: {**common, **inputs} for key, inputs in own.items()}
        made = pulumi.CustomResource(
            GROUP,
            f"{name}-machines",
            {
                **shared,
                "life": vars(owner)["life"],
                "ids": None,
                "order": [one.key for one in machines],
                "after": _waves(pool, machines),
                "excluded": [str(number) for number in options.exclude],
                "rolloutWidth": options.rollout_width,
                "preflight": connection.get("preflight", PREFLIGHT[0]),
                "nodes": {
                    key: {name: value for name, value in inputs.items() if name not in SECRETS}
                    for key, inputs in nodes.items()
                },
                "boot": pulumi.Output.secret(
                    {
                        key: {
                            name: inputs[name] for name in SECRETS if inputs.get(name) is not None
                        }
                        for key, inputs in nodes.items()
                    }
                ),
            },
            pulumi.ResourceOptions.merge(known, pulumi.ResourceOptions(aliases=[former])),
        )
        ids: pulumi.Output[Any] = pulumi.Output.unsecret(vars(made)["ids"])
        return {
            "node_names": [machine.name for machine in machines],
            "provider_ids": ids.apply(lambda known: _listed(known, machines, "providerId")),
            "instance_uuids": ids.apply(lambda known: _listed(known, machines, "instanceUuid")),
        }

    def _vcenter(self, name: str, connection: Mapping[str, Any]) -> pulumi.ProviderResource | None:
        """The provider with the credentials of the stack's settings, which it does not read itself;
        None: they are in the environment, or in settings of this package."""
        key = connection.get("credentialsKey", "vsphere")
        password = get_config(f"{key}:password")
        if password is None:
            return None
        given = {
            f"{key}User": get_config(f"{key}:user"),
            f"{key}Password": pulumi.Output.secret(password),
        }
        opts = pulumi.ResourceOptions(parent=self)
        return pulumi.ProviderResource("gpufleet", f"{name}-vcenter", given, opts)


def vsphere_group_plan(
    pool: Pool, prefix: str, connection: Mapping[str, Any]
) -> tuple[VsphereGroupPlan, list[Finding]]:
    """The plan of a pool, and errors that prevent its creation.

    Args:
        pool: The compiled pool.
        prefix: Prefix of the machines' names.
        connection: `VsphereConnectionArgs` in the spelling of files.
    """
    findings = [*validate_first_boot(connection, pool), *_validate(connection, options_of(pool))]
    try:
        machines = pool_machines(prefix, pool)
    except ValueError as problem:
        machines = ()
        findings.insert(0, error("vsphere-name-too-long", "namePrefix", str(problem)))
    names = f"{prefix}-{pool.name}-"
    plan = VsphereGroupPlan(pool=pool, connection=connection, machines=machines, names=names)
    return plan, findings


def _planned(component: str, args: VsphereGpuNodeGroupArgs) -> VsphereGroupPlan:
    given = declared(component, VsphereGpuNodeGroupArgs, args)
    fleet = compiled_pool(component, "vsphere", given, "addons")
    prefix = given.get("namePrefix", DEFAULT_PREFIX)
    plan, findings = vsphere_group_plan(fleet.pools[0], prefix, given["connection"])
    return replace(plan, warnings=accepted(component, [*fleet.findings, *findings]))


def _validate(connection: Mapping[str, Any], options: VsphereOptions) -> Iterator[Finding]:
    """Errors in the connection, before any resource is created."""
    chosen = connection.get("preflight", PREFLIGHT[0])
    known = {"chosen": chosen, "preflight": PREFLIGHT, "adapters": ADAPTERS}
    yield from _rules("connection", "", connection=connection, options=options, **known)
    yield from _validate_password(connection)
    yield from _validate_meta_data(connection, options)
    cluster = connection.get("kubernetes") or {"kubeconfig": "none"}
    for path, reason in problems_of(KubernetesAccess, cluster):
        where = ".".join(filter(None, ("connection.kubernetes", path)))
        yield error("vsphere-kubernetes-invalid", where, reason)


def _validate_password(connection: Mapping[str, Any]) -> Iterator[Finding]:
    """The engine writes the settings of a provider into the state: secrets encrypted, others in
    plain text."""
    setting = f"{connection.get('credentialsKey', 'vsphere')}:password"
    if get_config(setting) is not None and not is_config_secret(setting):
        yield _finding("vsphere-password-not-secret", setting, setting=setting)


def _validate_meta_data(
    connection: Mapping[str, Any], options: VsphereOptions
) -> Iterator[Finding]:
    meta_data: Mapping[str, Any] = connection.get("metaData") or {}
    addressed = any(network.addresses for network in options.networks)
    ours = META_DATA_KEYS | {"network"} if addressed else META_DATA_KEYS
    if taken := sorted(ours & meta_data.keys()):
        yield _finding("vsphere-meta-data-taken", taken=taken)
    if meta_data and connection.get("userDataFormat", CLOUD_INIT) != CLOUD_INIT:
        yield _finding("vsphere-meta-data-unread")


def _waves(pool: Pool, machines: Sequence[PoolMachine]) -> dict[str, list[str]]:
    """Key -> keys of the machines that a change in waves changes before it."""
    before = {one.key: nodes_before(pool, one.position) for one in machines}
    return {key: [machines[i].key for i in waits] for key, waits in before.items() if waits}


def _listed(
    ids: Mapping[str, Mapping[str, str]] | None, machines: Sequence[PoolMachine], name: str
) -> list[str]:
    """An id of each machine; none if the group does not exist yet."""
    known = ids or {}
    return [known[one.key][name] for one in machines if one.key in known]


def _group(name: str) -> str:
    """Identity of the group. The project's names belong to it: another stack with the same names on
    the same vCenter would be the same group."""
    return f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}/{name}"


def _own(
    pool: Pool,
    connection: Mapping[str, Any],
    group: str,
    common: Mapping[str, Any],
    machine: PoolMachine,
) -> dict[str, Any]:
    """Inputs of one machine that the others of the group do not share."""
    hosts = own_hosts(machine)
    return {
        **own_inputs(machine, pool),
        **({"place": {**common["place"], **hosts}} if hosts else {}),
        "owner": f"{group}/{machine.key}",
        **first_boot(pool, connection, machine),
    }


def _place(connection: Mapping[str, Any], options: VsphereOptions) -> dict[str, Any]:
    given = {"network": connection.get("network"), "adapter": connection.get("networkAdapter")}
    place: dict[str, Any] = {
        "datacenter": connection["datacenter"],
        "cluster": connection["computeCluster"],
        "resourcePool": connection.get("resourcePool"),
        **({} if options.networks else given),
        **place_inputs(options),
    }
    return {key: value for key, value in place.items() if value is not None}
