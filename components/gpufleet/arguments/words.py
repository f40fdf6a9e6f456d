"""Choices in arguments: for a type checker the words, for the component host a `str`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    TaintEffectWord = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    IntentWord = Literal["training", "batch", "inference", "interactive"]
    ProvisionerWord = Literal[
        "managed", "karpenter", "autoMode", "clusterAutoscaler", "computeClass"
    ]
    FabricWord = Literal["none", "efa", "tcpx", "tcpxo", "rdma"]
    OwnershipWord = Literal["managed", "existing", "gitops"]
    MigStrategyWord = Literal["single", "mixed"]
    VgpuSchedulerWord = Literal["bestEffort", "equalShare", "fixedShare"]
    DraSharingWord = Literal["exclusive", "timeSlicing", "mps"]
    TimeSliceWord = Literal["Default", "Short", "Medium", "Long"]
    DraDevicesWord = Literal["gpu", "mig"]
    DeviceChoiceDevicesWord = Literal["gpu", "mig"]
    DeviceTaintEffectWord = Literal["NoSchedule", "NoExecute"]
    DeviceNeedDevicesWord = Literal["gpu", "mig", "vfio"]
    NvlinkReachWord = Literal["machine", "domain"]
    ManagerPolicyWord = Literal["none", "static"]
    TopologyPolicyWord = Literal["none", "bestEffort", "restricted", "singleNumaNode"]
    TopologyScopeWord = Literal["container", "pod"]
    HealthModeWord = Literal["observe", "fence", "repair"]
    HealthActorWord = Literal["platform", "nvsentinel"]
    IdleNotebookKindWord = Literal["Deployment", "StatefulSet"]
    NeuronUnitWord = Literal["device", "core"]
    UpdateStrategyWord = Literal["minimal", "surge"]
    LocalStorageWord = Literal["raid0", "none"]
    EksOptionsImportedWord = Literal["adopt", "manage"]
    DeclaredEksClusterNatWord = Literal["single", "perZone"]
    KarpenterBudgetReasonsWord = Literal["Underutilized", "Empty", "Drifted"]
    KarpenterDisruptionConsolidationPolicyWord = Literal[
        "WhenEmpty", "Balanced", "WhenEmptyOrUnderutilized"
    ]
    KarpenterRequirementOperatorWord = Literal[
        "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"
    ]
    StartupTaintEffectWord = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    KarpenterReservationsMatchWord = Literal["open", "targeted"]
    UpgradeStrategyWord = Literal["surge", "blueGreen", "shortLived"]
    GkeOptionsDriverWord = Literal["gke", "gpuOperator"]
    GkeOptionsDriverVersionWord = Literal["default", "latest"]
    GkeOptionsAcceleratorNetworkProfileWord = Literal["auto"]
    GkeOptionsLimitsWord = Literal["total", "perZone"]
    GkeOptionsLocationPolicyWord = Literal["any", "balanced"]
    GkeOptionsMaintenanceIntervalWord = Literal["periodic", "asNeeded"]
    LocalSsdUseWord = Literal["ephemeral", "raw"]
    GkeOptionsImportedWord = Literal["adopt", "manage"]
    CpuSharesWord = Literal["low", "normal", "high"]
    LatencySensitivityWord = Literal["normal", "high"]
    VsphereOptionsSeparateHostsWord = Literal["preferred", "required"]
    DrsBehaviorWord = Literal["fullyAutomated", "partiallyAutomated", "manual", "disabled"]
    VsphereWaitForWord = Literal["powerOn", "tools", "address", "joined"]
    VsphereUpdatePolicyWord = Literal["refuse", "restart", "replace"]
    CreateFailureWord = Literal["delete", "keep"]
    DeletePolicyWord = Literal["trySoft", "hard"]
    VsphereOptionsBoardWord = Literal["sxm", "pcie", "nvl"]
    AttachmentWord = Literal["passthrough", "dynamicDirectPath", "vgpu"]
    DiskFormatWord = Literal["thin", "thick", "eagerZeroed"]
    VsphereNetworkAdapterWord = Literal["vmxnet3", "e1000e", "sriov"]
    MachineRolloutWord = Literal["recreate", "surge"]
    LabelsByWord = Literal["apply", "rule", "commands"]
    OpenShiftAwsOptionsVolumeTypeWord = Literal["gp2", "gp3", "io1"]
    OpenShiftAwsOptionsTenancyWord = Literal["default", "dedicated"]
    OpenShiftAwsOptionsMetadataTokensWord = Literal["required", "optional"]
    OpenShiftGcpOptionsDiskTypeWord = Literal["pd-balanced", "pd-ssd", "pd-standard"]
    OpenShiftGcpOptionsSpotModelWord = Literal["preemptible", "spot"]
    LicenseServiceWord = Literal["cls", "dls"]
    LicenseFeatureWord = Literal["vgpu", "workstation", "compute"]
    KernelModuleWord = Literal["auto", "open", "proprietary"]
    OfedWord = Literal["inbox", "operator", "host"]
    ExpanderWord = Literal["least-waste", "priority"]
    SriovDeviceWord = Literal["netDevice", "accelerator", "auxNetDevice"]
    MacvlanModeWord = Literal["bridge", "private", "vepa", "passthru"]
    ApprovalWord = Literal["automatic", "manual"]
    ImageProfileWord = Literal["stigFips"]
    WithinQueueWord = Literal["never", "lowerPriority", "lowerOrNewerEqualPriority"]
    ReclaimWord = Literal["never", "lowerPriority", "any"]
    QueueingStrategyWord = Literal["bestEffortFifo", "strictFifo"]
    MonitoringBackendWord = Literal["prometheus", "victoriaMetrics", "none"]
    SignalWord = Literal[
        "requestsRunning",
        "requestsWaiting",
        "kvCache",
        "tensorActive",
        "gpuUtilisation",
        "queueLength",
    ]
    TriggerSecretParameterWord = Literal[
        "bearerToken",
        "username",
        "password",
        "ca",
        "cert",
        "key",
        "customAuthHeader",
        "customAuthValue",
    ]
    WorkloadKindWord = Literal["llmServing", "serving", "batch"]
    KedaScalingAuthModesWord = Literal["basic", "bearer", "tls", "custom"]
    NimModelEngineWord = Literal["tensorrt_llm", "vllm", "sglang"]
    PlatformWord = Literal[
        "eks", "gke", "vsphere", "openshift", "openshiftAws", "openshiftGcp", "existing", "sandbox"
    ]
    DraConsumableSharesWord = Literal["memory", "unlimited"]
    PriceBasisWord = Literal["strict", "estimate"]
else:
    TaintEffectWord = IntentWord = ProvisionerWord = FabricWord = OwnershipWord = (
        MigStrategyWord
    ) = VgpuSchedulerWord = DraSharingWord = TimeSliceWord = DraDevicesWord = (
        DeviceChoiceDevicesWord
    ) = DeviceTaintEffectWord = DeviceNeedDevicesWord = NvlinkReachWord = ManagerPolicyWord = (
        TopologyPolicyWord
    ) = TopologyScopeWord = HealthModeWord = HealthActorWord = IdleNotebookKindWord = (
        NeuronUnitWord
    ) = UpdateStrategyWord = LocalStorageWord = EksOptionsImportedWord = (
        DeclaredEksClusterNatWord
    ) = KarpenterBudgetReasonsWord = KarpenterDisruptionConsolidationPolicyWord = (
        KarpenterRequirementOperatorWord
    ) = StartupTaintEffectWord = KarpenterReservationsMatchWord = UpgradeStrategyWord = (
        GkeOptionsDriverWord
    ) = GkeOptionsDriverVersionWord = GkeOptionsAcceleratorNetworkProfileWord = (
        GkeOptionsLimitsWord
    ) = GkeOptionsLocationPolicyWord = GkeOptionsMaintenanceIntervalWord = LocalSsdUseWord = (
        GkeOptionsImportedWord
    ) = CpuSharesWord = LatencySensitivityWord = VsphereOptionsSeparateHostsWord = (
        DrsBehaviorWord
    ) = VsphereWaitForWord = VsphereUpdatePolicyWord = CreateFailureWord = DeletePolicyWord = (
        VsphereOptionsBoardWord
    ) = AttachmentWord = DiskFormatWord = VsphereNetworkAdapterWord = MachineRolloutWord = (
        LabelsByWord
    ) = OpenShiftAwsOptionsVolumeTypeWord = OpenShiftAwsOptionsTenancyWord = (
        OpenShiftAwsOptionsMetadataTokensWord
    ) = OpenShiftGcpOptionsDiskTypeWord = OpenShiftGcpOptionsSpotModelWord = LicenseServiceWord = (
        LicenseFeatureWord
    ) = KernelModuleWord = OfedWord = ExpanderWord = SriovDeviceWord = MacvlanModeWord = (
        ApprovalWord
    ) = ImageProfileWord = WithinQueueWord = ReclaimWord = QueueingStrategyWord = (
        MonitoringBackendWord
    ) = SignalWord = TriggerSecretParameterWord = WorkloadKindWord = KedaScalingAuthModesWord = (
        NimModelEngineWord
    ) = PlatformWord = DraConsumableSharesWord = PriceBasisWord = str
