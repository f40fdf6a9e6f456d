"""Pools on EKS that cannot work: what is wrong, the pool, the code, and words of the finding."""

from typing import Any

BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
PIN = {"releaseVersion": "1.36.0-20261101"}
KARPENTER = {"provisioner": "karpenter"}

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "g6f selected by the number of GPUs": (
        {
            "instanceTypes": ["g6f.large"],
            **KARPENTER,
            "karpenter": {
                "requirements": [
                    {
                        "key": "karpenter.k8s.aws/instance-gpu-count",
                        "operator": "Gt",
                        "values": ["0"],
                    }
                ]
            },
        },
        "karpenter-gpu-count-drops-fractions",
        "EC2 reports 0 GPUs for machines with a part of a GPU",
    ),
    "both A100 sizes in one pool": (
        {"instanceTypes": ["p4d.24xlarge", "p4de.24xlarge"]},
        "instance-types-differ",
        "GPU A100-80GB next to A100-40GB",
    ),
    "an A100 without its size": ({"gpu": "A100"}, "gpu-unknown", "A100-40GB"),
    "an Arm GPU machine on an image for x86": (
        {"instanceTypes": ["g5g.xlarge"], "image": "al2-nvidia"},
        "image-architecture",
        "g5g.xlarge is arm64",
    ),
    "spot next to a Capacity Block": (
        {"instanceTypes": ["p5.48xlarge"], "capacity": [{"spot": {}}, {"capacityBlock": BLOCK}]},
        "capacity-not-combinable",
        "capacityBlock cannot be combined with spot",
    ),
    "a template with the group's disk size": (
        {"gpu": "L4", "eks": {"nodeGroup": {"diskSize": 100}}},
        "node-group-disk-size",
        "pools[0].eks.nodeGroup.diskSize",
    ),
    "EFA across zones": (
        {
            "instanceTypes": ["p4d.24xlarge"],
            "fabric": "efa",
            "zones": ["us-east-1a", "us-east-1b"],
        },
        "zones-too-many",
        "EFA traffic does not leave its zone",
    ),
    "no largest size": (
        {"gpu": "L4", **KARPENTER, "nodes": {"min": 0}},
        "spec-key-missing",
        "nodes.max",
    ),
    "expireAfter under disruption": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {"disruption": {"expireAfter": "720h"}},
        },
        "karpenter",
        "write it one level up, as karpenter.expireAfter",
    ),
    "claims with Karpenter": (
        {"gpu": "L4", **KARPENTER, "sharing": {"dra": {}}},
        "dra-with-karpenter",
        "ignores pods with resource claims",
    ),
    "the label of a pool of Karpenter's": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {"requirements": [{"key": "karpenter.sh/nodepool", "operator": "Exists"}]},
        },
        "karpenter-requirement-own",
        "follows from the pool",
    ),
    "a label Karpenter keeps to itself": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {"requirements": [{"key": "karpenter.k8s.aws/gpu", "operator": "Exists"}]},
        },
        "karpenter-label-reserved",
        "instance-gpu-name",
    ),
    "a label of Karpenter's own": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {
                "requirements": [{"key": "karpenter.sh/registered", "operator": "Exists"}]
            },
        },
        "karpenter-label-reserved",
        "is reserved for Karpenter",
    ),
    "a requirement that excludes all machines of the pool": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {
                "requirements": [
                    {
                        "key": "karpenter.k8s.aws/instance-gpu-memory",
                        "operator": "Gt",
                        "values": ["40000"],
                    }
                ]
            },
        },
        "karpenter-matches-nothing",
        "excludes every machine of one: g6.xlarge",
    ),
    "no key of a label": (
        {
            "gpu": "L4",
            **KARPENTER,
            "karpenter": {"requirements": [{"key": "a b", "operator": "Exists"}]},
        },
        "karpenter-key-invalid",
        "requirements[0].key",
    ),
    "no key of a taint": (
        {"gpu": "L4", **KARPENTER, "karpenter": {"startupTaints": [{"key": "Example.com/x"}]}},
        "karpenter-key-invalid",
        "startupTaints[0].key",
    ),
    "has no maximum price for spot": (
        {"gpu": "L4", "capacity": [{"spot": {"maxPriceUsdPerHour": "0.5"}}]},
        "spot-price-not-on-platform",
        "use a limit that does not exist",
    ),
    "an import by ARN": (
        {"gpu": "L4", "importId": "arn:aws:eks:us-east-1:123456789012:nodegroup/ml/g/0"},
        "import-id-form",
        "write it as <cluster>:<group>",
    ),
    "Karpenter's settings on a managed group": (
        {"gpu": "L4", "karpenter": {"weight": 3}},
        "options-of-other-provisioner",
        "no meaning with provisioner managed",
    ),
    "spot and on demand in one group of Cluster Autoscaler's": (
        {
            "gpu": "L4",
            "provisioner": "clusterAutoscaler",
            "capacity": [{"spot": {}}, {"onDemand": {}}],
        },
        "capacity-list-on-managed-group",
        "has one capacity type, and 2 are listed",
    ),
    "a reservation for several types": (
        {"gpu": "L4", "capacity": [{"reserved": {"id": "cr-1", "zone": "us-east-1a"}}]},
        "reservation-one-type",
        "a reservation has one instance type",
    ),
    "a reservation without its zone": (
        {"instanceTypes": ["p4d.24xlarge"], "capacity": [{"reserved": {"id": "cr-1"}}]},
        "reservation-zone-missing",
        "would launch in every zone",
    ),
    "a reservation of another cloud": (
        {
            "instanceTypes": ["p4d.24xlarge"],
            "capacity": [{"reserved": {"id": "my-reservation", "zone": "us-east-1a"}}],
        },
        "reservation-id",
        "is not an EC2 capacity reservation",
    ),
    "a reservation by its group": (
        {
            "instanceTypes": ["p4d.24xlarge"],
            "capacity": [{"reserved": {"id": "cr-mine", "zone": "us-east-1a"}}],
        },
        "reservation-id",
        "is not an EC2 capacity reservation",
    ),
    "a block outside the pool's zones": (
        {
            "instanceTypes": ["p5.48xlarge"],
            "zones": ["us-east-1b"],
            "capacity": [{"capacityBlock": BLOCK}],
        },
        "reservation-in-other-zone",
        "the reservation is in us-east-1a",
    ),
    "a zone of another region": (
        {"gpu": "L4", "zones": ["us-west-2a"]},
        "zone-not-in-region",
        "us-west-2a is not a zone of us-east-1",
    ),
    "an image no one publishes, without its id": (
        {"gpu": "L4", "image": "ubuntu-eks"},
        "image-id-missing",
        "EKS publishes no image ubuntu-eks",
    ),
    "an image of one's own with a release": (
        {"gpu": "L4", "eks": {"amiId": "ami-0123456789abcdef0", **PIN}},
        "spec",
        "keep one",
    ),
    "a release for another Kubernetes": (
        {"gpu": "L4", "eks": {"releaseVersion": "1.35.2-20261101"}},
        "image-release-for-other-kubernetes",
        "is for Kubernetes 1.35",
    ),
    "a release of the other family": (
        {"gpu": "L4", "image": "bottlerocket-nvidia", "eks": PIN},
        "image-release-unreadable",
        "write it as 1.52.0-7a6b3c1d",
    ),
    "a larger size by raw arguments": (
        {"gpu": "L4", "eks": {"nodeGroup": {"scalingConfig": {"maxSize": 100}}}},
        "raw-argument-decided",
        "scalingConfig follows from `nodes`",
    ),
    "spot by raw arguments": (
        {"gpu": "L4", "eks": {"nodeGroup": {"capacityType": "SPOT"}}},
        "raw-argument-decided",
        "write `capacity`",
    ),
    "Amazon Linux 2 by raw arguments": (
        {"gpu": "L4", "eks": {"nodeGroup": {"amiType": "AL2_x86_64_GPU"}}},
        "node-group-image-ended",
        "the cluster is 1.36",
    ),
    "another image by raw arguments": (
        {"gpu": "L4", "eks": {"launchTemplate": {"imageId": "ami-0123456789abcdef0"}}},
        "raw-argument-decided",
        "write `eks.amiId`",
    ),
    "another region by raw arguments": (
        {"gpu": "L4", "eks": {"nodeGroup": {"region": "eu-west-1"}}},
        "raw-argument-decided",
        "write `cluster.region`",
    ),
    "another region of the template": (
        {"gpu": "L4", "eks": {"launchTemplate": {"region": "eu-west-1"}}},
        "raw-argument-decided",
        "write `cluster.region`",
    ),
    "another zone of the template": (
        {"gpu": "L4", "eks": {"launchTemplate": {"placement": {"availabilityZone": "us-east-1a"}}}},
        "raw-argument-decided",
        "write `zones`",
    ),
    "any machine by raw arguments": (
        {"gpu": "L4", "eks": {"launchTemplate": {"instanceRequirements": {}}}},
        "raw-argument-decided",
        "write `instanceTypes`",
    ),
    "tags by raw arguments": (
        {"gpu": "L4", "eks": {"launchTemplate": {"tagSpecifications": []}}},
        "raw-argument-decided",
        "tagSpecifications follows from `tags`",
    ),
    "raw arguments that are wired": (
        {"gpu": "L4", "eks": {"nodeGroup": {"subnetIds": ["subnet-1"]}}},
        "raw-argument-wired",
        "follows from the connection",
    ),
    "a first type larger than the others": (
        {
            "instanceTypes": ["g6.4xlarge", "g6.xlarge"],
            "provisioner": "clusterAutoscaler",
        },
        "autoscaler-first-type-larger",
        "put g6.xlarge first",
    ),
    "claims in a group that may be empty": (
        {"gpu": "L4", "provisioner": "clusterAutoscaler", "sharing": {"dra": {}}},
        "dra-scale-from-zero",
        "does not know the devices of an empty group on AWS",
    ),
    "a block that ends before it begins": (
        {
            "instanceTypes": ["p5.48xlarge"],
            "capacity": [{"capacityBlock": {**BLOCK, "starts": "2026-12-21T11:30:00Z"}}],
        },
        "capacityBlock",
        "is not before until",
    ),
}
