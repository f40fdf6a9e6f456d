"""What a pool is for, who adds its nodes, and what joins them. Apart from the models of a pool, so
that facts of platforms do not import them."""

from enum import StrEnum


class Intent(StrEnum):
    """What the pool is for: sets disruption, spot and packing defaults."""

    TRAINING = "training"
    """Long jobs on whole GPUs: never disrupted, never spot by default."""
    BATCH = "batch"
    """Jobs that can be restarted."""
    INFERENCE = "inference"
    """Services with replicas: nodes may be replaced when the replicas can move."""
    INTERACTIVE = "interactive"
    """People at notebooks: nodes go only when empty."""


class Provisioner(StrEnum):
    """Who adds and removes nodes."""

    MANAGED = "managed"
    """The cloud's own node group or node pool, with its own scaling limits."""
    KARPENTER = "karpenter"
    AUTO_MODE = "autoMode"
    """EKS Auto Mode: the Karpenter that AWS runs in the control plane, with its images and
    plugins."""
    CLUSTER_AUTOSCALER = "clusterAutoscaler"
    COMPUTE_CLASS = "computeClass"
    """GKE, which makes and removes node pools by a ComputeClass; the one way on Autopilot."""

    @property
    def by_node_pool(self) -> bool:
        """Whether a Karpenter, the fleet's or that of AWS, makes nodes by a NodePool."""
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
