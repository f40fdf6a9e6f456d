"""Shapes of the GPU Operator's values: sections, lists, variables of an environment.

The chart has no schema: its templates fail on a wrong section in words of their own, and what they
hand on as it is the definitions refuse (`crds/nvidia.com_clusterpolicies.yaml`).
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.contract.foreign.go_json import as_list, as_mapping, kind_of, shown
from gpufleet.contract.foreign.known_keys import KnownKeys
from gpufleet.contract.foreign.validation import CheckReport
from gpufleet.documents.paths import child

_LISTS = ("env", "args", "imagePullSecrets", "tolerations", "relabelings")
_NAMED = {
    "devicePlugin.config": "write `config: {name: %s}`, the name of a ConfigMap",
    "migManager.config": "write `config: {name: %s}`, the name of a ConfigMap",
    "dcgmExporter.config": "write `config: {name: %s}`, the name of a ConfigMap",
    "migManager.gpuClientsConfig": "write `gpuClientsConfig: {name: %s}`, the name of a ConfigMap",
    "vgpuDeviceManager.config": "write `config: {name: %s}`, the name of a ConfigMap",
}
"""Sections that people take for the name of what they refer to."""


def validate_shapes(
    values: Mapping[str, Any], known: KnownKeys, root: str, report: CheckReport
) -> None:
    """Report sections that are none, lists that are none, and variables without text."""
    _section(values, known, "", root, report)


def _section(
    values: Mapping[str, Any], known: KnownKeys, dotted: str, path: str, report: CheckReport
) -> None:
    names = known.get(dotted, ())
    for key, value in values.items():
        below, place = f"{dotted}.{key}" if dotted else key, child(path, key)
        if key not in names or value is None or value == "":
            continue
        if below in known:
            inner = as_mapping(value)
            if inner is None:
                _no_section(below, key, value, place, report)
            else:
                _section(inner, known, below, place, report)
        elif key in _LISTS:
            _list(key, value, place, report)


def _no_section(dotted: str, key: str, value: Any, place: str, report: CheckReport) -> None:
    fix = f"write `{key}: {{...}}`, or leave it out"
    if isinstance(value, bool):
        fix = f"write `{key}: {{enabled: {str(value).lower()}}}`"
    elif isinstance(value, str) and dotted in _NAMED:
        fix = _NAMED[dotted] % value
    report.add(
        "gpu-operator-wrong-type",
        place,
        f"{dotted} is {kind_of(value)} ({shown(value)}), a mapping is needed",
        fix,
        value=shown(value),
    )


def _list(key: str, value: Any, place: str, report: CheckReport) -> None:
    items = as_list(value)
    if items is None:
        if value in ({}, False):
            return  # the templates leave out what is empty
        report.add(
            "gpu-operator-wrong-type",
            place,
            f"{key} is {kind_of(value)}, a list is needed",
            _as_list(key, value),
            value=shown(value),
        )
        return
    for index, item in enumerate(items):
        if key == "env":
            _variable(item, child(place, index), report)
        elif key == "imagePullSecrets" and not isinstance(item, str):
            named = (as_mapping(item) or {}).get("name")
            report.add(
                "gpu-operator-wrong-type",
                child(place, index),
                f"a pull secret is {kind_of(item)}, its name is needed",
                f"write `- {named}`" if isinstance(named, str) else "write the Secret's name",
                value=shown(item),
            )


def _as_list(key: str, value: Any) -> str:
    mapping = as_mapping(value)
    if key == "env" and mapping is not None:
        shown_ = ", ".join(f'{{name: {n}, value: "{_text(v)}"}}' for n, v in mapping.items())
        return f"write `env: [{shown_}]`"
    return f"write `{key}: [{value}]`" if isinstance(value, str) else f"write `{key}: [...]`"


def _variable(item: Any, place: str, report: CheckReport) -> None:
    variable = as_mapping(item)
    if variable is None or not isinstance(variable.get("name"), str):
        report.add(
            "gpu-operator-wrong-type",
            place,
            f"a variable is {kind_of(item)}, a mapping with a name is needed",
            'write `{name: NAME, value: "text"}`',
            value=shown(item),
        )
        return
    value = variable.get("value")
    if value is not None and not isinstance(value, str):
        report.add(
            "gpu-operator-wrong-type",
            child(place, "value"),
            f"{variable['name']} is {kind_of(value)} ({shown(value)}), the definition takes text",
            f'write "{_text(value)}" in quotes',
            value=shown(value),
        )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
