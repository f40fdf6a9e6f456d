"""Truth values and numbers of a declaration are what is written: nothing is read out of text.

Kubernetes decodes text into no bool and no int (encoding/json: "cannot unmarshal string into Go
struct field"), so a value that only this reader takes would be one that no platform has seen.
"""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import ValidationError

from gpufleet.cli.schema import _models  # pyright: ignore[reportPrivateUsage]
from gpufleet.platforms.compiled import compile_data
from gpufleet.spec.base import SpecModel
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.eks import DeclaredEksCluster
from gpufleet_planner.sizing.request import parse_request

TRUTH_VALUES = ("yes", "no", "on", "off", "true", "false", "y", "t", "1", 1, 0, 1.0)
WHOLE_NUMBERS = ("8", " 8 ", "8.0", "1_000", True, False, 1.5)
NUMBERS = ("0.5", "1", True)


def wrong(annotation: Any) -> Iterator[tuple[type, object]]:
    """Values that a field must refuse, each in the lists and mappings that the field has."""
    kind, arguments = get_origin(annotation), get_args(annotation)
    if annotation is bool:
        yield from ((bool, value) for value in TRUTH_VALUES)
    elif annotation is int:
        yield from ((int, value) for value in WHOLE_NUMBERS)
    elif annotation is float:
        yield from ((float, value) for value in NUMBERS)
    elif kind is tuple:
        yield from ((scalar, [value]) for scalar, value in wrong(arguments[0]))
    elif kind is dict:
        yield from ((scalar, {"a": value}) for scalar, value in wrong(arguments[1]))
    else:
        texts = str in arguments
        for argument in arguments:
            for scalar, value in wrong(argument):
                if not (texts and isinstance(value, str)):
                    yield scalar, value


def fields() -> Iterator[tuple[str, type[SpecModel], str, type, object]]:
    for model in _models(FleetSpec):
        for name, field in model.model_fields.items():
            key = field.alias or name
            for scalar, value in wrong(field.annotation):
                yield f"{model.__name__}.{key}", model, key, scalar, value  # type: ignore[misc]


def test_no_field_of_the_declaration_converts() -> None:
    taken: set[str] = set()
    asked: dict[type, set[str]] = {bool: set(), int: set(), float: set()}
    for name, model, key, scalar, value in fields():
        asked[scalar].add(name)
        try:
            model.model_validate({key: value})
        except ValidationError as problem:
            if any(detail["loc"][:1] == (key,) for detail in problem.errors()):
                continue
        taken.add(f"{name}: {value!r} as {scalar.__name__}")
    assert not taken
    assert len(asked[bool]) > 80
    assert len(asked[int]) > 100
    assert len(asked[float]) > 10


def findings(pool: dict[str, object]) -> list[tuple[str, str, str, str | None]]:
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [
                {
                    "name": "chat",
                    "instanceTypes": ["g6.2xlarge"],
                    "provisioner": "karpenter",
                    "nodes": {"min": 0, "max": 2},
                    **pool,
                }
            ],
        }
    )
    return [(f.code, f.path, f.message, f.fix) for f in compiled.findings if "wrong" in f.code]


@pytest.mark.parametrize(
    ("pool", "path", "message", "fix"),
    [
        (
            {"karpenter": {"buffer": "yes"}},
            "karpenter.buffer",
            "found 'yes': true or false is wanted",
            "write true without quotes",
        ),
        (
            {"gpuTaint": "off"},
            "gpuTaint",
            "found 'off': true or false is wanted",
            "write false without quotes",
        ),
        (
            {"nodes": {"min": 0, "max": "8"}},
            "nodes.max",
            "found '8': a whole number is wanted",
            "write 8 without quotes",
        ),
        (
            {"sharing": {"mig": {"layouts": [{"gpus": [0, 1], "devices": {"1g.10gb": 7}}]}}},
            "sharing.mig.layouts[0].gpus",
            "found a list of 2: a whole number is wanted; a list of 2 is not one of all",
            "write the number of GPUs: 2",
        ),
    ],
)
def test_the_error_names_field_value_and_fix(
    pool: dict[str, object], path: str, message: str, fix: str
) -> None:
    assert findings(pool) == [("spec-value-wrong-type", f"pools[0].{path}", message, fix)]


def test_a_whole_number_may_have_a_point() -> None:
    """JSON has one kind of number, and hosts of components send 4.0."""
    assert not findings({"nodes": {"min": 0.0, "max": 4.0}})


def test_arguments_of_a_cluster_and_requests_of_the_planner_convert_nothing() -> None:
    cluster: dict[str, Any] = {"clusterName": "ml", "region": "us-east-1", "zones": ["us-east-1a"]}
    DeclaredEksCluster.model_validate(cluster)
    with pytest.raises(ValidationError, match="valid boolean"):
        DeclaredEksCluster.model_validate({**cluster, "spotRole": "yes"})
    _, found = parse_request({"model": "llama-3.1-8b", "concurrency": "8"})
    assert "concurrency" in {one.path for one in found}
