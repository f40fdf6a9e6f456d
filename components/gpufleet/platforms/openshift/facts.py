"""Plain facts of OpenShift on vSphere, and what OpenShift on clouds shares with it."""

from gpufleet.contract.platform_facts import BetaClaims, PlatformFacts, Repairer
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner

HEALTH_CHECK = Repairer(
    who="a MachineHealthCheck",
    watches="a node that is not ready, and a machine that does not become a node",
    repairs="deletes the machine, whose MachineSet creates another",
    cannot="see a broken GPU while the node is ready",
    after="`health.unhealthySeconds` of the pool's machines, 5 minutes by default",
    keeps="nothing without `maxUnhealthy`",
    source="openshift/machine-api-operator 7dc0e85; Red Hat documentation, MachineHealthCheck, "
    "maxUnhealthy",
    sets_floor=True,
    sets_pace=True,
)
_PROVISIONERS = (Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER)

FACTS = PlatformFacts(
    platform=Platform.OPENSHIFT,
    title="OpenShift",
    provisioners=_PROVISIONERS,
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onPrem",),
    default_image="rhcos",
    rdma_by_network_operator=True,
    vgpu=True,
    lifecycle_manager=True,
    repairers=dict.fromkeys(_PROVISIONERS, HEALTH_CHECK),
    repair_options=("openshift.health.enabled", "openshift.health.max_unhealthy"),
    # The operator's Multus writes the directory that OpenShift's Multus reads, `/etc/cni/net.d`
    # (Mellanox/network-operator-docs 0c0ecad `docs/openshift/deployment-guide-openshift.rst`:
    # Multus and CNI plugins are there, and none of its policies has `secondaryNetwork`;
    # Mellanox/network-operator b06827e `pkg/utils/utils.go`; openshift/cluster-network-operator
    # `bindata/network/multus`: the image of whereabouts).
    network_parts=frozenset({"multus", "cniPlugins", "whereabouts"}),
    console_dashboards=True,
    # OpenShift 4.20 is the last release before Kubernetes has claims by default.
    beta_claims=BetaClaims(
        "1.33",
        "set `featureSet: TechPreviewNoUpgrade` in the FeatureGate `cluster`, which cannot be "
        "undone and stops updates of the cluster",
        "openshift/openshift-docs pull request 99730 (4.20); openshift/api `features/features.go` "
        "before 4.21",
    ),
)
