"""DP-1 to DP-17: what the plugin's own parser accepts, rejects and ignores, by rule."""

import pytest

from gpufleet_sandbox.operands.device_plugin_config import (
    PluginConfigError,
    SharingInForce,
    check_together,
    parse_plugin_config,
)

SLICED = "sharing: {timeSlicing: {resources: [%s]}}"


def sharing(text: str) -> SharingInForce:
    found = parse_plugin_config(text).sharing
    assert found is not None
    return found


ACCEPTED = {
    "empty": "",
    "DP-1": "version: v1",
    "DP-1 absent": "flags: {migStrategy: mixed}",
    "DP-3": SLICED % "{name: nvidia.com/gpu, replicas: 2}",
    "DP-4 all": SLICED % "{name: gpu, replicas: 2, devices: all}",
    "DP-4 count": SLICED % "{name: gpu, replicas: 2, devices: 3}",
    "DP-4 list": SLICED % "{name: gpu, replicas: 2, devices: ['0', '0:1']}",
    "DP-6": SLICED % "{name: mig-1g.10gb.me, replicas: 2}",
    "DP-12": "timeSlice: {replicas: 4}\nsharing: {timeSlicing: {interval: 1, resources: "
    "[{name: gpu, replicas: 2, colour: red}]}}",
    "DP-15 list": "flags: {plugin: {deviceListStrategy: [envvar, cdi-cri]}}",
    "DP-16": "imex: {channelIDs: [0]}",
    "DP-17": "resources: {gpus: [{pattern: '*', name: gpu}]}",
}

REJECTED = {
    "DP-1": ("version: v2", "unknown version: v2"),
    "DP-2 empty block": ("sharing: {timeSlicing: {}}", "no resources specified"),
    "DP-2 empty list": (SLICED % "", "no resources specified"),
    "DP-2 mps": ("sharing: {mps: {renameByDefault: true}}", "no resources specified"),
    "DP-3 name": (SLICED % "{replicas: 2}", "no resource name"),
    "DP-3 replicas": (SLICED % "{name: gpu}", "no number of replicas"),
    "DP-3 one": (SLICED % "{name: gpu, replicas: 1}", "must be >= 2, nvidia.com/gpu has 1"),
    "DP-3 string": (SLICED % "{name: gpu, replicas: '4'}", "must be a number: '4'"),
    "DP-3 fraction": (SLICED % "{name: gpu, replicas: 2.5}", "must be a number: 2.5"),
    "DP-4 string": (SLICED % "{name: gpu, replicas: 2, devices: some}", "unrecognized devices"),
    "DP-4 zero": (SLICED % "{name: gpu, replicas: 2, devices: 0}", "unrecognized devices"),
    "DP-4 list": (SLICED % "{name: gpu, replicas: 2, devices: [x]}", "unrecognized devices"),
    "DP-6 plus": (SLICED % "{name: mig-1g.10gb+me, replicas: 2}", "incorrect format"),
    "DP-6 case": (SLICED % "{name: GPU, replicas: 2}", "incorrect format"),
    "DP-6 prefix": (SLICED % "{name: example.com/gpu, replicas: 2}", "incorrect format"),
    "DP-6 length": (SLICED % ("{name: %s, replicas: 2}" % ("g" * 53)), "over 63 characters"),
    "DP-12 case inside": (
        "sharing: {timeSlicing: {Resources: [{name: gpu, replicas: 2}]}}",
        "no resources specified",
    ),
    "DP-15 strategy": ("flags: {migStrategy: dual}", "invalid --migStrategy option: dual"),
    "DP-15 list": (
        "flags: {plugin: {deviceListStrategy: [envvar, cdi]}}",
        "invalid --deviceListStrategy option: cdi",
    ),
    "DP-15 id": ("flags: {plugin: {deviceIDStrategy: name}}", "invalid --deviceIDStrategy"),
    "DP-15 policy": (
        "flags: {plugin: {sharedDevicesAllocationPolicy: dense}}",
        "one of distributed, packed",
    ),
    "DP-15 discovery": ("flags: {deviceDiscoveryStrategy: pci}", "one of auto, nvml, tegra"),
    "DP-16": ("imex: {channelIDs: [1]}", "only"),
    "DP-17": ("resources: {mig: [{pattern: '*'}]}", "resources without pattern or name"),
    "types": ("sharing: [1]", "cannot unmarshal"),
    "flag type": (
        "sharing: {timeSlicing: {renameByDefault: 'yes', resources: [{name: gpu, replicas: 2}]}}",
        "renameByDefault must be a boolean",
    ),
    "YAML": ("version: {", "unmarshal error"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(text: str) -> None:
    parse_plugin_config(text)


@pytest.mark.parametrize(("text", "reason"), REJECTED.values(), ids=REJECTED.keys())
def test_rejected(text: str, reason: str) -> None:
    with pytest.raises(PluginConfigError, match=reason):
        parse_plugin_config(text)


def test_dp5_and_ignored_settings_are_warned_about() -> None:
    config = parse_plugin_config(
        SLICED % "{name: gpu, replicas: 4, rename: gpu.small, devices: [0]}"
        + "\nresources: {gpus: [{pattern: '*', name: gpu}]}"
    )
    assert len(config.warnings) == 3
    assert config.sharing is not None
    assert not config.sharing.rename


def test_dp6_the_prefix_is_added() -> None:
    assert sharing(SLICED % "{name: gpu, replicas: 4}").resources[0].name == "nvidia.com/gpu"


def test_dp11_mps_wins_over_time_slicing() -> None:
    text = (
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}, "
        "mps: {resources: [{name: gpu, replicas: 8}]}}"
    )
    assert sharing(text).kind == "mps"
    assert sharing(text).replicas("nvidia.com/gpu") == 8
    assert any("mps is used" in text for text in parse_plugin_config(text).warnings)


def test_dp12_keys_match_whatever_their_case() -> None:
    text = (
        "Sharing: {TimeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n"
        "FLAGS: {MigStrategy: mixed}"
    )
    assert sharing(text).replicas("nvidia.com/gpu") == 4
    assert parse_plugin_config(text).mig_strategy == "mixed"


def test_dp13_of_repeated_resources_the_larger_wins() -> None:
    both = "{name: gpu, replicas: 4}, {name: nvidia.com/gpu, replicas: 6}"
    assert sharing(SLICED % both).replicas("nvidia.com/gpu") == 6


def test_requests_above_one_are_refused_by_default_under_mps_only() -> None:
    sliced = sharing("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}")
    served = sharing("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}")
    assert not sliced.fail_requests_greater_than_one
    assert served.fail_requests_greater_than_one


MPS = parse_plugin_config("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}")


def test_dp7_mps_with_mixed() -> None:
    check_together(MPS, "single", "/run/nvidia/mps")
    with pytest.raises(PluginConfigError, match="mixed is not supported with MPS"):
        check_together(MPS, "mixed", "/run/nvidia/mps")


def test_dp8_mps_needs_its_root() -> None:
    with pytest.raises(PluginConfigError, match="requires --mps-root"):
        check_together(MPS, "none", "")
    own = parse_plugin_config(
        "flags: {mpsRoot: /mps}\nsharing: {mps: {resources: [{name: gpu, replicas: 2}]}}"
    )
    check_together(own, "none", "")
    check_together(parse_plugin_config(SLICED % "{name: gpu, replicas: 2}"), "mixed", "")
