"""Intent, provisioner and fabric of a pool. Separate from the models of a pool, so that facts of
platforms do not import them."""

from enum import StrEnum


class Intent(StrEnum):
    """Purpose of the pool: sets defaults of disruption, spot and packing."""

    TRAINING = "training"
    """Long jobs on whole GPUs: never disrupted, never spot by default."""
    BATCH = "batch"
    """Jobs that can be restarted."""
    INFERENCE = "inference"
    """Services with replicas: nodes may be replaced if the replicas can move."""
    INTERACTIVE = "interactive"
    """Notebooks of users: only empty nodes are removed."""


class Provisioner(StrEnum):
    """Program that adds and removes nodes."""

    MANAGED = "managed"
    """The cloud's own node group or node pool, with its own scaling limits."""
    KARPENTER = "karpenter"
    AUTO_MODE = "autoMode"
    """EKS Auto Mode: Karpenter, run by AWS in the control plane, with its images and
    plugins."""
    CLUSTER_AUTOSCALER = "clusterAutoscaler"
    COMPUTE_CLASS = "computeClass"
    """GKE, which creates and removes node pools by a ComputeClass; the only way on Autopilot."""

    @property
    def by_node_pool(self) -> bool:
        """Whether Karpenter, the fleet's or that of AWS, creates nodes by a NodePool."""
        return self in {Provisioner.KARPENTER, Provisioner.AUTO_MODE}


class Fabric(StrEnum):
    """Network between GPU nodes."""

    NONE = "none"
    EFA = "efa"
    """AWS Elastic Fabric Adapter."""
    TCPX = "tcpx"
    """Google GPUDirect-TCPX (A3 High)."""
    TCPXO = "tcpxo"
    """Google GPUDirect-TCPXO (A3 Mega)."""
    RDMA = "rdma"
    """RoCE or InfiniBand: Google A3 Ultra and A4, or own hardware through the Network Operator."""
