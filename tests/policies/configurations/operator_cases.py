"""Cases of the GPU Operator's values and objects."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import A100, FINE, CaseRow, dra_chart, several


def _driver(name: str, spec: str) -> str:
    return f"{{apiVersion: nvidia.com/v1alpha1, kind: NVIDIADriver, metadata: {{name: {name}}}, spec: {spec}}}"


POLICY = (
    "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec: {operator: {}, daemonsets: {}, driver: {}, "
    "toolkit: {}, devicePlugin: {}, dcgmExporter: {}, dcgm: {}, nodeStatusExporter: {}, gfd: {}}"
)

POLICY_ITEM = (
    "{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: %s}, spec: {operator: {}, "
    "daemonsets: {}, driver: {}, toolkit: {}, devicePlugin: {}, dcgmExporter: {}, dcgm: {}, "
    "nodeStatusExporter: {}, gfd: {}}}"
)
DRIVER = "{apiVersion: nvidia.com/v1alpha1, kind: NVIDIADriver, metadata: {name: a}, spec: {%s}}"
COUNTERS = '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {%s: ""}}'
SOCKET = "/run/k3s/containerd/containerd.sock"


def _toolkit(**env: str) -> str:
    entries = ", ".join(f"{{name: {name}, value: '{value}'}}" for name, value in env.items())
    return f"toolkit: {{env: [{entries}]}}"


SLICED = 'devicePlugin: {config: {data: {a: "' + FINE["device-plugin"] + '"}}}\n'

POD = "extraObjects: [{kind: Pod, spec: {%s, containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}}]\n"

GPU_OPERATOR: list[CaseRow] = [
    ("gpu-operator-no-mapping", "[]", "", {}),
    ("gpu-operator-two-stacks", "gpuCluster: {deployCR: true}\ndriver: {enabled: false}", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {enabled: false}", {}),
    ("gpu-operator-cluster-driver", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {nvidiaDriverCRD: {enabled: true}}", {}),
    ("gpu-operator-nri-cdi", "cdi: {nriPluginEnabled: true, enabled: false}", "cdi: {nriPluginEnabled: true}", {}),
    ("gpu-operator-nri-toolkit", "cdi: {nriPluginEnabled: true}\ntoolkit: {enabled: false}", "cdi: {nriPluginEnabled: true}", {}),
    ("gpu-operator-plugin-config-empty", "devicePlugin: {config: {create: true, name: x}}", "devicePlugin: {config: {create: true, name: x, data: {a: 'version: v1'}}}", {}),
    ("gpu-operator-plugin-config-empty", "devicePlugin: {config: {create: true, data: {a: 'version: v1'}}}", None, {}),
    ("gpu-operator-no-dra", "gpuCluster: {deployCR: true}\nclusterPolicy: {deployCR: false}\ndriver: {enabled: false}", None, {"context": {"chart": {"kubernetesVersion": "1.33"}}}),
    ("gpu-operator-mig-config-empty", "migManager: {config: {create: true, name: x}}", "migManager: {config: {create: true, name: x, data: {config.yaml: 'version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false}]}'}}}".replace("\n", "\\n").replace("'", '"'), {}),
    ("gpu-operator-mig-config-nothing", "migManager: {config: {create: true}}", None, {}),
    ("gpu-operator-mig-config-key", "migManager: {config: {create: true, name: x, data: {a: 'version: v1'}}}", None, {}),
    ("gpu-operator-choice-unknown", "mig: {strategy: both}", None, {}),
    ("gpu-operator-choice-unknown", "migManager: {config: {default: all-balanced}}", "migManager: {config: {default: all-disabled}}", {}),
    ("gpu-operator-choice-unknown", "sandboxWorkloads: {defaultWorkload: vm}", None, {}),
    ("gpu-operator-choice-unknown", "toolkit: {env: [{name: RUNTIME, value: podman}]}", "toolkit: {env: [{name: RUNTIME, value: crio}]}", {}),
    ("gpu-operator-choice-unknown", "toolkit: {env: [{name: CONTAINERD_SET_AS_DEFAULT, value: 'yes'}]}", "toolkit: {env: [{name: CONTAINERD_SET_AS_DEFAULT, value: 'TRUE'}]}", {}),
    ("gpu-operator-choice-unknown", "dcgmExporter: {env: [{name: DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE, value: index}]}", "dcgmExporter: {env: [{name: DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE, value: device-name}]}", {}),
    ("gpu-operator-choice-unknown", 'devicePlugin: {config: {name: a, default: "version: v1\\nflags: {}"}}', "devicePlugin: {config: {name: a, default: a}}", {}),
    ("config-key-misspelt", "migManager: {env: [{name: WITH_REBOOTS, value: 'true'}]}", "migManager: {env: [{name: WITH_REBOOT, value: 'true'}]}", {}),
    ("config-key-misspelt", "toolkit: {env: [{name: CONTAINERD_SET_AS_DEFUALT, value: 'true'}]}", "toolkit: {env: [{name: CONTAINERD_RUNTIME, value: a}, {name: HTTPS_PROXY, value: b}, {name: NVIDIA_VISIBLE_DEVICES, value: all}]}", {}),
    ("gpu-operator-choice-unknown", "driver: {kernelModuleType: closed}", "driver: {kernelModuleType: open}", {}),
    ("gpu-operator-choice-unknown", "daemonsets: {updateStrategy: Recreate}", None, {}),
    ("gpu-operator-choice-unknown", "ccManager: {defaultMode: maybe}", "ccManager: {defaultMode: 'on'}", {}),
    ("gpu-operator-number-negative", "driver: {upgradePolicy: {maxParallelUpgrades: -1}}", "driver: {upgradePolicy: {maxParallelUpgrades: 0}}", {}),
    ("gpu-operator-number-negative", "driver: {upgradePolicy: {gpuPodDeletion: {timeoutSeconds: -5}}}", None, {}),
    ("gpu-operator-duration-invalid", "dcgmExporter: {serviceMonitor: {interval: 15 s}}", "dcgmExporter: {serviceMonitor: {interval: 15s}}", {}),
    ("gpu-operator-wrong-type", "ccManager: {defaultMode: on}", "ccManager: {defaultMode: 'on'}", {}),
    ("gpu-operator-wrong-type", "migManager: {env: [{name: WITH_REBOOT, value: true}]}", "migManager: {env: [{name: WITH_REBOOT, value: 'true'}]}", {}),
    ("gpu-operator-wrong-type", "toolkit: {env: {A: b}}", "toolkit: {env: [{name: A, value: b}]}", {}),
    ("gpu-operator-wrong-type", "driver: {imagePullSecrets: secret}", "driver: {imagePullSecrets: [secret]}", {}),
    ("gpu-operator-wrong-type", "driver: {imagePullSecrets: [{name: secret}]}", "driver: {imagePullSecrets: []}", {}),
    ("gpu-operator-wrong-type", "devicePlugin: {config: time-slicing}", "devicePlugin: {config: {name: time-slicing}}", {}),
    ("gpu-operator-wrong-type", "driver: {rdma: true}", "driver: {rdma: {enabled: true}}", {}),
    ("gpu-operator-wrong-type", POLICY.replace("gfd: {}", "gfd: {env: [{name: A, value: 1}]}"), POLICY, {}),
    ("gpu-operator-switch-as-text", "nfd: {enabled: 'false'}", "nfd: {enabled: false}", {}),
    ("gpu-operator-driver-default-selector", _driver("a", "{default: true, nodeSelector: {a: b}}"), _driver("a", "{default: true}"), {}),
    ("gpu-operator-driver-two-defaults", several(_driver("a", "{default: true}"), _driver("b", "{default: true}")), None, {}),
    ("gpu-operator-driver-overlap", several(_driver("a", "{nodeSelector: {a: b}}"), _driver("b", "{nodeSelector: {a: b, c: d}}")), several(_driver("a", "{nodeSelector: {a: b}}"), _driver("b", "{nodeSelector: {a: c}}")), {}),
    ("gpu-operator-driver-immutable", _driver("a", "{usePrecompiled: true}"), _driver("a", "{}"), {"context": {"previous": {"kind": "NVIDIADriver", "metadata": {"name": "a"}, "spec": {}}}}),
    ("gpu-operator-cluster-name", "apiVersion: nvidia.com/v1alpha1\nkind: GPUCluster\nmetadata: {name: x}\nspec: {draDriver: {}}", "apiVersion: nvidia.com/v1alpha1\nkind: GPUCluster\nmetadata: {name: gpu-cluster}\nspec: {draDriver: {}}", {}),
    ("gpu-operator-host-users", POD % "hostUsers: false", POD % "hostUsers: true", {}),
    ("gpu-operator-policy-incomplete", POLICY.replace(", gfd: {}", ""), POLICY, {}),
    ("gpu-operator-patch", "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec: {devicePlugin: {}, gfd: {}}", POLICY, {}),
    ("gpu-operator-two-policies", several(POLICY_ITEM % "a", POLICY_ITEM % "b"), several(POLICY_ITEM % "a"), {}),
    ("gpu-operator-image-incomplete", POLICY.replace("driver: {}", "driver: {enabled: true, version: 580.95.05}"), POLICY.replace("driver: {}", "driver: {enabled: false, version: 580.95.05}"), {}),
    ("gpu-operator-image-incomplete", "driver: {version: ''}", "driver: {version: '', repository: '', image: x/driver:1}", {}),
    ("gpu-operator-driver-version-os", "driver: {version: 565.57.01-ubuntu22.04}", "driver: {version: 565.57.01}", {}),
    ("gpu-operator-driver-version-os", DRIVER % "version: 580.95.05-rhcos4.18", DRIVER % "version: 580.95.05", {}),
    ("gpu-operator-containerd-socket", _toolkit(CONTAINERD_CONFIG="/var/lib/rancher/rke2/agent/etc/containerd/config.toml"), _toolkit(CONTAINERD_SOCKET=SOCKET), {}),
    ("gpu-operator-containerd-socket", _toolkit(CONTAINERD_SOCKET="unix:///run/containerd/containerd.sock"), None, {}),
    ("gpu-operator-containerd-config", _toolkit(CONTAINERD_CONFIG="/var/lib/rancher/k3s/agent/etc/containerd/config.toml", CONTAINERD_SOCKET=SOCKET), _toolkit(CONTAINERD_SOCKET=SOCKET), {}),
    ("gpu-operator-counters-key", several(POLICY_ITEM.replace("dcgmExporter: {}", "dcgmExporter: {config: {name: c}}") % "a", COUNTERS % "metrics.csv"), several(POLICY_ITEM.replace("dcgmExporter: {}", "dcgmExporter: {config: {name: c}}") % "a", COUNTERS % "dcgm-metrics.csv"), {}),
    ("dra-gates-conflict", "draDriver: {featureGates: {DynamicMIG: true, MPSSupport: true}}", "draDriver: {featureGates: {DynamicMIG: true}}", {}),
    ("dra-gate-unknown", "draDriver: {featureGates: {DynamicMig: true}}", "draDriver: {featureGates: {ConsumableShares: true}}", {}),
    ("gpu-operator-wrong-type", "migManager: {config: {data: 'version: v1'}}", None, {}),
    ("gpu-operator-patch", "[{op: add, path: /spec/gfd, value: {}}]", POLICY, {}),
    ("gpu-operator-value-invalid", POLICY.replace("gfd: {}", "gfd: {resources: {limits: {cpu: 1Gib}}}"), POLICY.replace("gfd: {}", "gfd: {resources: {limits: {cpu: 1}}}"), {}),
    ("gpu-operator-wrong-type", POLICY.replace("gfd: {}", "gfd: {enabled: 'true'}"), POLICY.replace("gfd: {}", "gfd: {enabled: true}"), {}),
    ("gpu-operator-wrong-type", POLICY.replace("operator: {}", "operator: {runtimeClass: 580}"), POLICY.replace("operator: {}", "operator: {runtimeClass: '580'}"), {}),
    ("config-key-misspelt", POLICY.replace("driver: {}", "driver: {startupProbe: {periodSecond: 5}}"), POLICY, {}),
    ("config-key-misspelt", "migManger: {enabled: false}", None, {}),
    ("config-key-unknown", "somethingElse: 1", None, {}),
    ("gpu-operator-key-ignored", "driver: {useOpenKernelModules: true}", None, {}),
    ("gpu-operator-key-ignored", "cdi: {default: false}", None, {}),
    ("gpu-operator-plugin-default-absent", "devicePlugin: {config: {default: b, data: {a: 'version: v1'}}}", "devicePlugin: {config: {default: a, data: {a: 'version: v1'}}}", {}),
    ("gpu-operator-reset-needed", "mig: {strategy: mixed}", "mig: {strategy: mixed}\nmigManager: {env: [{name: WITH_REBOOT, value: 'true'}]}", A100),
    ("gpu-operator-list-strategy", "{cdi: {enabled: true}, devicePlugin: {env: [{name: DEVICE_LIST_STRATEGY, value: envvar}]}}", "{cdi: {enabled: true}, devicePlugin: {env: [{name: DEVICE_LIST_STRATEGY, value: 'cdi-annotations,cdi-cri'}]}}", {}),
    ("gpu-operator-list-strategy", "{cdi: {enabled: true}, devicePlugin: {env: [{name: DEVICE_LIST_STRATEGY, value: envvar}]}}", "{cdi: {enabled: false}, devicePlugin: {env: [{name: DEVICE_LIST_STRATEGY, value: envvar}]}}", {}),
    ("gpu-operator-driver-in-image", "", "driver: {enabled: false}", {"context": {"images": ["al2023-nvidia"]}}),
    ("gpu-operator-dra-too", "", "devicePlugin: {enabled: false}", dra_chart()),
    ("gpu-operator-nfd-twice", "", "nfd: {enabled: false}", {"context": {"chart": {"name": "network-operator", "values": {}}}}),
    ("gpu-operator-metric-mig", "mig: {strategy: mixed}\ndcgmExporter: {config: {data: 'DCGM_FI_DEV_GPU_UTIL, gauge, x'}}", "mig: {strategy: none}\ndcgmExporter: {config: {data: 'DCGM_FI_DEV_GPU_UTIL, gauge, x'}}", {}),
    ("gpu-operator-pod-metrics-shared", SLICED + "dcgmExporter: {enablePodLabels: true}", SLICED, {}),
    ("gpu-operator-precompiled-extras", "driver: {usePrecompiled: true, version: '595'}\ngds: {enabled: true}", "driver: {usePrecompiled: true, version: '595'}", {}),
    ("gpu-operator-precompiled-version", "driver: {usePrecompiled: true}", "driver: {usePrecompiled: true, version: '595'}", {}),
    ("gpu-operator-gds-proprietary", "driver: {kernelModuleType: proprietary}\ngds: {enabled: true}", "driver: {kernelModuleType: open}\ngds: {enabled: true}", {}),
    ("gpu-operator-vgpu-image", "vgpuManager: {enabled: true}\nsandboxWorkloads: {enabled: true}", "vgpuManager: {enabled: true, repository: r, version: v}\nsandboxWorkloads: {enabled: true}", {}),
    ("gpu-operator-vgpu-without-sandbox", "vgpuManager: {enabled: true, repository: r, version: v}", None, {}),
    ("gpu-operator-confidential-gpu", "ccManager: {defaultMode: 'on'}\nsandboxWorkloads: {enabled: true, mode: kata}", "ccManager: {defaultMode: 'off'}\nsandboxWorkloads: {enabled: true, mode: kata}", {"gpu": "A100-80GB"}),
    ("gpu-operator-product-selector", SLICED + POD % "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}", SLICED + POD % "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4-SHARED}", {}),
    ("config-key-repeated", "nfd: {}\nnfd: {}", None, {}),
    ("config-second-document", "nfd: {}\n---\nnfd: {}", None, {}),
    ("device-plugin-version-unknown", "devicePlugin: {config: {data: {a: 'version: v2'}}}", None, {}),
    ("mig-parted-empty", 'migManager: {config: {data: {config.yaml: "version: v1\\nmig-configs: {}"}}}', None, {}),
]  # fmt: skip
