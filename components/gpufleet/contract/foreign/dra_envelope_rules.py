"""What Kubernetes and the scheduler do with claims, templates and classes, rule by rule."""

from gpufleet.contract.foreign.validation import CheckRule, Verdict

_VALIDATION = "kubernetes/kubernetes pkg/apis/resource/validation/validation.go"
_TYPES = "kubernetes/kubernetes staging/src/k8s.io/api/resource"
_CEL = "kubernetes/kubernetes staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go"
_DEVICES = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go"
_STATE = "kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go"
_CLASSES = "kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm templates"

_REJECT, _WARN, _ACCEPT = Verdict.REJECT, Verdict.WARN, Verdict.ACCEPT


def _rule(code: str, verdict: Verdict, sentence: str, source: str) -> CheckRule:
    return CheckRule(code, ("7.1",), verdict, sentence, source)


RULES = (
    _rule(
        "dra-api-not-served",
        _REJECT,
        "The API version of a claim, template or class is served by no supported Kubernetes "
        "(v1alpha2, v1alpha3), or not by the cluster of the context: v1 came with 1.34, v1beta2 "
        "with 1.33, v1beta1 with 1.32.",
        _TYPES,
    ),
    _rule(
        "dra-field-too-new",
        _REJECT,
        "A field or value of a claim, template or class came with a later minor version than the "
        "cluster's.",
        "k8s.io/api v0.31.14 to v0.36.3, resource/*/types.go",
    ),
    _rule(
        "dra-field-missing",
        _REJECT,
        "A field that the API server requires is missing.",
        _VALIDATION,
    ),
    _rule(
        "dra-value-invalid",
        _REJECT,
        "A value is none of those the API server allows, or outside its bounds.",
        _VALIDATION,
    ),
    _rule(
        "dra-no-requests",
        _WARN,
        "A claim has no request: it is accepted, and nothing is allocated.",
        _VALIDATION,
    ),
    _rule(
        "dra-request-name",
        _REJECT,
        "The name of a request is no DNS-1123 label, or two requests have it.",
        _VALIDATION,
    ),
    _rule(
        "dra-request-kind",
        _REJECT,
        "A request has neither or both of `exactly` (v1beta1: deviceClassName) and "
        "`firstAvailable`.",
        _VALIDATION,
    ),
    _rule("dra-class-missing", _REJECT, "A request has no deviceClassName.", _VALIDATION),
    _rule(
        "dra-class-misspelt",
        _REJECT,
        "The device class is another form of one that the driver's chart creates, such as "
        "gpus.nvidia.com: it does not exist, and the pod stays pending.",
        _CLASSES,
    ),
    _rule(
        "dra-class-unknown",
        _WARN,
        "A device class of nvidia.com that neither the driver's chart nor this text creates.",
        _CLASSES,
    ),
    _rule(
        "dra-class-off",
        _REJECT,
        "The values of the driver's chart have resources.gpus.enabled false, and it creates no "
        "class for GPUs then (dra-driver-nvidia-gpu#338).",
        _CLASSES,
    ),
    _rule(
        "dra-count-invalid",
        _REJECT,
        "count is negative, or is given with allocationMode All.",
        _VALIDATION,
    ),
    _rule(
        "dra-count-zero",
        _WARN,
        "count is 0, which defaulting makes 1: one device is allocated.",
        "kubernetes/kubernetes pkg/apis/resource/v1/defaults.go",
    ),
    _rule(
        "dra-request-absent",
        _REJECT,
        "config or constraints name a request that the claim does not have.",
        _VALIDATION,
    ),
    _rule(
        "dra-config-mismatch",
        _REJECT,
        'A config is for another type of device than its request allocates: "cannot apply '
        'MigDeviceConfig to device", when the claim is prepared.',
        _STATE,
    ),
    _rule(
        "dra-config-unused",
        _WARN,
        "A config for all requests fits no device of any of them: it is skipped.",
        _STATE,
    ),
    _rule(
        "dra-constraint-attribute",
        _REJECT,
        "A constraint names an attribute without its domain, or one that the driver does not "
        "publish.",
        _DEVICES,
    ),
    _rule(
        "dra-cel-invalid",
        _REJECT,
        "The expression of a selector does not parse, names something undeclared, compares types "
        "that have no such operator, or yields no true or false.",
        _CEL,
    ),
    _rule(
        "dra-cel-attribute-unknown",
        _REJECT,
        "The expression asks for an attribute or domain that the driver does not publish for this "
        'type of device: "no such key" when it is evaluated, and nothing is allocated.',
        _DEVICES,
    ),
    _rule(
        "dra-cel-attribute-former",
        _WARN,
        "The expression asks for an attribute that only older drivers published (index, minor).",
        _DEVICES,
    ),
    _rule(
        "dra-cel-profile-unknown",
        _REJECT,
        "The expression asks for a MIG profile that no GPU of the catalogue has.",
        "published placements (nvidia-smi mig -lgipp), docs/catalogue.md",
    ),
    _rule(
        "dra-cel-matches-nothing",
        _WARN,
        "No GPU of the catalogue matches the expression.",
        "gpufleet catalogue gpus",
    ),
    _rule(
        "dra-cel-not-judged",
        _ACCEPT,
        "The expression uses what the evaluator does not have (cel.bind, optional fields, "
        "functions of other libraries): it is not validated.",
        "docs/decisions/2026-11-23-device-selectors.md",
    ),
)
