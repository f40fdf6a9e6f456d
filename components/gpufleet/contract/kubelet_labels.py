"""Labels that a kubelet may set on its own node.

With any other label of Kubernetes' own domains a kubelet ends at once: "unknown 'kubernetes.io' or
'k8s.io' labels specified with --node-labels". Sources: kubernetes/kubernetes
`cmd/kubelet/app/options/options.go` (ValidateKubeletFlags) and
`staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go` (IsKubeletLabel), read 2026-11-28.
"""

WELL_KNOWN = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Single labels that it sets. Their values follow from the machine."""
OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
"""Domains, with their subdomains, of which it sets every label."""
_KUBERNETES = ("kubernetes.io", "k8s.io")


def kubelet_sets(key: str) -> bool:
    """Whether a kubelet starts with this label under `--node-labels`."""
    domain, slash, _ = key.partition("/")
    if not slash or not _under(domain, _KUBERNETES):
        return True
    return key in WELL_KNOWN or _under(domain, OWN_DOMAINS)


def _under(domain: str, parents: tuple[str, ...]) -> bool:
    return any(domain == one or domain.endswith(f".{one}") for one in parents)
