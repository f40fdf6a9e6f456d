"""What Kubernetes and the scheduler do with claims, templates and classes, rule by rule."""

from gpufleet.contract.programs.validation import accept, reject, warn

_VALIDATION = "kubernetes/kubernetes pkg/apis/resource/validation/validation.go"
_TYPES = "kubernetes/kubernetes staging/src/k8s.io/api/resource"
_CEL = "kubernetes/kubernetes staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go"
_DEVICES = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go"
_STATE = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go"
_CLASSES = "kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates"

RULES = (
    reject(
        "dra-api-not-served",
        ("7.1",),
        "The API version of a claim, template or class is served by no supported Kubernetes "
        "(v1alpha2, v1alpha3), or not by the cluster of the context: v1 came with 1.34, v1beta2 "
        "with 1.33, v1beta1 with 1.32.",
        _TYPES,
    ),
    reject(
        "dra-field-too-new",
        ("7.1",),
        "A field or value of a claim, template or class came with a later minor version than the "
        "cluster's.",
        "k8s.io/api v0.31.14 to v0.36.3, resource/*/types.go",
    ),
    reject(
        "dra-field-missing",
        ("7.1",),
        "A field that the API server requires is missing.",
        _VALIDATION,
    ),
    reject(
        "dra-value-invalid",
        ("7.1",),
        "A value is none of those the API server allows, or outside its bounds.",
        _VALIDATION,
    ),
    warn(
        "dra-no-requests",
        ("7.1",),
        "A claim has no request: it is accepted, and nothing is allocated.",
        _VALIDATION,
    ),
    reject(
        "dra-request-name",
        ("7.1",),
        "The name of a request is no DNS-1123 label, or two requests have it.",
        _VALIDATION,
    ),
    reject(
        "dra-request-kind",
        ("7.1",),
        "A request has neither or both of `exactly` (v1beta1: deviceClassName) and "
        "`firstAvailable`.",
        _VALIDATION,
    ),
    reject("dra-class-missing", ("7.1",), "A request has no deviceClassName.", _VALIDATION),
    reject(
        "dra-class-misspelt",
        ("7.1",),
        "The device class is another form of one that the driver's chart creates, such as "
        "gpus.nvidia.com: it does not exist, and the pod stays pending.",
        _CLASSES,
    ),
    warn(
        "dra-class-unknown",
        ("7.1",),
        "A device class of nvidia.com that neither the driver's chart nor this text creates.",
        _CLASSES,
    ),
    reject(
        "dra-class-off",
        ("7.1",),
        "The values of the driver's chart have resources.gpus.enabled false, and it creates no "
        "class for GPUs then (dra-driver-nvidia-gpu#338).",
        _CLASSES,
    ),
    reject(
        "dra-count-invalid",
        ("7.1",),
        "count is negative, or is given with allocationMode All.",
        _VALIDATION,
    ),
    warn(
        "dra-count-zero",
        ("7.1",),
        "count is 0, which defaulting makes 1: one device is allocated.",
        "kubernetes/kubernetes pkg/apis/resource/v1/defaults.go",
    ),
    reject(
        "dra-request-absent",
        ("7.1",),
        "config or constraints name a request that the claim does not have.",
        _VALIDATION,
    ),
    reject(
        "dra-config-mismatch",
        ("7.1",),
        'A config is for another type of device than its request allocates: "cannot apply '
        'MigDeviceConfig to device", when the claim is prepared.',
        _STATE,
    ),
    warn(
        "dra-config-unused",
        ("7.1",),
        "A config for all requests fits no device of any of them: it is skipped.",
        _STATE,
    ),
    reject(
        "dra-constraint-attribute",
        ("7.1",),
        "A constraint names an attribute without its domain, or one that the driver does not "
        "publish.",
        _DEVICES,
    ),
    reject(
        "dra-cel-invalid",
        ("7.1",),
        "The expression of a selector does not parse, names something undeclared, compares types "
        "that have no such operator, or yields no true or false.",
        _CEL,
    ),
    reject(
        "dra-cel-attribute-unknown",
        ("7.1",),
        "The expression asks for an attribute or domain that the driver does not publish for this "
        'type of device: "no such key" when it is evaluated, and nothing is allocated.',
        _DEVICES,
    ),
    warn(
        "dra-cel-attribute-former",
        ("7.1",),
        "The expression asks for an attribute that only older drivers published (index, minor).",
        _DEVICES,
    ),
    reject(
        "dra-cel-profile-unknown",
        ("7.1",),
        "The expression asks for a MIG profile that no GPU of the catalogue has.",
        "published placements (nvidia-smi mig -lgipp), docs/catalogue.md",
    ),
    warn(
        "dra-cel-matches-nothing",
        ("7.1",),
        "No GPU of the catalogue matches the expression.",
        "gpufleet catalogue gpus",
    ),
    accept(
        "dra-cel-not-judged",
        ("7.1",),
        "The expression uses what the evaluator does not have (cel.bind, optional fields, "
        "functions of other libraries): it is not validated.",
        "docs/decisions/2026-11-23-device-selectors.md",
    ),
)
