"""What OpenShift's own Cluster Network Operator installs of secondary networks."""

NETWORK_PARTS = frozenset({"multus", "cniPlugins", "whereabouts"})
"""The operator's Multus writes into the folder that OpenShift's Multus reads, `/etc/cni/net.d`
(Mellanox/network-operator-docs 0c0ecad `docs/openshift/deployment-guide-openshift.rst`: Multus and
CNI plugins are there, and none of its policies has `secondaryNetwork`; Mellanox/network-operator
b06827e `pkg/utils/utils.go`; openshift/cluster-network-operator `bindata/network/multus`: the
image of whereabouts)."""
