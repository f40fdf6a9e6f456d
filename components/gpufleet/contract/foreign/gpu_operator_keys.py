"""Keys that the GPU Operator's chart and custom resources know (v26.7.0).

Collected on 2026-11-21 from NVIDIA/gpu-operator v26.7.0: `deployments/gpu-operator/values.yaml`,
comments there included, and `deployments/gpu-operator/crds/`. The chart has no schema, so a key
that is missing here is silently ignored there.
"""

from gpufleet.contract.foreign.known_keys import known_keys

GPU_OPERATOR_VALUES = known_keys("""
.: platform nfd psa cdi sandboxWorkloads hostPaths daemonsets validator operator mig driver
  toolkit devicePlugin dcgm dcgmExporter gfd migManager nodeStatusExporter gds gdrcopy
  vgpuManager vgpuDeviceManager vfioManager kataManager sandboxDevicePlugin
  kataSandboxDevicePlugin ccManager clusterPolicy gpuCluster draDriver extraObjects*
  node-feature-discovery* nameOverride fullnameOverride global*
platform: openshift
nfd: enabled nodefeaturerules
psa: enabled
cdi: enabled nriPluginEnabled
sandboxWorkloads: enabled defaultWorkload mode
hostPaths: rootFS driverInstallDir kubeletRootDir
daemonsets: labels* annotations* priorityClassName tolerations* updateStrategy rollingUpdate
  podSecurityContext*
daemonsets.rollingUpdate: maxUnavailable
validator: repository image imagePullPolicy imagePullSecrets* env* args* resources* hostNetwork
  plugin cuda driver toolkit version vfioPCI vgpuDevices vgpuManager
validator.plugin: env*
validator.cuda: env*
validator.driver: env*
validator.toolkit: env*
validator.vfioPCI: env*
validator.vgpuDevices: env*
validator.vgpuManager: env*
operator: repository image imagePullPolicy imagePullSecrets* env* priorityClassName runtimeClass
  nodeSelector* use_ocp_driver_toolkit cleanupCRD upgradeCRD tolerations* annotations* affinity*
  logging resources* defaultRuntime initContainer labels* metrics version
operator.logging: timeEncoding level develMode
operator.initContainer: image imagePullPolicy imagePullSecrets* repository version
operator.metrics: serviceMonitor
operator.metrics.serviceMonitor: additionalLabels* enabled honorLabels interval relabelings*
  scrapeTimeout
mig: strategy
driver: enabled nvidiaDriverCRD kernelModuleType usePrecompiled repository image version
  imagePullPolicy imagePullSecrets* startupProbe* rdma upgradePolicy manager env* resources*
  repoConfig certConfig licensingConfig virtualTopology kernelModuleConfig secretEnv hostNetwork
  args* livenessProbe* readinessProbe*
driver.nvidiaDriverCRD: enabled deployDefaultCR driverType nodeSelector*
driver.rdma: enabled useHostMofed
driver.upgradePolicy: autoUpgrade maxParallelUpgrades maxUnavailable waitForCompletion
  gpuPodDeletion drain
driver.upgradePolicy.waitForCompletion: timeoutSeconds podSelector*
driver.upgradePolicy.gpuPodDeletion: force timeoutSeconds deleteEmptyDir
driver.upgradePolicy.drain: enable force podSelector* timeoutSeconds deleteEmptyDir
driver.manager: repository image version imagePullPolicy env* imagePullSecrets*
driver.repoConfig: configMapName
driver.certConfig: name
driver.licensingConfig: secretName nlsEnabled configMapName
driver.virtualTopology: config
driver.kernelModuleConfig: name
toolkit: enabled repository image version imagePullPolicy imagePullSecrets* env* resources*
  installDir hostNetwork args*
devicePlugin: enabled repository image version imagePullPolicy imagePullSecrets* args* env*
  resources* config mps hostNetwork
devicePlugin.config: create name default data*
devicePlugin.mps: root
dcgm: enabled repository image version imagePullPolicy args* env* resources* hostNetwork
  hostPort imagePullSecrets*
dcgmExporter: enabled annotations* repository image version imagePullPolicy env* resources*
  hostPID hostNetwork enablePodLabels enablePodUID service serviceMonitor args* config
  hpcJobMapping imagePullSecrets* podLabelAllowlistRegex
dcgmExporter.service: internalTrafficPolicy type
dcgmExporter.serviceMonitor: enabled interval scrapeTimeout honorLabels additionalLabels*
  relabelings*
dcgmExporter.config: name create data*
dcgmExporter.hpcJobMapping: directory enabled
gfd: enabled repository image version imagePullPolicy imagePullSecrets* env* resources*
  hostNetwork args*
migManager: enabled repository image version imagePullPolicy imagePullSecrets* env* resources*
  config gpuClientsConfig hostNetwork args*
migManager.config: default create name data*
migManager.gpuClientsConfig: name
nodeStatusExporter: enabled repository image imagePullPolicy imagePullSecrets* resources*
  hostNetwork args* env* version
gds: enabled repository image version imagePullPolicy imagePullSecrets* env* args*
gdrcopy: enabled repository image version imagePullPolicy imagePullSecrets* env* args*
vgpuManager: enabled repository image version imagePullPolicy imagePullSecrets* env* resources*
  driverManager kernelModuleConfig hostNetwork args*
vgpuManager.driverManager: repository image version imagePullPolicy env* imagePullSecrets*
vgpuManager.kernelModuleConfig: name
vgpuDeviceManager: enabled repository image version imagePullPolicy imagePullSecrets* env*
  config hostNetwork args* resources*
vgpuDeviceManager.config: name default
vfioManager: enabled repository image version imagePullPolicy imagePullSecrets* env* resources*
  driverManager hostNetwork args*
vfioManager.driverManager: repository image version imagePullPolicy env* imagePullSecrets*
kataManager: enabled config* imagePullPolicy imagePullSecrets* env* resources* hostNetwork args*
  image repository version
sandboxDevicePlugin: enabled repository image version imagePullPolicy imagePullSecrets* args*
  env* resources* hostNetwork
kataSandboxDevicePlugin: enabled repository image version imagePullPolicy imagePullSecrets*
  args* env* resources* hostNetwork
ccManager: enabled defaultMode repository image version imagePullPolicy imagePullSecrets*
  resources* hostNetwork args* env*
clusterPolicy: deployCR
gpuCluster: deployCR
draDriver: repository image version imagePullPolicy imagePullSecrets* featureGates* gpus
  computeDomains
draDriver.gpus: kubeletPlugin*
draDriver.computeDomains: enabled controller* kubeletPlugin*
""")

CLUSTER_POLICY = known_keys("""
.: ccManager cdi daemonsets dcgm dcgmExporter devicePlugin driver gdrcopy gds gfd hostPaths
  kataManager kataSandboxDevicePlugin mig migManager nodeStatusExporter operator psa psp
  sandboxDevicePlugin sandboxWorkloads toolkit validator vfioManager vgpuDeviceManager
  vgpuManager
ccManager: args* defaultMode enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
cdi: default enabled nriPluginEnabled
daemonsets: annotations* labels* podSecurityContext* priorityClassName rollingUpdate
  tolerations* updateStrategy
daemonsets.rollingUpdate: maxUnavailable
dcgm: args* enabled env* hostNetwork hostPort image imagePullPolicy imagePullSecrets* repository
  resources* version
dcgmExporter: annotations* args* config enablePodLabels enablePodUID enabled env* hostNetwork
  hostPID hpcJobMapping image imagePullPolicy imagePullSecrets* podLabelAllowlistRegex
  repository resources* service serviceMonitor version
dcgmExporter.config: name
dcgmExporter.hpcJobMapping: directory enabled
dcgmExporter.service: internalTrafficPolicy type
dcgmExporter.serviceMonitor: additionalLabels* enabled honorLabels interval relabelings*
  scrapeTimeout
devicePlugin: args* config enabled env* hostNetwork image imagePullPolicy imagePullSecrets* mps
  repository resources* version
devicePlugin.config: default name
devicePlugin.mps: root
driver: args* certConfig enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  kernelModuleConfig kernelModuleType licensingConfig livenessProbe* manager rdma
  readinessProbe* repoConfig repository resources* secretEnv startupProbe* upgradePolicy
  useNvidiaDriverCRD useOpenKernelModules usePrecompiled version virtualTopology
driver.certConfig: name
driver.kernelModuleConfig: name
driver.licensingConfig: configMapName nlsEnabled secretName
driver.manager: env* image imagePullPolicy imagePullSecrets* repository version
driver.rdma: enabled useHostMofed
driver.repoConfig: configMapName
driver.upgradePolicy: autoUpgrade drain maxParallelUpgrades maxUnavailable podDeletion
  waitForCompletion
driver.upgradePolicy.drain: deleteEmptyDir enable force podSelector* timeoutSeconds
driver.upgradePolicy.podDeletion: deleteEmptyDir force timeoutSeconds
driver.upgradePolicy.waitForCompletion: podSelector* timeoutSeconds
driver.virtualTopology: config
gdrcopy: args* enabled env* image imagePullPolicy imagePullSecrets* repository version
gds: args* enabled env* image imagePullPolicy imagePullSecrets* repository version
gfd: args* enabled env* hostNetwork image imagePullPolicy imagePullSecrets* repository
  resources* version
hostPaths: driverInstallDir kubeletRootDir rootFS
kataManager: args* config enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
kataManager.config: artifactsDir runtimeClasses*
kataSandboxDevicePlugin: args* enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
mig: strategy
migManager: args* config enabled env* gpuClientsConfig hostNetwork image imagePullPolicy
  imagePullSecrets* repository resources* version
migManager.config: default name
migManager.gpuClientsConfig: name
nodeStatusExporter: args* enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
operator: annotations* defaultRuntime initContainer labels* metrics runtimeClass
  use_ocp_driver_toolkit
operator.initContainer: image imagePullPolicy imagePullSecrets* repository version
operator.metrics: serviceMonitor
operator.metrics.serviceMonitor: additionalLabels* enabled honorLabels interval relabelings*
  scrapeTimeout
psa: enabled
psp: enabled
sandboxDevicePlugin: args* enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
sandboxWorkloads: defaultWorkload enabled mode
toolkit: args* enabled env* hostNetwork image imagePullPolicy imagePullSecrets* installDir
  repository resources* version
validator: args* cuda driver env* hostNetwork image imagePullPolicy imagePullSecrets* plugin
  repository resources* toolkit version vfioPCI vgpuDevices vgpuManager
validator.cuda: env*
validator.driver: env*
validator.plugin: env*
validator.toolkit: env*
validator.vfioPCI: env*
validator.vgpuDevices: env*
validator.vgpuManager: env*
vfioManager: args* driverManager enabled env* hostNetwork image imagePullPolicy
  imagePullSecrets* repository resources* version
vfioManager.driverManager: env* image imagePullPolicy imagePullSecrets* repository version
vgpuDeviceManager: args* config enabled env* hostNetwork image imagePullPolicy imagePullSecrets*
  repository resources* version
vgpuDeviceManager.config: default name
vgpuManager: args* driverManager enabled env* hostNetwork image imagePullPolicy
  imagePullSecrets* kernelModuleConfig repository resources* version
vgpuManager.driverManager: env* image imagePullPolicy imagePullSecrets* repository version
vgpuManager.kernelModuleConfig: name
""")

NVIDIA_DRIVER = known_keys("""
.: annotations* args* certConfig default driverType env* gdrcopy gds hostNetwork image
  imagePullPolicy imagePullSecrets* kernelModuleConfig kernelModuleType labels* licensingConfig
  livenessProbe* manager nodeAffinity* nodeSelector* podSecurityContext* priorityClassName rdma
  readinessProbe* repoConfig repository resources* secretEnv startupProbe* tolerations*
  upgradePolicy useOpenKernelModules usePrecompiled version virtualTopologyConfig
certConfig: name
gdrcopy: args* enabled env* image imagePullPolicy imagePullSecrets* repository version
gds: args* enabled env* image imagePullPolicy imagePullSecrets* repository version
kernelModuleConfig: name
licensingConfig: name nlsEnabled secretName
manager: env* image imagePullPolicy imagePullSecrets* repository version
rdma: enabled useHostMofed
repoConfig: name
upgradePolicy: autoUpgrade drain maxParallelUpgrades maxUnavailable podDeletion
  waitForCompletion
upgradePolicy.drain: deleteEmptyDir enable force podSelector* timeoutSeconds
upgradePolicy.podDeletion: deleteEmptyDir force timeoutSeconds
upgradePolicy.waitForCompletion: podSelector* timeoutSeconds
virtualTopologyConfig: name
""")

GPU_CLUSTER = known_keys("""
.: daemonsets dcgm dcgmExporter draDriver hostPaths
daemonsets: annotations* labels* podSecurityContext* priorityClassName rollingUpdate
  tolerations* updateStrategy
daemonsets.rollingUpdate: maxUnavailable
dcgm: args* enabled env* hostNetwork hostPort image imagePullPolicy imagePullSecrets* repository
  resources* version
dcgmExporter: annotations* args* config enablePodLabels enablePodUID enabled env* hostNetwork
  hostPID hpcJobMapping image imagePullPolicy imagePullSecrets* podLabelAllowlistRegex
  repository resources* service serviceMonitor version
dcgmExporter.config: name
dcgmExporter.hpcJobMapping: directory enabled
dcgmExporter.service: internalTrafficPolicy type
dcgmExporter.serviceMonitor: additionalLabels* enabled honorLabels interval relabelings*
  scrapeTimeout
draDriver: computeDomains featureGates* gpus image imagePullPolicy imagePullSecrets* repository
  version
draDriver.computeDomains: controller enabled kubeletPlugin
draDriver.computeDomains.controller: env* resources*
draDriver.computeDomains.kubeletPlugin: env* healthcheck resources*
draDriver.computeDomains.kubeletPlugin.healthcheck: enabled port
draDriver.gpus: kubeletPlugin
draDriver.gpus.kubeletPlugin: env* healthcheck resources*
draDriver.gpus.kubeletPlugin.healthcheck: enabled port
hostPaths: driverInstallDir kubeletRootDir
""")
