"""The picture of hosts, GPUs, profiles and machines; that of the documentation is drawn here."""

import dataclasses
import os
from pathlib import Path
from xml.etree import ElementTree

from pyVmomi import vim

from gpufleet_vcenter.inventory import (
    Host,
    Inventory,
    PassthroughState,
    PhysicalGpu,
)
from gpufleet_vcenter.observed import GpuDevice, Observed
from tests.vcenter.inventory_svg import draw_inventory_svg
from tests.vcenter.test_placement import has, holding, vgpu

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "vsphere-inventory.svg"


def gpu(
    address: str, label: str = "", graphics: str = "", machines: tuple[str, ...] = ()
) -> PhysicalGpu:
    state = PassthroughState.CAPABLE if graphics else PassthroughState.ACTIVE
    return PhysicalGpu(
        address, "20b5", "NVIDIA A100 80GB", 81_920, state, label, graphics, machines
    )


def held(machine: str, name: str, device: GpuDevice, owner: str = "") -> Observed:
    known = holding(name, device, group=owner)
    return dataclasses.replace(known, reference=vim.VirtualMachine(machine))


def example() -> Inventory:
    own = "acme/ml/prod/train"
    first = Host(
        "host-1",
        "esx1",
        True,
        False,
        1024 * 1024,
        2 * 65_536,
        (gpu("0000:3b:00.0", "a100"), gpu("0000:5e:00.0", "a100"), gpu("0000:86:00.0", "a100")),
        (),
        (
            held("vm-1", "gpu-train-0", has("0000:3b:00.0"), f"{own}/0"),
            held("vm-2", "render <old>", GpuDevice(0, "fixed", "0000:5e:00.0")),
        ),
        frozenset(),
    )
    shared = ("vm-3", "vm-4", "vm-5")
    second = Host(
        "host-2",
        "esx2",
        True,
        False,
        1024 * 1024,
        3 * 65_536,
        (gpu("0000:3b:00.0", "", "sharedDirect", shared), gpu("0000:5e:00.0", "", "sharedDirect")),
        ("grid_a100d-20c", "grid_a100d-40c"),
        tuple(
            held(machine, f"gpu-share-{n}", vgpu("grid_a100d-20c"), f"{own}/{n}")
            for n, machine in enumerate(shared)
        ),
        frozenset(),
    )
    return Inventory((first, second))


def test_the_documentation_shows_what_the_code_draws() -> None:
    drawn = draw_inventory_svg(example(), "Hosts, GPUs, profiles and machines")
    if os.environ.get("GPUFLEET_WRITE_PICTURES"):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn


def test_each_machine_stands_beside_its_gpu_and_texts_are_escaped() -> None:
    root = ElementTree.fromstring(draw_inventory_svg(example(), "a & b"))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("free") == 2
    assert "render <old>" in texts
    assert texts.count("grid_a100d-20c, gpufleet") == 3
    assert "esx2: connected, 832 GiB of memory unreserved" in texts
    heights = {
        element.text: float(element.get("y", 0))
        for element in root.iter("{http://www.w3.org/2000/svg}text")
    }
    assert heights["gpu-train-0"] < heights["render <old>"]
    right = [
        float(rect.get("x", 0)) + float(rect.get("width", 0))
        for rect in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert max(right) <= 800 - 16


def test_a_host_without_gpus() -> None:
    bare = Host("h", "esx3", False, True, 1024, 0, (), (), (), frozenset())
    drawn = draw_inventory_svg(Inventory((bare,)), "t")
    assert "esx3: not connected" in drawn
    assert "profiles offered: none" in drawn
