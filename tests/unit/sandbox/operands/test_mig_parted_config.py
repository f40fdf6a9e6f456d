"""MP-1 to MP-11: what NVIDIA's parser accepts and rejects, by rule."""

import pytest

from gpufleet_sandbox.operands.mig_parted_config import (
    MigConfigError,
    ParsedMigEntry,
    check_profile,
    parse_configs,
    select,
)


def document(entry: str, name: str = "c") -> str:
    return f"version: v1\nmig-configs:\n  {name}:\n  - {entry}\n"


ACCEPTED = {
    "MP-1 empty": "",
    "MP-3 no configs at all": "version: v1",
    "MP-4": document("{devices: all, mig-enabled: false}"),
    "MP-5 indices": document("{devices: [0, 2], mig-enabled: false}"),
    "MP-5 negative and repeated": document("{devices: [-1, 0, 0], mig-enabled: false}"),
    "MP-6 empty devices": document("{devices: all, mig-enabled: true, mig-devices: {}}"),
    "MP-7 empty devices": document("{devices: all, mig-enabled: false, mig-devices: {}}"),
    "MP-8": document("{devices: all, mig-enabled: true, mig-devices: {1c.3g.40gb: 2}}"),
    "MP-9 one zero": document(
        "{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 0, 2g.20gb: 1}}"
    ),
    "MP-12 unknown profile": document(
        "{devices: all, mig-enabled: true, mig-devices: {9g.999gb: 77}}"
    ),
    "MP-12 senseless filter": document(
        "{devices: all, device-filter: H100, mig-enabled: true, mig-devices: {1g.10gb: 7}}"
    ),
    "filter list": document(
        "{devices: all, device-filter: ['0x20B210DE', '0x233010DE'], mig-enabled: false}"
    ),
}

REJECTED = {
    "MP-1 no version": ("mig-configs: {}", "missing 'version'"),
    "MP-1 other version": ("version: v2\nmig-configs: {}", "unknown version: v2"),
    "MP-2 top level": ("version: v1\nmig-config: {}", "unexpected field: mig-config"),
    "MP-2 entry": (
        document("{devices: all, mig-enabled: false, gpus: 1}"),
        "unexpected field: gpus",
    ),
    "MP-3 no entries": ("version: v1\nmig-configs: {}", "at least one entry in 'mig-configs'"),
    "MP-3 empty list": ("version: v1\nmig-configs: {c: []}", "at least one entry in 'c'"),
    "MP-4 devices": (document("{mig-enabled: false}"), "missing required field: devices"),
    "MP-4 mode": (document("{devices: all}"), "missing required field: mig-enabled"),
    "MP-5 string": (document("{devices: some, mig-enabled: false}"), "invalid string input"),
    "MP-5 mapping": (document("{devices: {a: 1}, mig-enabled: false}"), "a list of GPU indices"),
    "MP-5 strings": (document("{devices: ['0'], mig-enabled: false}"), "a list of GPU indices"),
    "MP-6": (document("{devices: all, mig-enabled: true}"), "when 'mig-enabled' is true"),
    "MP-7": (
        document("{devices: all, mig-enabled: false, mig-devices: {1g.10gb: 1}}"),
        "MIG devices included when 'mig-enabled' is false",
    ),
    "MP-9 negative": (
        document("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: -1}}"),
        "is negative",
    ),
    "MP-9 all zero": (
        document("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 0}}"),
        "all counts in 'mig-devices' are zero",
    ),
    "MP-10 count": (
        document("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: '7'}}"),
        "must be a whole number, found '7'",
    ),
    "MP-10 fraction": (
        document("{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 1.5}}"),
        "must be a whole number",
    ),
    "MP-10 mode": (document("{devices: all, mig-enabled: 'yes'}"), "must be a boolean"),
    "devices as list": (
        document("{devices: all, mig-enabled: true, mig-devices: [1g.10gb]}"),
        "must be a mapping of profiles",
    ),
    "filter": (document("{devices: all, device-filter: 1, mig-enabled: false}"), "device-filter"),
    "entry": ("version: v1\nmig-configs: {c: [1]}", "must be a mapping"),
    "entries": ("version: v1\nmig-configs: {c: {}}", "must be a list"),
    "configs": ("version: v1\nmig-configs: []", "must be a mapping of names"),
    "YAML": ("version: [", "unmarshal error"),
    "scalar": ("7", "unmarshal error: a mapping is needed"),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(text: str) -> None:
    parse_configs(text)


@pytest.mark.parametrize(("text", "reason"), REJECTED.values(), ids=REJECTED.keys())
def test_rejected(text: str, reason: str) -> None:
    with pytest.raises(MigConfigError, match=reason):
        parse_configs(text)


@pytest.mark.parametrize(
    "name",
    ["1g.5gb", "1g.5gb+me", "1g.24gb+me.all", "2g.48gb-me", "1c.2g.10gb", "1g.24gb+me,gfx"],
)
def test_mp8_profile_names(name: str) -> None:
    check_profile(name)


@pytest.mark.parametrize(
    "name",
    [
        "1g.5",
        "1g.5gb.me",
        "1G.5GB",
        "1g.24gb+me-me",
        "1g.5gb+",
        "1g.5gb+1me",
        "1g.5gb+me.",
        "1g.5gb+me,me",
        "gpu",
        "",
    ],
)
def test_mp8_names_outside_the_grammar(name: str) -> None:
    with pytest.raises(MigConfigError, match="invalid format"):
        check_profile(name)


def test_mp11_selected_config_must_be_there() -> None:
    configs = parse_configs(document("{devices: all, mig-enabled: false}", "whole"))
    assert select(configs, "whole") == (ParsedMigEntry((), None, False, {}),)
    with pytest.raises(MigConfigError, match="selected mig-config not present: on"):
        select(configs, "on")


def test_entries_name_gpus_by_index_and_filter() -> None:
    entry = ParsedMigEntry(("0x20b210de",), (1, 1), True, {})
    assert entry.concerns(1, "0x20B210DE")
    assert not entry.concerns(0, "0x20B210DE")
    assert not entry.concerns(1, "0x233010DE")
    assert not ParsedMigEntry(("H100",), None, True, {}).concerns(0, "0x233010DE")


def test_keys_are_read_as_the_go_decoder_reads_them() -> None:
    assert set(parse_configs(document("{devices: all, mig-enabled: off}", "off"))) == {"false"}
