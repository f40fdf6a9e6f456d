"""The releases that the schemas of custom resources are taken from."""

from dataclasses import dataclass

READ = "2026-11-21"
"""Day on which the files of the folder were taken from the repositories."""
OPENSHIFT_API = "github.com/openshift/api@v0.0.0-20251214014457-bfa868a22401"
"""The commit that KubeRay's module needs, of which Go's module proxy has an archive."""


@dataclass(frozen=True)
class Source:
    """Source of the definitions of one file of the catalogue."""

    repository: str
    release: str
    path: str
    files: tuple[str, ...]
    """Patterns below the folder of definitions, or below `module` of the module cache."""
    module: str = ""
    machines: bool = False
    """Whether the types that a MachineSet embeds are of this file, too."""
    configuration: bool = False
    """Whether the configuration of Kueue's manager is of this file, too."""
    own: bool = False
    """Whether the files are those of the folder `definitions` here, written from the vendor's."""
    commit: str = ""
    date: str = READ


SOURCES: dict[str, Source] = {
    "nvidia.com": Source(
        "NVIDIA/gpu-operator",
        "v26.7.0",
        "deployments/gpu-operator/crds",
        ("nvidia.com_*.yaml",),
        commit="10ee5b3638b89e11e949412aafa5ba99279c3721",
    ),
    "nvidia.com-dynamo": Source(
        "ai-dynamo/dynamo",
        "0fddc01",
        "deploy/operator/api/v1alpha1",
        ("nvidia.com_dynamographdeployment*.yaml",),
        own=True,
        commit="0fddc01b37244c4cfa5bcfd1c2e4f1a577ee833c",
        date="2026-11-29",
    ),
    "batch.volcano.sh": Source(
        "volcano-sh/apis",
        "v1.12.1",
        "pkg/apis/batch/v1alpha1",
        ("batch.volcano.sh_jobs.yaml",),
        own=True,
        date="2026-11-29",
    ),
    "grove.io": Source(
        "ai-dynamo/grove",
        "13415b4",
        "operator/api/core/v1alpha1",
        ("grove.io_podcliquesets.yaml",),
        own=True,
        commit="13415b4b31d91ec0cdd932a1a6351b79f1f72d7e",
        date="2026-11-29",
    ),
    "resource.nvidia.com": Source(
        "kubernetes-sigs/dra-driver-nvidia-gpu",
        "v0.5.0",
        "deployments/helm/dra-driver-nvidia-gpu/crds",
        (
            "resource.nvidia.com_computedomains.yaml",
            "resource.nvidia.com_computedomaincliques.yaml",
        ),
        module="sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0/deployments/helm/dra-driver-nvidia-gpu/crds",
        date="2026-11-28",
    ),
    "mellanox.com": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/crds",
        ("mellanox.com_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "k8s.cni.cncf.io": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/crds",
        ("k8s.cni.cncf.io_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "maintenance.nvidia.com": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/charts/maintenance-operator-chart/crds",
        ("maintenance.nvidia.com_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "sriovnetwork.openshift.io": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/charts/sriov-network-operator/crds",
        ("sriovnetwork.openshift.io_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "karpenter.sh": Source(
        "aws/karpenter-provider-aws",
        "v1.14.1",
        "pkg/apis/crds",
        ("karpenter.sh_*.yaml",),
        commit="bde00654cd316fddb3dccfba3f5ac07039865429",
        date="2026-08-20",
    ),
    "karpenter.k8s.aws": Source(
        "aws/karpenter-provider-aws",
        "v1.14.1",
        "pkg/apis/crds",
        ("karpenter.k8s.aws_*.yaml",),
        commit="bde00654cd316fddb3dccfba3f5ac07039865429",
        date="2026-08-20",
    ),
    "kueue.x-k8s.io": Source(
        "kubernetes-sigs/kueue",
        "v0.19.2",
        "config/components/crd/bases",
        ("config/components/crd/bases/*.yaml",),
        module="sigs.k8s.io/kueue@v0.19.2",
        configuration=True,
    ),
    "keda.sh": Source("kedacore/keda", "v2.20.2", "config/crd/bases", ("keda.sh_*.yaml",)),
    "monitoring.coreos.com": Source(
        "prometheus-operator/prometheus-operator",
        "v0.93.0",
        "example/prometheus-operator-crd",
        ("monitoring.coreos.com_*.yaml",),
    ),
    "operator.victoriametrics.com": Source(
        "VictoriaMetrics/operator",
        "v0.74.1",
        "config/crd/overlay/crd.descriptionless.yaml",
        ("operator.victoriametrics.com_*.yaml",),
    ),
    "jobset.x-k8s.io": Source(
        "kubernetes-sigs/jobset",
        "v0.12.0",
        "config/components/crd/bases",
        ("config/components/crd/bases/*.yaml",),
        module="sigs.k8s.io/jobset@v0.12.0",
    ),
    "networking.gke.io": Source(
        "GoogleCloudPlatform/gke-networking-api",
        "6b5fc8e",
        "config/crds",
        ("networking.gke.io_*.yaml",),
        own=True,
        commit="6b5fc8e505685396d716ad450ea4cc3a8cf942e0",
        date="2026-11-23",
    ),
    "autoscaling.openshift.io": Source(
        "openshift/cluster-autoscaler-operator",
        "dd9f730",
        "install",
        ("autoscaling.openshift.io_*.yaml",),
        own=True,
        commit="dd9f730cf95f85b5b9fbbe55fa6ed19921dc6ccf",
        date="2026-11-23",
    ),
    "machine.openshift.io": Source(
        "openshift/api",
        "bfa868a",
        "machine/v1beta1",
        (
            "machine/v1beta1/zz_generated.crd-manifests/*_machinehealthchecks.crd.yaml",
            "machine/v1beta1/zz_generated.crd-manifests/*_machines-Default.crd.yaml",
            "machine/v1beta1/zz_generated.crd-manifests/*_machinesets-Default.crd.yaml",
        ),
        module=OPENSHIFT_API,
        machines=True,
        commit="bfa868a224015e94456731c1b5b0c849f901b417",
        date="2025-12-14",
    ),
    "machineconfiguration.openshift.io": Source(
        "openshift/api",
        "bfa868a",
        "machineconfiguration/v1",
        (
            "machineconfiguration/v1/zz_generated.crd-manifests/*_kubeletconfigs.crd.yaml",
            "machineconfiguration/v1/zz_generated.crd-manifests/*_machineconfigs.crd.yaml",
            "machineconfiguration/v1/zz_generated.crd-manifests/*_machineconfigpools-Default.crd.yaml",
        ),
        module=OPENSHIFT_API,
        commit="bfa868a224015e94456731c1b5b0c849f901b417",
        date="2025-12-14",
    ),
    "operators.coreos.com": Source(
        "operator-framework/api",
        "039d150",
        "pkg/operators",
        ("operators.coreos.com_*.yaml",),
        own=True,
        commit="039d150defbba9f1e8cd63cf8655556c90434a2d",
        date="2026-11-23",
    ),
    "ray.io": Source(
        "ray-project/kuberay",
        "v1.6.2",
        "ray-operator/config/crd/bases",
        (
            "config/crd/bases/ray.io_rayclusters.yaml",
            "config/crd/bases/ray.io_rayjobs.yaml",
            "config/crd/bases/ray.io_rayservices.yaml",
        ),
        module="github.com/ray-project/kuberay/ray-operator@v1.6.2",
    ),
    "trainer.kubeflow.org": Source(
        "kubeflow/trainer",
        "v2.2.1",
        "manifests/base/crds",
        ("manifests/base/crds/*.yaml",),
        module="github.com/kubeflow/trainer/v2@v2.2.1",
    ),
    "kubeflow.org": Source(
        "kubeflow/training-operator",
        "v1.9.3",
        "manifests/base/crds",
        ("manifests/base/crds/kubeflow.org_*jobs.yaml",),
        module="github.com/kubeflow/training-operator@v1.9.3",
    ),
    "kubeflow.org-mpi-operator": Source(
        "kubeflow/mpi-operator",
        "v0.8.2",
        "manifests/base",
        ("manifests/base/kubeflow.org_mpijobs.yaml",),
        module="github.com/kubeflow/mpi-operator@v0.8.2",
    ),
    "serving.kserve.io": Source(
        "kserve/kserve",
        "v0.21.0",
        "python/kserve/kserve/models",
        ("serving.kserve.io_*.yaml",),
        own=True,
        date="2026-09-25",
    ),
    "apps.nvidia.com": Source(
        "redhat-openshift-ecosystem/certified-operators",
        "3.1.2",
        "operators/nim-operator-certified",
        ("apps.nvidia.com_*.yaml",),
        own=True,
        commit="6c7f5447c339a350876f1bf9c2887b392997aba9",
        date="2026-11-23",
    ),
    "scheduling.run.ai": Source(
        "NVIDIA/KAI-Scheduler",
        "2e41494",
        "deployments/kai-scheduler/crds",
        ("scheduling.run.ai_*.yaml", "kai.scheduler_*.yaml"),
        own=True,
        commit="2e41494e8192133e8325945c66b27f85ade2a395",
        date="2026-11-23",
    ),
    "scheduling.volcano.sh": Source(
        "volcano-sh/apis",
        "v1.14.0",
        "pkg/apis/scheduling/v1beta1",
        ("scheduling.volcano.sh_*.yaml",),
        own=True,
        date="2026-11-30",
    ),
    "gateway.networking.k8s.io": Source(
        "kubernetes-sigs/gateway-api",
        "v1.6.0",
        "config/crd/experimental",
        ("*_gateways.yaml", "*_httproutes.yaml", "*_referencegrants.yaml"),
        module="sigs.k8s.io/gateway-api@v1.6.0/config/crd/experimental",
        date="2026-11-30",
    ),
    "inference.networking.k8s.io": Source(
        "kubernetes-sigs/gateway-api-inference-extension",
        "v1.3.0",
        "config/crd/bases",
        ("inference.networking.k8s.io_*.yaml",),
        own=True,
        date="2026-11-30",
    ),
    "inference.networking.x-k8s.io": Source(
        "kubernetes-sigs/gateway-api-inference-extension",
        "v1.3.0",
        "config/crd/bases",
        ("inference.networking.x-k8s.io_*.yaml",),
        own=True,
        date="2026-11-30",
    ),
    "production-stack.vllm.ai": Source(
        "vllm-project/production-stack",
        "a6c01db",
        "operator/config/default.yaml",
        ("production-stack.vllm.ai_*.yaml",),
        own=True,
        date="2026-11-30",
    ),
    "nfd.k8s-sigs.io": Source(
        "kubernetes-sigs/node-feature-discovery",
        "v0.18.3",
        "deployment/base/nfd-crds",
        ("nfd-api-crds.yaml",),
        module="sigs.k8s.io/node-feature-discovery@v0.18.3/deployment/base/nfd-crds",
        date="2026-11-30",
    ),
    "leaderworkerset.x-k8s.io": Source(
        "kubernetes-sigs/lws",
        "v0.9.0",
        "config/crd/bases",
        ("config/crd/bases/leaderworkerset.x-k8s.io_*.yaml",),
        module="sigs.k8s.io/lws@v0.9.0",
    ),
    "argoproj.io": Source(
        "argoproj/argo-cd",
        "v3.6.1",
        "manifests/crds",
        ("manifests/crds/*-crd.yaml",),
        module="github.com/argoproj/argo-cd/v3@v3.6.1",
        date="2026-11-04",
    ),
    "helm.toolkit.fluxcd.io": Source(
        "fluxcd/helm-controller",
        "v1.6.1",
        "config/crd/bases",
        ("config/crd/bases/*.yaml",),
        module="github.com/fluxcd/helm-controller@v1.6.1",
        commit="2695d9be70da620bbf4833989c0adeb69d15d051",
        date="2026-06-30",
    ),
    "kustomize.toolkit.fluxcd.io": Source(
        "fluxcd/kustomize-controller",
        "v1.10.1",
        "config/crd/bases",
        ("config/crd/bases/*.yaml",),
        module="github.com/fluxcd/kustomize-controller@v1.10.1",
        date="2026-10-26",
    ),
    "source.toolkit.fluxcd.io": Source(
        "fluxcd/source-controller",
        "v1.10.1",
        "config/crd/bases",
        ("config/crd/bases/*.yaml",),
        module="github.com/fluxcd/source-controller@v1.10.1",
        date="2026-10-26",
    ),
}
