"""Cases of claims, templates and device classes of resource.k8s.io around NVIDIA's configs."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import CaseRow

GPU = "exactly: {deviceClassName: gpu.nvidia.com}"
MIG = "exactly: {deviceClassName: mig.nvidia.com}"
PROFILE = "device.attributes['gpu.nvidia.com'].profile"


def claim(request: str, more: str = "", version: str = "v1") -> str:
    """A ResourceClaim with one request called gpu."""
    return (
        f"{{apiVersion: resource.k8s.io/{version}, kind: ResourceClaim, metadata: {{name: a}}, "
        f"spec: {{devices: {{requests: [{{name: gpu, {request}}}]{more}}}}}}}"
    )


def selected(expression: str, device_class: str = "mig.nvidia.com") -> str:
    """A claim with a selector."""
    return claim(
        f'exactly: {{deviceClassName: {device_class}, selectors: [{{cel: {{expression: "{expression}"}}}}]}}'
    )


def config(kind: str, requests: str = "requests: [gpu], ") -> str:
    """A config of a claim, as text behind the requests."""
    return (
        f", config: [{{{requests}opaque: {{driver: gpu.nvidia.com, parameters: "
        f"{{apiVersion: resource.nvidia.com/v1beta1, kind: {kind}}}}}}}]"
    )


def _class(name: str) -> str:
    return f"{{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: {name}}}, spec: {{}}}}"


def _plain(spec: str) -> str:
    return f"{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: a}}, spec: {spec}}}"


DOMAIN = (
    "{{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {{name: c}}, "
    "spec: {{numNodes: 2, channel: {0}}}}}"
)
GOOD_DOMAIN = DOMAIN.format("{resourceClaimTemplate: {name: a}}")
FINE = claim(GPU)
FINE_MIG = selected(f"{PROFILE} == '1g.10gb'")


def _many(number: int) -> str:
    """A claim with a number of requests."""
    more = "".join(f", {{name: gpu-{index}, {GPU}}}" for index in range(1, number))
    return FINE.replace("]", f"{more}]")


def _tolerating(number: int) -> str:
    """A request with a number of tolerations of device taints."""
    listed = ", ".join(f"{{key: a{index}, operator: Exists}}" for index in range(number))
    return claim(f"exactly: {{deviceClassName: gpu.nvidia.com, tolerations: [{listed}]}}")


def _answering(name: str) -> str:
    """A class with the name of an extended resource."""
    return _class("a").replace("spec: {}", f"spec: {{extendedResourceName: {name}}}")


def _alternatives(number: int) -> str:
    """A request with a number of alternatives."""
    names = (f"{{name: a{index}, deviceClassName: gpu.nvidia.com}}" for index in range(number))
    return claim(f"firstAvailable: [{', '.join(names)}]")


CLAIMS: list[CaseRow] = [
    ("dra-kubernetes-gate-off", claim("exactly: {deviceClassName: gpu.nvidia.com, capacity: {requests: {memory: 1Gi}}}"), claim("exactly: {deviceClassName: gpu.nvidia.com}"), {"context": {"kubernetesVersion": "1.35"}}),
    ("dra-field-too-new", claim("deviceClassName: gpu.nvidia.com, capacity: {requests: {memory: 1Gi}}", version="v1beta1"), claim("deviceClassName: gpu.nvidia.com", version="v1beta1"), {"context": {"kubernetesVersion": "1.33"}}),
    ("dra-api-not-served", claim(GPU, version="v1alpha3"), FINE, {}),
    ("dra-api-not-served", FINE, claim("deviceClassName: gpu.nvidia.com", version="v1beta1"), {"context": {"kubernetesVersion": "1.33"}}),
    ("dra-field-unknown", claim("deviceClassName: gpu.nvidia.com"), FINE, {}),
    ("dra-field-unknown", claim(GPU, version="v1beta1"), claim("deviceClassName: gpu.nvidia.com", version="v1beta1"), {}),
    ("dra-field-unknown", DOMAIN.format("{resourceClaimTemplateName: a}"), GOOD_DOMAIN, {}),
    ("dra-field-missing", DOMAIN.format("{resourceClaimTemplate: {}}"), GOOD_DOMAIN, {}),
    ("dra-field-missing", claim("exactly: {deviceClassName: gpu.nvidia.com, selectors: [{}]}"), FINE, {}),
    ("dra-value-invalid", claim("exactly: {deviceClassName: gpu.nvidia.com, allocationMode: all}"), claim("exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}"), {}),
    ("dra-value-invalid", _many(33), _many(32), {}),
    ("dra-value-invalid", _tolerating(17), _tolerating(16), {}),
    ("dra-value-invalid", _answering("requests.example.com/gpu"), _answering("example.com/gpu"), {}),
    ("dra-value-invalid", _answering("kubernetes.io/gpu"), _answering("nvidia.com/mig-1g.5gb"), {}),
    ("dra-value-invalid", _alternatives(9), _alternatives(8), {}),
    ("dra-no-requests", _plain("{}"), FINE, {}),
    ("dra-no-requests", _plain("{device: }"), FINE, {}),
    ("dra-request-name", FINE.replace("name: gpu", "name: GPU"), FINE, {}),
    ("dra-request-name", FINE.replace("]", f", {{name: gpu, {MIG}}}]"), FINE.replace("]", f", {{name: mig, {MIG}}}]"), {}),
    ("dra-request-kind", claim("exactly: "), FINE, {}),
    ("dra-request-kind", claim(f"{GPU}, firstAvailable: [{{name: a, deviceClassName: gpu.nvidia.com}}]"), claim("firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]"), {}),
    ("dra-class-missing", claim("exactly: {count: 1}"), FINE, {}),
    ("dra-class-misspelt", claim("exactly: {deviceClassName: gpus.nvidia.com}"), FINE, {}),
    ("dra-class-unknown", claim("exactly: {deviceClassName: imex.nvidia.com}"), claim("exactly: {deviceClassName: gpu.nvidia.com}"), {}),
    ("dra-class-off", FINE, claim("exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}"), {"context": {"chart": {"name": "nvidia-dra-driver-gpu", "values": {"resources": {"gpus": {"enabled": False}}}}}}),
    ("dra-count-invalid", claim("exactly: {deviceClassName: gpu.nvidia.com, count: -1}"), FINE, {}),
    ("dra-count-invalid", claim("exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All, count: 2}"), FINE, {}),
    ("dra-count-zero", claim("exactly: {deviceClassName: gpu.nvidia.com, count: 0}"), FINE, {}),
    ("dra-request-absent", claim(GPU, config("GpuConfig", "requests: [gpus], ")), claim(GPU, config("GpuConfig")), {}),
    ("dra-request-absent", claim(GPU, ", constraints: [{requests: [a], matchAttribute: gpu.nvidia.com/uuid}]"), claim("firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]", ", constraints: [{requests: [gpu/a], matchAttribute: gpu.nvidia.com/uuid}]"), {}),
    ("dra-config-mismatch", claim(GPU, config("MigDeviceConfig")), claim(MIG, config("MigDeviceConfig")), {}),
    ("dra-config-unused", claim(GPU, config("MigDeviceConfig", "")), claim(GPU, config("GpuConfig", "")), {}),
    ("dra-constraint-attribute", claim(GPU, ", constraints: [{matchAttribute: parentUUID}]"), claim(MIG, ", constraints: [{matchAttribute: gpu.nvidia.com/parentUUID}]"), {}),
    ("dra-constraint-attribute", claim(GPU, ", constraints: [{matchAttribute: gpu.nvidia.com/parentUUID}]"), claim(GPU, ", constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]"), {}),
    ("dra-cel-invalid", selected("productName = 'A100'"), selected(f"{PROFILE} == '1g.10gb'"), {}),
    ("dra-cel-invalid", selected("device.attributes['gpu.nvidia.com'].productName == 'A"), None, {}),
    ("dra-cel-invalid", selected(f"{PROFILE} == '1g.10gb' and true"), None, {}),
    ("dra-cel-invalid", selected(f"{PROFILE}.contain('1g')"), selected(f"{PROFILE}.contains('1g')"), {}),
    ("dra-driver-mismatch", claim(GPU, config("GpuConfig").replace("driver: gpu.nvidia.com", "driver: nvidia.com")), claim(GPU, config("GpuConfig")), {}),
    ("dra-cel-invalid", selected("productName == 'A100'"), None, {}),
    ("dra-cel-invalid", selected("device.productName == 'A100'"), None, {}),
    ("dra-cel-invalid", selected(f"{PROFILE}"), None, {}),
    ("dra-cel-invalid", selected("device.capacity['gpu.nvidia.com'].memory >= quantity('40Gi')", "gpu.nvidia.com"), selected("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", "gpu.nvidia.com"), {}),
    ("dra-cel-invalid", selected("device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0'))"), selected("device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))"), {}),
    ("dra-cel-invalid", selected("device.attributes['gpu.nvidia.com'].productName.LowerAscii() == 'x'"), selected("device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('.*a100.*')"), {}),
    ("dra-cel-attribute-unknown", selected("device.attributes['gpu.nvidia.com'].migProfile == '1g.10gb'"), selected(f"{PROFILE} == '1g.10gb'"), {}),
    ("dra-cel-attribute-unknown", selected(f"{PROFILE} == '1g.10gb'", "gpu.nvidia.com"), selected("device.attributes['gpu.nvidia.com'].uuid == 'GPU-1'", "gpu.nvidia.com"), {}),
    ("dra-cel-attribute-unknown", selected("device.attributes['nvidia.com'].profile == '1g.10gb'"), None, {}),
    ("dra-cel-attribute-former", selected("device.attributes['gpu.nvidia.com'].index == 0", "gpu.nvidia.com"), FINE, {}),
    ("dra-cel-profile-unknown", selected(f"{PROFILE} == '2g.5gb'"), selected(f"{PROFILE} in ['2g.5gb', '2g.10gb']"), {}),
    ("dra-cel-profile-unknown", selected(f"{PROFILE} == '1g.5gb'"), selected(f"{PROFILE} == '1g.10gb'"), {"gpu": "A100-80GB"}),
    ("dra-cel-matches-nothing", FINE_MIG, FINE, {"gpu": "L4"}),
    ("dra-cel-matches-nothing", selected("device.attributes['gpu.nvidia.com'].architecture == 'hopper'"), selected("device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"), {}),
    ("dra-cel-not-judged", selected("cel.bind(d, device.attributes['gpu.nvidia.com'], d.type == 'mig')"), selected("device.attributes['gpu.nvidia.com'].type == 'mig'"), {}),
    ("dra-cel-not-judged", selected("device.attributes['gpu.nvidia.com'].?profile.orValue('') == 'x'"), None, {}),
]  # fmt: skip
