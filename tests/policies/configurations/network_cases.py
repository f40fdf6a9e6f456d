"""Cases of the Network Operator's values and of its device plugins' configurations."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import FINE, CaseRow, several

OFED = "image: doca-driver, repository: nvcr.io/nvidia/mellanox, version: %s"

IMAGE = "image: x, repository: nvcr.io/nvidia/mellanox"


def _nic(spec: str, name: str = "nic-cluster-policy", kind: str = "NicClusterPolicy") -> str:
    return (
        f"{{apiVersion: mellanox.com/v1alpha1, kind: {kind}, metadata: {{name: {name}}}, "
        f"spec: {{{spec}}}}}"
    )


def _ofed(version: str, more: str = "") -> str:
    return _nic(f"ofedDriver: {{{OFED % version}{more}}}")


GOOD_OFED = _ofed("doca3.4.1-26.04-1.1.0.0-1")

NETWORK_OPERATOR: list[CaseRow] = [
    ("network-operator-no-mapping", "[]", "", {}),
    ("config-key-misspelt", "sriovNetworkOperater: {enabled: true}", None, {}),
    ("config-key-unknown", "whatever: 1", None, {}),
    ("network-operator-section-moved", "nfd: {enabled: true}\ndeployCR: true", "nfd: {enabled: true}", {"context": {"version": "25.1.0"}}),
    ("network-operator-bare-spec", f"ofedDriver: {{{OFED % '24.01-0.3.3.1-0'}}}", None, {}),
    ("network-operator-nfd-twice", "", "nfd: {enabled: false}", {"context": {"chart": {"name": "gpu-operator", "values": {}}}}),
    ("network-operator-kubernetes", "", None, {"context": {"chart": {"kubernetesVersion": "1.20"}}}),
    ("network-operator-switch-as-text", "nfd: {enabled: 'false'}", None, {}),
    ("nic-policy-name", _nic("", "other"), _nic(""), {}),
    ("nic-policy-image-missing", _nic("nvIpam: {repository: nvcr.io/x}"), _nic("nvIpam: {image: x, repository: nvcr.io/x}"), {}),
    ("nic-policy-wrong-type", _nic(f"rdmaSharedDevicePlugin: {{{IMAGE}, config: {{}}}}"), None, {}),
    ("nic-policy-ofed-version", _ofed("23-10-0.2.2.0"), _ofed("23.10-0.2.2.0"), {}),
    ("nic-policy-safe-load", _ofed("24.01-0.3.3.1-0", ", upgradePolicy: {safeLoad: true}"), _ofed("24.01-0.3.3.1-0", ", upgradePolicy: {safeLoad: true, autoUpgrade: true}"), {}),
    ("nic-policy-guid", _nic(f"ibKubernetes: {{{IMAGE}, ufmSecret: ufm, pKeyGUIDPoolRangeStart: '00:00', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), _nic(f"ibKubernetes: {{{IMAGE}, version: v1.2.0, ufmSecret: ufm, pKeyGUIDPoolRangeStart: '00:00:00:00:00:00:00:00', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), {}),
    ("nic-policy-guid", _nic(f"ibKubernetes: {{{IMAGE}, ufmSecret: ufm, pKeyGUIDPoolRangeStart: '00:00:00:00:00:00:00:01', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), None, {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{gpu: 1}}}}]}}"), _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 1}}, limits: {{cpu: 2}}}}]}}"), {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 2}}, limits: {{cpu: 1}}}}]}}"), None, {}),
    ("nic-policy-resources", _nic(f"nvIpam: {{{IMAGE}, containerResources: [{{name: main, requests: {{cpu: 0}}}}]}}"), None, {}),
    ("nic-policy-field-missing", _nic("nvIpam: {image: x}"), _nic("global: {repository: nvcr.io/x}, nvIpam: {image: x}"), {}),
    ("nic-policy-field-missing", _nic(f"ofedDriver: {{{IMAGE}}}"), GOOD_OFED, {}),
    ("nic-policy-patch", _nic("ofedDriver: {version: doca3.3.0-26.01-1.0.0.0-0}"), GOOD_OFED, {}),
    ("nic-policy-ofed-version", _nic("ofedDriver: {version: '26'}"), _nic("ofedDriver: {version: doca3.3.0-26.01-1.0.0.0-0}"), {}),
    ("nic-policy-repository", _nic("nvIpam: {image: x, repository: nvcr.io/NVIDIA}"), None, {}),
    ("nic-policy-prefix", _nic("sriovDevicePlugin: {" + IMAGE + """, config: '{"resourceList": [{"resourceName": "ib", "resourcePrefix": "rdma", "selectors": {"vendors": ["15b3"]}}]}'}"""), GOOD_OFED, {}),
    ("nic-policy-telemetry-config", _nic(f"docaTelemetryService: {{{IMAGE}, config: {{fromConfigMap: A_B}}}}"), _nic(f"docaTelemetryService: {{{IMAGE}, config: {{fromConfigMap: a-b}}}}"), {}),
    ("nic-node-policy-name", _nic("", "n" * 31, "NicNodePolicy"), _nic("", "n" * 30, "NicNodePolicy"), {}),
    ("nic-node-policy-label", _nic(f"sriovDevicePlugin: {{{IMAGE}, version: network-operator-v26.4.0}}", "n" * 27, "NicNodePolicy"), _nic(f"sriovDevicePlugin: {{{IMAGE}, version: network-operator-v26.4.0}}", "n" * 26, "NicNodePolicy"), {}),
    ("nic-node-policy-section-twice", several(GOOD_OFED, GOOD_OFED.replace("NicClusterPolicy", "NicNodePolicy")), GOOD_OFED, {}),
    ("nic-node-policy-overlap", several(_nic("", "a", "NicNodePolicy"), _nic("", "b", "NicNodePolicy")), several(_nic("nodeSelector: {a: b}", "a", "NicNodePolicy"), _nic("nodeSelector: {a: c}", "b", "NicNodePolicy")), {}),
    ("host-device-network-name", _nic("resourceName: 'a!'", "x", "HostDeviceNetwork"), _nic("resourceName: host-dev", "x", "HostDeviceNetwork"), {}),
    ("host-device-network-prefix", _nic("resourceName: nvidia.com/hostdev", "x", "HostDeviceNetwork"), _nic("resourceName: hostdev", "x", "HostDeviceNetwork"), {}),
    ("network-ipam-not-json", _nic("""master: e, ipam: '{"type": "nv-ipam",}'""", "net", "MacvlanNetwork"), _nic("""master: e, ipam: '{"type": "nv-ipam"}'""", "net", "MacvlanNetwork"), {}),
    ("nic-policy-choice-unknown", _nic("mode: bridged", "x", "MacvlanNetwork"), _nic("mode: bridge", "x", "MacvlanNetwork"), {}),
    ("nic-policy-number-negative", _nic("mtu: -1", "x", "MacvlanNetwork"), _nic("mtu: 0", "x", "MacvlanNetwork"), {}),
    ("nic-policy-storage-size", _nic("nicConfigurationOperator: {nicFirmwareStorage: {availableStorageSize: 1GB}}"), _nic(f"nicConfigurationOperator: {{operator: {{{IMAGE}}}, configurationDaemon: {{{IMAGE}}}, nicFirmwareStorage: {{availableStorageSize: 1Gi}}}}"), {}),
    ("nic-policy-wrong-type", _nic(f"nvIpam: {{{IMAGE}, enableWebhook: 'no'}}"), _nic(f"nvIpam: {{{IMAGE}, enableWebhook: false}}"), {}),
    ("nic-policy-field-missing", _nic(f"ibKubernetes: {{{IMAGE}, pKeyGUIDPoolRangeStart: '00:00:00:00:00:00:00:00', pKeyGUIDPoolRangeEnd: '00:00:00:00:00:00:00:01'}}"), None, {}),
    ("nic-policy-value-invalid", _nic("nvIpam: {image: '!!', repository: nvcr.io/x, version: v1}"), _nic(f"nvIpam: {{{IMAGE}, version: v1}}"), {}),
    ("config-key-repeated", "nfd: {}\nnfd: {}", None, {}),
    ("config-second-document", "nfd: {}\n---\nnfd: {}", None, {}),
]  # fmt: skip


def _rdma(item: str) -> str:
    return '{"configList": [{"resourceName": "a", "rdmaHcaMax": 63, ' + item + "}]}"


VENDORS = '"selectors": {"vendors": ["15b3"]}'

RDMA: list[CaseRow] = [
    ("rdma-not-json", FINE["rdma-shared-config"][1:], None, {}),
    ("rdma-not-json", "configList: []", None, {}),
    ("rdma-not-json", "[]", None, {}),
    ("rdma-item-invalid", "{}", None, {}),
    ("rdma-item-invalid", '{"configList": []}', None, {}),
    ("rdma-item-invalid", '{"configList": [{"resourceName": "a", "rdmaHcaMax": "63", ' + VENDORS + "}]}", None, {}),
    ("rdma-item-invalid", '{"configList": [{"resourceName": "a", "rdmaHcaMax": 63}]}', None, {}),
    ("rdma-item-invalid", '{"configList": [{"rdmaHcaMax": 63, ' + VENDORS + "}]}", None, {}),
    ("rdma-item-invalid", _rdma('"devices": [""]'), _rdma('"devices": ["ib0"]'), {}),
    ("rdma-item-invalid", _rdma('"selectors": {}'), None, {}),
    ("rdma-item-invalid", _rdma('"selectors": {"vendors": ["15b3"], "pfNames": ["x"]}'), None, {}),
    ("rdma-item-invalid", _rdma('"selectors": {"vendors": [15]}'), None, {}),
    ("rdma-item-invalid", _rdma('"selectors": {"deviceIDs": ["0x101b"]}'), _rdma('"selectors": {"deviceIDs": ["101b"]}'), {}),
    ("rdma-item-invalid", _rdma('"selectors": {"linkTypes": ["IB"]}'), _rdma('"selectors": {"linkTypes": ["infiniband"]}'), {}),
    ("rdma-selector-value-dead", _rdma('"selectors": {"vendors": ["15b3", "15B3"]}'), None, {}),
    ("rdma-item-invalid", FINE["rdma-shared-config"].replace("rdma-a", "rdma-a!!"), None, {}),
    ("rdma-item-invalid", _rdma('"resourcePrefix": "nvidia_com", ' + VENDORS), _rdma('"resourcePrefix": "nvidia.com", ' + VENDORS), {}),
    ("rdma-item-invalid", FINE["rdma-shared-config"].replace("63", "0"), None, {}),
    ("rdma-item-invalid", '{"configList": [{"resourceName": "a", "rdmaHcaMax": 1, ' + VENDORS + '}, {"resourceName": "a", "rdmaHcaMax": 1, ' + VENDORS + "}]}", None, {}),
    ("config-key-misspelt", _rdma('"selector": {}, ' + VENDORS), None, {}),
    ("config-key-unknown", _rdma('"whatever": {}, ' + VENDORS), None, {}),
    ("config-key-repeated", _rdma('"rdmaHcaMax": 5, ' + VENDORS), None, {}),
    ("config-second-document", FINE["rdma-shared-config"] + "\n---\n{}", None, {}),
]  # fmt: skip


def _sriov(item: str) -> str:
    return '{"resourceList": [{"resourceName": "hostdev", ' + item + "}]}"


SRIOV: list[CaseRow] = [
    ("sriov-not-json", FINE["sriov-config"][1:], None, {}),
    ("sriov-item-invalid", '{"resourceList": []}', None, {}),
    ("sriov-item-invalid", '{"resourceList": [{' + VENDORS + "}]}", None, {}),
    ("sriov-item-invalid", _sriov('"excludeTopology": "x", ' + VENDORS), _sriov('"excludeTopology": true, ' + VENDORS), {}),
    ("sriov-item-invalid", _sriov('"deviceType": "netdevice", ' + VENDORS), _sriov('"deviceType": "netDevice", ' + VENDORS), {}),
    ("sriov-item-invalid", _sriov('"selectors": {}'), None, {}),
    ("sriov-item-invalid", _sriov('"selectors": [{}]'), _sriov('"selectors": [{"vendors": ["15b3"]}]'), {}),
    ("sriov-item-invalid", '{"resourceList": [{"resourceName": "hostdev"}]}', None, {}),
    ("sriov-item-invalid", _sriov('"deviceType": "accelerator", "selectors": {"vendors": ["15b3"], "isRdma": true}'), _sriov('"selectors": {"vendors": ["15b3"], "isRdma": true}'), {}),
    ("sriov-item-invalid", _sriov('"selectors": {"vendors": [15]}'), None, {}),
    ("sriov-item-invalid", _sriov('"selectors": {"vendors": ["Mellanox"]}'), None, {}),
    ("sriov-item-invalid", _sriov('"selectors": [{"linkTypes": ["ethernet"]}]'), _sriov('"selectors": [{"linkTypes": ["ether"]}]'), {}),
    ("sriov-selector-value-dead", _sriov('"selectors": {"devices": ["101e", "0x101e"]}'), None, {}),
    ("sriov-item-invalid", FINE["sriov-config"].replace("hostdev", "host-dev"), FINE["sriov-config"].replace("hostdev", "host_dev"), {}),
    ("sriov-item-invalid", _sriov('"resourcePrefix": "nvidia.com#", ' + VENDORS), None, {}),
    ("config-key-misspelt", _sriov('"devicetype": "x", ' + VENDORS), None, {}),
    ("config-key-unknown", _sriov('"whatever": 1, ' + VENDORS), None, {}),
    ("config-key-repeated", _sriov('"resourceName": "b", ' + VENDORS), None, {}),
    ("config-second-document", FINE["sriov-config"] + "\n---\n{}", None, {}),
]  # fmt: skip
