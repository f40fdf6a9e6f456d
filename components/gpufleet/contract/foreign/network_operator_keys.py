"""Keys that the Network Operator's chart and custom resources know (26.4.1).

Collected on 2026-11-21 from Mellanox/network-operator v26.4.1: `deployment/network-operator/`
(values.yaml, comments there included, and crds/). The chart has no schema, so a key that is missing
here is silently ignored there; an API server prunes unknown fields of the custom resources.
"""

from gpufleet.contract.foreign.known_keys import known_keys

NETWORK_OPERATOR_VALUES = known_keys("""
.: nfd upgradeCRDs sriovNetworkOperator maintenanceOperator node-feature-discovery*
  sriov-network-operator* maintenance-operator-chart* operator imagePullSecrets* test*
  nameOverride fullnameOverride global*
nfd: enabled deployNodeFeatureRules
sriovNetworkOperator: enabled
maintenanceOperator: enabled
operator: resources* tolerations* nodeSelector* affinity* repository image nameOverride
  fullnameOverride cniBinDirectory cniNetworkDirectory maintenanceOperator useDTK
  admissionController ofedDriver tag imagePullSecrets*
operator.maintenanceOperator: nodeMaintenanceNamespace useRequestor requestorID
  nodeMaintenanceNamePrefix useDrainControllerRequestor drainControllerRequestorID
operator.admissionController: enabled useCertManager certificate*
operator.ofedDriver: initContainer
operator.ofedDriver.initContainer: enable repository image version
""")

NIC_CLUSTER_POLICY = known_keys("""
.: deploymentNodeAffinity* deploymentTolerations* docaTelemetryService global ibKubernetes
  nicConfigurationOperator nicFeatureDiscovery nodeAffinity* nvIpam ofedDriver
  rdmaSharedDevicePlugin secondaryNetwork spectrumXOperator sriovDevicePlugin tolerations*
docaTelemetryService: config containerResources* image imagePullSecrets* repository version
docaTelemetryService.config: fromConfigMap
global: imagePullSecrets* repository version
ibKubernetes: containerResources* image imagePullSecrets* pKeyGUIDPoolRangeEnd
  pKeyGUIDPoolRangeStart periodicUpdateSeconds repository ufmSecret version
nicConfigurationOperator: configurationDaemon env* logLevel nicFirmwareStorage operator
nicConfigurationOperator.configurationDaemon: containerResources* image imagePullSecrets*
  repository version
nicConfigurationOperator.nicFirmwareStorage: availableStorageSize create pvcName
  storageClassName
nicConfigurationOperator.operator: containerResources* image imagePullSecrets* repository
  version
nicFeatureDiscovery: containerResources* image imagePullSecrets* repository version
nvIpam: containerResources* enableWebhook image imagePullSecrets* repository version
ofedDriver: certConfig containerResources* env* forcePrecompiled image imagePullSecrets*
  livenessProbe* readinessProbe* repoConfig repository startupProbe*
  terminationGracePeriodSeconds upgradePolicy version
ofedDriver.certConfig: name
ofedDriver.repoConfig: name
ofedDriver.upgradePolicy: autoUpgrade drain maxParallelUpgrades safeLoad waitForCompletion
ofedDriver.upgradePolicy.drain: deleteEmptyDir enable force podSelector* timeoutSeconds
ofedDriver.upgradePolicy.waitForCompletion: podSelector* timeoutSeconds
rdmaSharedDevicePlugin: config containerResources* image imagePullSecrets* repository useCdi
  version
secondaryNetwork: cniPlugins ipoib multus
secondaryNetwork.cniPlugins: containerResources* image imagePullSecrets* repository version
secondaryNetwork.ipoib: containerResources* image imagePullSecrets* repository version
secondaryNetwork.multus: config containerResources* image imagePullSecrets* repository version
spectrumXOperator: containerResources* image imagePullSecrets* repository version xPlane
spectrumXOperator.xPlane: containerResources* image imagePullSecrets* repository version
sriovDevicePlugin: config containerResources* image imagePullSecrets* repository useCdi version
""")

NIC_NODE_POLICY = known_keys("""
.: annotations* labels* nodeSelector* ofedDriver rdmaSharedDevicePlugin sriovDevicePlugin
  tolerations*
ofedDriver: certConfig containerResources* env* forcePrecompiled image imagePullSecrets*
  livenessProbe* readinessProbe* repoConfig repository startupProbe*
  terminationGracePeriodSeconds upgradePolicy version
ofedDriver.certConfig: name
ofedDriver.repoConfig: name
ofedDriver.upgradePolicy: autoUpgrade drain maxParallelUpgrades safeLoad waitForCompletion
ofedDriver.upgradePolicy.drain: deleteEmptyDir enable force podSelector* timeoutSeconds
ofedDriver.upgradePolicy.waitForCompletion: podSelector* timeoutSeconds
rdmaSharedDevicePlugin: config containerResources* image imagePullSecrets* repository useCdi
  version
sriovDevicePlugin: config containerResources* image imagePullSecrets* repository useCdi version
""")

MACVLAN_NETWORK = known_keys("""
.: ipam master mode mtu networkNamespace
""")

HOST_DEVICE_NETWORK = known_keys("""
.: ipam networkNamespace resourceName
""")

IPOIB_NETWORK = known_keys("""
.: ipam master networkNamespace
""")
