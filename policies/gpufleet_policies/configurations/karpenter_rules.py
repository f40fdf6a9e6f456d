"""The rules of kind `karpenter`: what Karpenter's API or its AWS provider does with an object."""

from gpufleet.contract.programs.karpenter_keys import CODES
from gpufleet.contract.programs.validation import reject, rule_table, warn
from gpufleet.contract.schemas import schema_rules

_CRDS = "aws/karpenter-provider-aws v1.14.1 pkg/apis/crds"
_SCHEDULING = "aws/karpenter-provider-aws v1.14.1 concepts/scheduling"
_CLASSES = "aws/karpenter-provider-aws v1.14.1 concepts/nodeclasses"
_OVERLAYS = "aws/karpenter-provider-aws v1.14.1 concepts/nodeoverlays"
_POOLS = "aws/karpenter-provider-aws v1.14.1 concepts/nodepools"
_TYPES = "aws/karpenter-provider-aws v1.14.1 reference/instance-types"
_EFA = "AWS EC2 user guide efa-acc-inst-types"

RULES = rule_table(
    reject(
        "karpenter-nothing-to-judge",
        ("KP-1",),
        "No document is a NodePool, EC2NodeClass or NodeOverlay.",
        _CRDS,
    ),
    reject(
        "karpenter-version-not-served",
        ("KP-1",),
        "An object is of an API version, or a kind, that Karpenter 1 no longer serves.",
        _CRDS,
    ),
    reject(
        "karpenter-expire-after-misplaced",
        ("KP-2",),
        "expireAfter stands under spec.disruption, where v1beta1 had it: the API server drops it "
        "unseen, and nodes live for the default of 720h.",
        _CRDS,
    ),
    *schema_rules(CODES, ("KP-2",), "Karpenter's objects", _CRDS),
    reject(
        "karpenter-static-pool",
        ("KP-3",),
        "A pool of fixed size (replicas) has a weight, or a limit on anything but nodes: the API "
        "server refuses it.",
        _CRDS,
    ),
    warn(
        "karpenter-static-gate-off",
        ("KP-3",),
        "A pool of fixed size is there, and the feature gate StaticCapacity is off by default: it "
        "gets no nodes unless the context says that it is on.",
        _POOLS,
    ),
    reject(
        "karpenter-requirement-invalid",
        ("KP-4",),
        "A requirement has an operator that does not exist, or values that do not fit it.",
        _CRDS,
    ),
    reject(
        "karpenter-label-restricted",
        ("KP-4",),
        "A requirement names a label that no pool may select by; the API server refuses it.",
        _CRDS,
    ),
    reject(
        "karpenter-gpu-name-unknown",
        ("KP-5",),
        "A value of instance-gpu-name is no name Karpenter gives to a GPU: it matches nothing.",
        _TYPES,
    ),
    reject(
        "karpenter-matches-nothing",
        ("KP-5",),
        "No machine with GPUs satisfies all requirements: the pool never launches a node.",
        _SCHEDULING,
    ),
    reject(
        "karpenter-gpu-count-drops-fractions",
        ("KP-6",),
        "A requirement on instance-gpu-count excludes machines with a part of a GPU, which the "
        "pool names: EC2 counts 0 GPUs on them.",
        _OVERLAYS,
    ),
    reject(
        "karpenter-fraction-without-overlay",
        ("KP-6",),
        "A pool of machines with a part of a GPU has no NodeOverlay: Karpenter counts no GPU there "
        "and never launches one for a pod that asks for a GPU.",
        _OVERLAYS,
    ),
    reject(
        "karpenter-memories-mixed",
        ("KP-7",),
        "A GPU, or machines, are named whose GPUs share a name and differ in memory (A100, V100): "
        "pods get either.",
        _TYPES,
    ),
    warn(
        "karpenter-zones-with-efa",
        ("KP-8",),
        "The node class gives nodes EFA interfaces, and the pool may launch in several zones, "
        "between which EFA traffic does not pass.",
        _EFA,
    ),
    reject(
        "karpenter-too-many-efa",
        ("KP-8",),
        "The node class lists more EFA interfaces than a machine of the pool has.",
        _EFA,
    ),
    reject(
        "karpenter-public-address-with-efa",
        ("KP-8",),
        "associatePublicIPAddress is true and several interfaces are listed: EC2 refuses it.",
        _EFA,
    ),
    reject(
        "karpenter-reservation-not-allowed",
        ("KP-9",),
        "The node class names reservations, and the pool does not allow the capacity type "
        "reserved: they are never used.",
        _CLASSES,
    ),
    reject(
        "karpenter-reserved-without-reservation",
        ("KP-9",),
        "The pool allows reserved capacity only, and its node class names no reservation.",
        _CLASSES,
    ),
    reject(
        "karpenter-block-with-other-capacity",
        ("KP-9",),
        "The pool requires the reservation type capacity-block and allows spot or on-demand too: "
        "nodes bought so never have that label, so there is no fallback.",
        _CLASSES,
    ),
    reject(
        "karpenter-al2-ended",
        ("KP-10",),
        "The image is Amazon Linux 2, which EKS publishes up to Kubernetes 1.32 only.",
        _CLASSES,
    ),
    reject(
        "karpenter-driver-not-for-gpu",
        ("KP-10",),
        "The driver of the image is older than a GPU of the pool needs: G7 with Bottlerocket, or "
        "with AL2023 before v20260917.",
        _CLASSES,
    ),
    reject(
        "karpenter-image-architecture",
        ("KP-10",),
        "The image is for one architecture, and every machine of the pool has the other.",
        _CLASSES,
    ),
    reject(
        "karpenter-latest-in-prod",
        ("KP-10",),
        "The image alias is latest and the context says prod: each release of the image replaces "
        "all nodes.",
        _CLASSES,
    ),
    warn(
        "karpenter-latest",
        ("KP-10",),
        "The image alias is latest, and no pool that names the class is known to be without GPUs: "
        "each release of the image replaces all nodes.",
        _CLASSES,
    ),
    reject(
        "karpenter-class-exclusive",
        ("KP-11",),
        "role and instanceProfile both or neither, or an alias next to other image terms: the API "
        "server refuses the node class.",
        _CRDS,
    ),
    warn(
        "karpenter-small-disk",
        ("KP-11",),
        "The root disk has less than 100 GiB (20 GiB where nothing is written), and images are not "
        "on local disks: images with CUDA fill it.",
        _CLASSES,
    ),
    reject(
        "karpenter-slices-without-overlay",
        ("KP-12",),
        "The pool's nodes are cut by MIG and no NodeOverlay says what they offer: pods that ask "
        "for slices never get a node.",
        _OVERLAYS,
    ),
    warn(
        "karpenter-shares-without-overlay",
        ("KP-12",),
        "The pool's nodes choose a configuration of the device plugin and no NodeOverlay says what "
        "they offer: Karpenter counts whole GPUs.",
        _OVERLAYS,
    ),
    warn(
        "karpenter-overlay-gate-off",
        ("KP-12",),
        "A NodeOverlay is there, and the feature gate NodeOverlay is off by default: it does "
        "nothing unless the context says that it is on.",
        _OVERLAYS,
    ),
    reject(
        "karpenter-overlay-resource",
        ("KP-12",),
        "A NodeOverlay sets a resource that its definition or the AWS provider refuses.",
        _OVERLAYS,
    ),
    reject(
        "karpenter-huge-pages-unknown",
        ("KP-12",),
        "A pod selects a pool of the text and asks for huge pages, as pods with EFA do, and no "
        "NodeOverlay has them: Karpenter launches no node (karpenter-provider-aws#3315).",
        _OVERLAYS,
    ),
    warn(
        "karpenter-pod-fits-no-pool",
        ("KP-5",),
        "A pod asks for more nvidia.com/gpu than a machine of any pool of the text has, or than "
        'one of the pool it selects: "no instance type has enough resources" '
        "(karpenter-provider-aws#8064).",
        _SCHEDULING,
    ),
    warn(
        "karpenter-family-unknown",
        ("KP-5",),
        "A value of instance-family is the beginning of families, such as p6, and none itself: no "
        "machine has it.",
        _TYPES,
    ),
    reject(
        "karpenter-claims-ignored",
        ("KP-13",),
        "A workload with resource claims can only run on a pool of Karpenter's, which ignores pods "
        "with claims (IGNORE_DRA_REQUESTS is on by default, and AWS's provider knows no devices).",
        "kubernetes-sigs/karpenter v1.14.1 designs/dra-scheduling.md",
    ),
)
