"""One declaration of every field of the FleetSpec, for the table that compares platforms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from gpufleet.spec.addons import Addons
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.cluster import Cluster
from gpufleet.spec.fleet_spec import Budget, FleetSpec
from gpufleet.spec.platforms.eks import EksOptions
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet.spec.platforms.openshift_aws import OpenShiftAwsOptions
from gpufleet.spec.platforms.openshift_gcp import OpenShiftGcpOptions
from gpufleet.spec.pool import Disk, GpuPool, Nodes
from gpufleet.spec.sharing import Sharing

Data = dict[str, Any]

PARTS: Mapping[str, type[BaseModel]] = {
    "": FleetSpec,
    "cluster": Cluster,
    "budget": Budget,
    "addons": Addons,
    "pools": GpuPool,
    "pools.nodes": Nodes,
    "pools.disk": Disk,
    "pools.capacity": Capacity,
    "pools.sharing": Sharing,
}
"""Models each field of which has a row, by their place; a field that is one of them has none."""

OPTIONS: Mapping[str, type[BaseModel]] = {
    "gke": GkeOptions,
    "eks": EksOptions,
    "openshiftAws": OpenShiftAwsOptions,
    "openshiftGcp": OpenShiftGcpOptions,
}
"""Options of one cloud, in a separate table."""


@dataclass(frozen=True)
class Row:
    """One field: how it is written, and what the pool is without it."""

    shown: str
    pool: Data = field(default_factory=dict[str, Any])
    """Additions to the pool."""
    fleet: Data = field(default_factory=dict[str, Any])
    """Additions to the fleet."""
    of: Mapping[str, Data] = field(default_factory=dict[str, Data])
    """Platform -> what is added to its pool instead."""
    base: Data = field(default_factory=dict[str, Any])
    """The pool without the field, where one L4 does not do."""
    base_of: Mapping[str, Data] = field(default_factory=dict[str, Data])
    """Platform -> the pool without the field there."""


def fields(parts: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    """Every field of these models, by its place: `pools.nodes.min`."""
    for place, model in parts.items():
        for name, info in model.model_fields.items():
            path = ".".join(part for part in (place, info.alias or name) if part)
            if path not in parts:
                yield path


SCALED = {"nodes": {"min": 0, "max": 3}}
A100: dict[str, Data] = {
    "eks": {"instanceTypes": ["p4de.24xlarge"]},
    "gke": {"instanceTypes": ["a2-ultragpu-8g"]},
    "openshiftAws": {"instanceTypes": ["p4de.24xlarge"]},
    "openshiftGcp": {"instanceTypes": ["a2-ultragpu-8g"]},
    **{
        name: {"gpu": "A100-80GB", "gpusPerNode": 8} for name in ("vsphere", "openshift", "sandbox")
    },
}
ALIGNED = {"cpuManager": "static", "topologyManager": "restricted"}
CUT = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
H100: dict[str, Data] = {
    "eks": {"instanceTypes": ["p5.48xlarge"], **SCALED, "zones": ["us-east-1a"]},
    "gke": {"instanceTypes": ["a3-ultragpu-8g"], **SCALED, "capacity": [{"spot": {}}]},
    **{
        name: {"gpu": "H100-80GB", "gpusPerNode": 8} for name in ("vsphere", "openshift", "sandbox")
    },
}
H100["gke"]["zones"] = ["us-central1-a"]
H100["openshiftAws"] = H100["eks"]
H100["openshiftGcp"] = {**H100["gke"], "instanceTypes": ["a3-highgpu-8g"]}


def addon(name: str, **settings: Any) -> Row:
    written = ", ".join(f"{key}: {str(value).lower()}" for key, value in settings.items())
    return Row(f"`addons: {{{name}: {{{written}}}}}`", fleet={"addons": {name: settings}})


ROWS: dict[str, Row] = {
    "catalogueOverlay": Row(
        "`catalogueOverlay: nothing.yaml`", fleet={"catalogueOverlay": "nothing.yaml"}
    ),
    "catalogue": Row('`catalogue: "2099.01"`', fleet={"catalogue": "2099.01"}),
    "platform": Row("`platform`"),
    "environment": Row("`environment: prod`", fleet={"environment": "prod"}),
    "cluster.name": Row("`cluster: {name: other}`", fleet={"cluster": {"name": "other"}}),
    "cluster.region": Row(
        "`cluster: {region: x-1}` (unknown)", fleet={"cluster": {"region": "x-1"}}
    ),
    "cluster.kubernetesVersion": Row(
        '`cluster: {kubernetesVersion: "1.34"}`', fleet={"cluster": {"kubernetesVersion": "1.34"}}
    ),
    "cluster.project": Row("`cluster: {project: acme}`", fleet={"cluster": {"project": "acme"}}),
    "cluster.featureGates": Row(
        "`cluster: {featureGates: {DRADeviceTaints: true}}`",
        fleet={"cluster": {"featureGates": {"DRADeviceTaints": True}}},
    ),
    "cluster.autopilot": Row(
        "`cluster: {autopilot: true}`", fleet={"cluster": {"autopilot": True}}
    ),
    "provisioner": Row("`provisioner: karpenter`", fleet={"provisioner": "karpenter"}, base=SCALED),
    "queues": Row(
        "`queues: {teams: [{name: research, share: 1.0}]}`",
        fleet={"queues": {"teams": [{"name": "research", "share": 1.0}]}},
    ),
    "acceptance": Row("`acceptance: {}`", fleet={"acceptance": {}}),
    "health": Row(
        "`health: {mode: repair, floor: {asPlatform: true}}`",
        fleet={"health": {"mode": "repair", "floor": {"asPlatform": True}}},
    ),
    "monitoring": Row(
        "`monitoring: {backend: prometheus}`", fleet={"monitoring": {"backend": "prometheus"}}
    ),
    "budget.usdPerHour": Row(
        "`budget: {usdPerHour: 0.01}`", fleet={"budget": {"usdPerHour": 0.01}}
    ),
    "prices": Row("`prices: strict`", fleet={"prices": "strict"}),
    "namePrefix": Row("`namePrefix: lab`", fleet={"namePrefix": "lab"}),
    "tags": Row("`tags: {cost-center: a}`", fleet={"tags": {"cost-center": "a"}}),
    "addons.gpuOperator": addon("gpuOperator", version="26.3.1"),
    "addons.networkOperator": addon("networkOperator", enabled=True),
    "addons.devicePlugin": addon("devicePlugin", enabled=True),
    "addons.draDriver": addon("draDriver", enabled=True),
    "addons.karpenter": addon("karpenter", enabled=True),
    "addons.clusterAutoscaler": addon("clusterAutoscaler", enabled=True),
    "addons.efaDevicePlugin": addon("efaDevicePlugin", enabled=True),
    "addons.nodeMonitoringAgent": addon("nodeMonitoringAgent", enabled=True),
    "addons.neuronDevicePlugin": addon("neuronDevicePlugin", enabled=True),
    "addons.kueue": addon("kueue", enabled=True),
    "addons.keda": addon("keda", enabled=True),
    "addons.gpuDirect": Row(
        "`addons: {gpuDirect: {enabled: false}}`",
        fleet={"addons": {"gpuDirect": {"enabled": False}}},
        base_of={"gke": {**H100["gke"], "fabric": "rdma", "intent": "batch"}},
    ),
    "addons.driverInstaller": Row(
        "`addons: {driverInstaller: {enabled: false}}`",
        fleet={"addons": {"driverInstaller": {"enabled": False}}},
        base_of={"gke": {"gke": {"driver": "gpuOperator"}}},
    ),
    "addons.olm": Row(
        "`addons: {olm: {approval: manual}}`",
        fleet={"addons": {"olm": {"approval": "manual"}}},
    ),
    "addons.charts": Row(
        "`addons: {charts: {source: {folder: /charts}}}`",
        fleet={"addons": {"charts": {"source": {"folder": "/charts"}}}},
    ),
    "addons.images": Row(
        "`addons: {images: {registry: registry.example.com}}`",
        fleet={"addons": {"images": {"registry": "registry.example.com"}}},
    ),
    "pools.name": Row("`name: talk`", {"name": "talk"}),
    "pools.gpu": Row("`gpu: L40S` alone", {"gpu": "L40S", "instanceTypes": None}),
    "pools.instanceTypes": Row(
        "`instanceTypes` (another)",
        of={
            "eks": {"instanceTypes": ["g6.4xlarge"]},
            "gke": {"instanceTypes": ["g2-standard-16"]},
            "openshiftAws": {"instanceTypes": ["g6.4xlarge"]},
            "openshiftGcp": {"instanceTypes": ["g2-standard-16"]},
            **{
                name: {"instanceTypes": ["g6.4xlarge"]}
                for name in ("vsphere", "openshift", "sandbox")
            },
        },
    ),
    "pools.gpusPerNode": Row(
        "`gpu: L4, gpusPerNode: 4`", {"gpu": "L4", "gpusPerNode": 4, "instanceTypes": None}
    ),
    "pools.nodes.min": Row("`nodes: {min: 2}`", {"nodes": {"min": 2, "max": 3}}),
    "pools.nodes.max": Row("`nodes: {max: 5}`", {"nodes": {"min": 1, "max": 5}}),
    "pools.nodes.expected": Row(
        "`nodes: {expected: 3}`", {"nodes": {"min": 1, "max": 3, "expected": 3}}
    ),
    "pools.intent": Row("`intent: training`", {"intent": "training"}),
    "pools.provisioner": Row(
        "`provisioner: clusterAutoscaler`", {"provisioner": "clusterAutoscaler"}
    ),
    "pools.capacity.onDemand": Row(
        "`capacity: [{onDemand: {}}]` instead of spot",
        {"capacity": [{"onDemand": {}}]},
        base={"capacity": [{"spot": {}}]},
        base_of={name: {"capacity": [{"onPrem": {}}]} for name in ("vsphere", "openshift")},
    ),
    "pools.capacity.spot": Row("`capacity: [{spot: {}}]`", {"capacity": [{"spot": {}}]}),
    "pools.capacity.reserved": Row(
        "`capacity: [{reserved: {id, zone}}]`",
        {"capacity": [{"reserved": {"id": "gpus", "zone": "local-a"}}]},
        of={
            "eks": {
                "capacity": [{"reserved": {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "us-east-1a"}}]
            },
            "gke": {"capacity": [{"reserved": {"id": "gpus", "zone": "us-central1-a"}}]},
            "openshiftAws": {
                "capacity": [{"reserved": {"id": "cr-0aaaaaaaaaaaaaaaa", "zone": "us-east-1a"}}]
            },
        },
    ),
    "pools.capacity.capacityBlock": Row(
        "`capacity: [{capacityBlock: {id, zone, until}}]`",
        {
            "capacity": [
                {
                    "capacityBlock": {
                        "id": "cr-0123456789abcdef0",
                        "zone": "us-east-1a",
                        "until": "2026-12-20T11:30:00Z",
                    }
                }
            ]
        },
        base_of=H100,
    ),
    "pools.capacity.flexStart": Row(
        "`capacity: [{flexStart: {}}]`", {"capacity": [{"flexStart": {}}]}, base=SCALED
    ),
    "pools.capacity.queued": Row(
        "`capacity: [{queued: {}}]`", {"capacity": [{"queued": {}}]}, base=SCALED
    ),
    "pools.capacity.onPrem": Row(
        '`capacity: [{onPrem: {usdPerGpuHour: "1.5"}}]`',
        {"capacity": [{"onPrem": {"usdPerGpuHour": "1.5"}}]},
    ),
    "pools.sharing.exclusive": Row(
        "`sharing: {exclusive: {}}` instead of timeSlicing",
        {"sharing": {"exclusive": {}}},
        base={"sharing": {"timeSlicing": {"replicas": 2}}},
    ),
    "pools.sharing.timeSlicing": Row(
        "`sharing: {timeSlicing: {replicas: 4}}`", {"sharing": {"timeSlicing": {"replicas": 4}}}
    ),
    "pools.sharing.mps": Row(
        "`sharing: {mps: {replicas: 4}}`", {"sharing": {"mps": {"replicas": 4}}}
    ),
    "pools.sharing.mig": Row(
        '`sharing: {mig: {layouts: [{devices: {"1g.10gb": 7}}]}}` on A100-80GB',
        {"sharing": CUT},
        base_of=A100,
    ),
    "pools.sharing.vgpu": Row(
        "`sharing: {vgpu: {profile: L4-6C}}`",
        {"sharing": {"vgpu": {"profile": "L4-6C"}}},
        {
            "addons": {
                "gpuOperator": {
                    "driver": {
                        "repository": "registry.example.com/nvidia",
                        "image": "vgpu-guest-driver",
                        "version": "580.95.05",
                    },
                    "imagePullSecret": "private",
                }
            }
        },
        of={
            "vsphere": {
                "sharing": {"vgpu": {"profile": "L4-6C"}},
                "vsphere": {
                    "cpus": 8,
                    "memoryGib": 32,
                    "template": "ubuntu",
                    "attachment": "vgpu",
                },
            },
            "openshift": {
                "sharing": {"vgpu": {"profile": "L4-6C"}},
                "openshift": {
                    "cpus": 8,
                    "memoryGib": 32,
                    "template": "rhcos",
                    "attachment": "vgpu",
                },
            },
        },
    ),
    "pools.sharing.dra": Row("`sharing: {dra: {}}`", {"sharing": {"dra": {}}}),
    "pools.kubelet": Row(
        "`kubelet: {cpuManager: static, topologyManager: restricted}`",
        {"kubelet": ALIGNED},
        of={
            "vsphere": {"kubelet": {**ALIGNED, "reservedCpus": 1}},
        },
        base_of={
            "openshift": {
                "openshift": {
                    "cpus": 16,
                    "memoryGib": 32,
                    "template": "rhcos",
                    "machineConfig": {},
                }
            }
        },
    ),
    "pools.fabric": Row(
        "`fabric` (the platform's own, on 8 H100 or H200)",
        {"fabric": "rdma"},
        of={"eks": {"fabric": "efa"}, "sandbox": {"fabric": "rdma"}},
        base_of=H100,
    ),
    "pools.ownership": Row("`ownership: existing`", {"ownership": "existing"}),
    "pools.importId": Row(
        "`importId`",
        {"importId": "old"},
        of={"eks": {"importId": "ml:old"}, "gke": {"importId": "us-central1/ml/old"}},
    ),
    "pools.image": Row(
        "`image` (another)",
        {"image": "ubuntu-vsphere"},
        of={
            "eks": {"image": "bottlerocket-nvidia"},
            "gke": {"image": "ubuntu-gke"},
            "openshift": {"image": "rhcos"},
            "openshiftAws": {"image": "rhcos"},
            "openshiftGcp": {"image": "rhcos"},
            "sandbox": {"image": "sandbox"},
        },
    ),
    "pools.zones": Row(
        "`zones` (one)",
        {"zones": ["local-b"]},
        of={
            "eks": {"zones": ["us-east-1a"]},
            "gke": {"zones": ["us-central1-a"]},
            "openshiftAws": {"zones": ["us-east-1b"]},
            "openshiftGcp": {"zones": ["us-central1-b"]},
        },
    ),
    "pools.disk.sizeGib": Row("`disk: {sizeGib: 400}`", {"disk": {"sizeGib": 400}}),
    "pools.labels": Row("`labels`", {"labels": {"example.com/tier": "web"}}),
    "pools.gpuTaint": Row("`gpuTaint: false`", {"gpuTaint": False}),
    "pools.change": Row(
        "`change: {previous: {timeSlicing: {replicas: 2}}}` to 4",
        {"change": {"previous": {"timeSlicing": {"replicas": 2}}}},
        base={"sharing": {"timeSlicing": {"replicas": 4}}},
    ),
    "pools.taints": Row("`taints`", {"taints": [{"key": "example.com/team", "value": "a"}]}),
    "pools.acceptance": Row("`acceptance: {}`", {"acceptance": {}}),
    "pools.health": Row("`health: {mode: observe}`", {"health": {"mode": "observe"}}),
    "pools.idle": Row(
        "`idle: {afterMinutes: 30, notebooks: [{name: lab, namespace: ml}]}`",
        {"idle": {"afterMinutes": 30, "notebooks": [{"name": "lab", "namespace": "ml"}]}},
    ),
    "pools.team": Row("`team: product`", {"team": "product"}),
    "pools.maintenance": Row(
        "`maintenance: [{starts, until}]`, at a moment in it",
        {"maintenance": [{"starts": "2026-12-08T21:00:00Z", "until": "2026-12-09T03:00:00Z"}]},
    ),
    "pools.commitments": Row(
        "`commitments: [{team: product, gpus: 1}]`",
        {"commitments": [{"team": "product", "gpus": 1}]},
    ),
    "pools.neuron": Row("`neuron: {unit: core}`", {"neuron": {"unit": "core"}}),
    "pools.eks": Row("`eks: {nodeRepair: false}`", {"eks": {"nodeRepair": False}}),
    "pools.karpenter": Row("`karpenter: {weight: 10}`", {"karpenter": {"weight": 10}}),
    "pools.gke": Row("`gke: {maxPods: 32}`", {"gke": {"maxPods": 32}}),
    "pools.vsphere": Row(
        "`vsphere: {maxPerHost: 2, ...}`",
        {"vsphere": {"cpus": 8, "memoryGib": 32, "template": "ubuntu", "maxPerHost": 2}},
    ),
    "pools.existing": Row("`existing: {cpus: 8}`", {"existing": {"cpus": 8}}),
    "pools.openshift": Row(
        "`openshift: {cpus: 16, ...}`",
        {"openshift": {"cpus": 16, "memoryGib": 32, "template": "rhcos"}},
    ),
    "pools.openshiftAws": Row(
        "`openshiftAws: {tenancy: dedicated}`", {"openshiftAws": {"tenancy": "dedicated"}}
    ),
    "pools.openshiftGcp": Row(
        "`openshiftGcp: {diskType: pd-ssd}`", {"openshiftGcp": {"diskType": "pd-ssd"}}
    ),
}
"""Place of a field -> how it is tried."""
