import json

import pytest

from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, HardwareError, read_hardware

GPU = {"product": "NVIDIA L4", "memoryMiB": 23034, "count": 2}
A100 = {"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 1}


def annotated(**keys: object) -> dict[str, str]:
    return {HARDWARE_ANNOTATION: json.dumps({"cpu": "8", "memory": "64Gi", **keys})}


def test_groups_become_numbered_gpus() -> None:
    hardware = read_hardware(annotated(gpus=[GPU, A100], driver="580.95.05"))
    assert [(gpu.index, gpu.board.product) for gpu in hardware.gpus] == [
        (0, "NVIDIA L4"),
        (1, "NVIDIA L4"),
        (2, "NVIDIA A100-SXM4-80GB"),
    ]
    assert hardware.mig_capable
    assert (hardware.driver, hardware.toolkit, hardware.gpu_reset) == ("580.95.05", True, True)


def test_without_a_driver_the_image_has_no_toolkit_either() -> None:
    assert read_hardware(annotated(gpus=[GPU])).toolkit is False


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({}, "has no annotation"),
        ({HARDWARE_ANNOTATION: "{"}, "is not JSON"),
        ({HARDWARE_ANNOTATION: "[]"}, "must be a JSON object"),
        (annotated(gpu=[GPU]), "unknown key gpu; known keys are"),
        ({HARDWARE_ANNOTATION: '{"memory": "1Gi"}'}, "cpu must be a Kubernetes quantity"),
        (annotated(memory="12GB"), "memory: '12GB' is not a Kubernetes quantity"),
        (annotated(pods=110), "pods must be a Kubernetes quantity"),
        (annotated(driver=580), "driver must be a version in quotes"),
        (annotated(gpus={}), "gpus must be a list"),
        (annotated(gpus=[{"product": "NVIDIA L4"}]), r"gpus\[0\] must have product, memoryMiB"),
        (annotated(gpus=[{**GPU, "product": "NVIDIA Z1"}]), "not a board the simulator knows"),
        (annotated(gpus=[{**GPU, "count": 0}]), r"gpus\[0\].count must be a whole number above 0"),
        (annotated(gpus=[{**GPU, "count": True}]), r"gpus\[0\].count must be a whole number"),
    ],
)
def test_what_cannot_be_read_is_named(annotations: dict[str, str], reason: str) -> None:
    with pytest.raises(HardwareError, match=reason):
        read_hardware(annotations)
