"""Gates, gated fields and limits out of Kubernetes' Go files."""

from tools.catalogue.resource_api import field_rows, gate_rows

GATES = """
	DRAExtendedResource: {
		{Version: version.MustParse("1.34"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.37"), Default: true, LockToDefault: true}, // remove in 1.40
	},

	OtherFeature: {
		{Version: version.MustParse("1.34"), Default: true, PreRelease: featuregate.Beta},
	},

	DRASchedulerFilterTimeout: {
		{Version: version.MustParse("1.34"), Default: true, PreRelease: featuregate.Beta},
	},
"""
TYPES = """
const (
	DeviceRequestsMaxSize    = AllocationResultsMaxSize
)
const AllocationResultsMaxSize = 32

type Device struct {
	// +featureGate=DRADeviceTaints
	Taints []DeviceTaint `json:"taints,omitempty"`
}

type ExactDeviceRequest struct {
	// Name of the class.
	DeviceClassName string `json:"deviceClassName"`

	// Tolerations of taints.
	//
	// +optional
	// +featureGate=DRADeviceTaints
	Tolerations []DeviceToleration `json:"tolerations,omitempty"`
}
"""


def test_gates_with_default_and_lock() -> None:
    one, two = gate_rows(GATES)
    assert one["since"] == "1.34"
    assert one["changed"] == {"1.36": True}
    assert one["locked"] == "1.37"
    assert two == {
        "program": "kubernetes",
        "kind": "gate",
        "name": "DRASchedulerFilterTimeout",
        "since": "1.34",
        "on": True,
        "source": "kubernetes-gates",
    }


def test_fields_that_a_gate_keeps_and_limits() -> None:
    rows = list(field_rows({"1.33": [TYPES]}))
    assert [(row["kind"], row["name"]) for row in rows] == [
        ("field", "tolerations"),
        ("limit", "requests"),
    ]
    assert rows[0]["gate"] == "DRADeviceTaints"
    assert rows[1]["limit"] == 32
