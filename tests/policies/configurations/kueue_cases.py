"""Cases of Kueue's queues and flavors."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.case_rows import CaseRow

CPU = "{name: cpu, nominalQuota: 9}"
GPU = "{name: nvidia.com/gpu, nominalQuota: 8}"


def queue(groups: str, more: str = "") -> str:
    return (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n"
        f"spec: {{namespaceSelector: {{}}, resourceGroups: [{groups}]{more}}}\n"
    )


def group(covered: str, *flavors: str) -> str:
    return f"{{coveredResources: [{covered}], flavors: [{', '.join(flavors)}]}}"


def flavor(name: str, resources: str) -> str:
    return f"{{name: {name}, resources: [{resources}]}}"


FINE_TEXT = queue(group("cpu, nvidia.com/gpu", flavor("a", f"{CPU}, {GPU}")))
FLAVOR = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: %s}\n"
LOCAL = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: l, namespace: ml}\nspec: {clusterQueue: %s}\n"
CHECK = ", admissionChecksStrategy: {admissionChecks: [{name: p, onFlavors: [%s]}]}"

CASES: list[CaseRow] = [
    ("kueue-nothing-to-judge", "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}", None, {}),
    ("config-key-misspelt", queue(group("cpu", flavor("a", CPU)), ", queueingStrateg: StrictFIFO"), None, {}),
    ("config-key-unknown", queue(group("cpu", flavor("a", CPU)), ", whatever: 1"), None, {}),
    ("config-wrong-type", queue(group("cpu", flavor("a", CPU)), ", queueingStrategy: 3"), None, {}),
    ("config-choice-unknown", queue(group("cpu", flavor("a", CPU)), ", queueingStrategy: Fifo"), queue(group("cpu", flavor("a", CPU)), ", queueingStrategy: StrictFIFO"), {}),
    ("config-out-of-bounds", queue(group("", flavor("a", ""))), None, {}),
    ("config-value-missing", FINE_TEXT.replace("name: a, ", ""), None, {}),
    ("config-value-invalid", FINE_TEXT.replace("name: a", "name: A_b"), None, {}),
    ("kueue-quota-order", queue(group("cpu, nvidia.com/gpu", flavor("a", f"{GPU}, {CPU}"))), None, {}),
    ("kueue-quota-order", queue(group("cpu, nvidia.com/gpu", flavor("a", CPU))), None, {}),
    ("kueue-listed-twice", queue(group("cpu", flavor("a", CPU)) + ", " + group("cpu", flavor("b", CPU))), None, {}),
    ("kueue-listed-twice", queue(group("cpu", flavor("a", CPU), flavor("a", CPU))), None, {}),
    ("kueue-flavor-absent", FINE_TEXT + FLAVOR % "b", FINE_TEXT + FLAVOR % "a", {}),
    ("kueue-queue-absent", FINE_TEXT + LOCAL % "r", FINE_TEXT + LOCAL % "q", {}),
    ("object-operator-refuses", queue(group("cpu", flavor("a", CPU)), CHECK % "b"), queue(group("cpu", flavor("a", CPU)), CHECK % "a"), {}),
    ("kueue-version-not-served", FINE_TEXT, FINE_TEXT.replace("v1beta2", "v1beta1"), {"context": {"version": "0.14.0"}}),
    ("kueue-version-not-served", FINE_TEXT.replace("v1beta2", "v1beta1"), FINE_TEXT, {"context": {"version": "0.20.0"}}),
]  # fmt: skip
