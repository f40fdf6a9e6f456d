"""Names of resources as kube-state-metrics writes them (kubernetes/kube-state-metrics v2)."""


def sanitised(name: str) -> str:
    """A resource as a label value: `nvidia_com_mig_1g_10gb`."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
