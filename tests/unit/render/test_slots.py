import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from gpufleet.catalogue import load
from gpufleet.partition.placement import MigPlacement, PlacedInstance, place
from gpufleet.render.slots import draw_partition, draw_slots, indices, slot_segments
from gpufleet.render.slots_svg import NARROW, draw_partition_svg, draw_placement_svg
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.pools import DECLARATIONS, pool

SVG = "{http://www.w3.org/2000/svg}"


def placement(key: str, wanted: dict[str, int]) -> MigPlacement:
    geometry = load().gpu(key).mig
    assert geometry is not None
    answer = place(geometry, wanted)
    assert isinstance(answer, MigPlacement)
    return answer


def test_golden_drawings() -> None:
    text = "\n\n".join(f"== {name}\n{draw_partition(*pool(name))}" for name in DECLARATIONS)
    assert_golden("slots.txt", text + "\n")


def test_golden_picture() -> None:
    assert_golden("notebooks.svg", draw_partition_svg(*pool("notebooks"), "pool notebooks"))


def test_lines_are_equally_wide_and_boxes_start_at_their_slot() -> None:
    answer = placement("A100-80GB", {"1g.10gb": 3, "3g.40gb": 1})
    geometry = load().gpu("A100-80GB").mig
    assert geometry is not None
    *boxes, numbers = draw_slots(geometry, answer).splitlines()
    assert {len(line) for line in boxes} == {73}
    assert boxes[0].index("┬") == 9
    assert numbers.split() == [str(slot) for slot in range(8)]
    assert "░" in boxes[1]


def test_segments_cover_every_slot_once() -> None:
    answer = placement("RTX-PRO-6000-BLACKWELL-96GB", {"1g.24gb+me": 1, "2g.48gb": 1})
    geometry = load().gpu("RTX-PRO-6000-BLACKWELL-96GB").mig
    assert geometry is not None
    segments = slot_segments(geometry, answer)
    covered = [slot for s in segments for slot in range(s.start, s.start + s.size)]
    assert covered == list(range(12))
    assert [(s.title, s.detail) for s in segments if s.used] == [
        ("2g.48gb", "47.38 GiB"),
        ("1g.24gb", "+me"),
    ]


def test_indices() -> None:
    gpus = pool("notebooks")[1].gpus
    assert indices(gpus[:1]) == "GPU 0"
    assert indices(gpus[:4]) == "GPUs 0-3"
    assert indices([gpus[0], gpus[2]]) == "GPUs 0, 2"


def test_drawing_says_what_a_node_offers() -> None:
    text = draw_partition(*pool("chat"))
    assert "4 time-sliced shares" in text
    assert text.endswith("one node offers: nvidia.com/gpu.shared x 16")


def test_picture_is_well_formed_self_contained_and_spoken() -> None:
    for name in DECLARATIONS:
        text = draw_partition_svg(*pool(name), f"pool {name}")
        root = ElementTree.fromstring(text)
        assert root.get("role") == "img"
        assert root.find(f"{SVG}title") is not None
        assert not re.search(r"href|<script|<image|@import|https?://(?!www\.w3\.org)", text)
        for box in root.iter(f"{SVG}g"):
            assert box.find(f"{SVG}title") is not None
        for rectangle in root.iter(f"{SVG}rect"):
            left = float(rectangle.get("x", "0"))
            assert left >= 0
            assert left + float(rectangle.get("width", "0")) <= 800


def test_texts_are_escaped() -> None:
    gpu, partition = pool("chat")
    text = draw_partition_svg(gpu, partition, '<script>"&')
    assert ElementTree.fromstring(text).findtext(f"{SVG}title") == '<script>"&'
    hostile = replace(
        placement("A100-80GB", {"7g.80gb": 1}),
        instances=(PlacedInstance("7g.80gb", 0, 8, 7, ('<img src="x">.7g',)),),
    )
    picture = draw_placement_svg(load().gpu("A100-80GB"), hostile)
    assert "<img" not in picture
    ElementTree.fromstring(picture)


def test_a_narrow_picture_has_every_label_in_its_box() -> None:
    """A letter of 13 px has 7 at most, one of 11 px 6, one of 9 px 5 (Chromium, system-ui)."""
    for name in DECLARATIONS:
        root = ElementTree.fromstring(draw_partition_svg(*pool(name), f"pool {name}", NARROW))
        assert root.get("viewBox", "").split()[2] == str(NARROW)
        for group in root.iter(f"{SVG}g"):
            box = group.find(f"{SVG}rect")
            assert box is not None
            for text in group.iter(f"{SVG}text"):
                kind = text.get("class", "")
                letter = 5 if "tiny" in kind else 6 if "small" in kind else 7
                assert len(text.text or "") * letter <= float(box.get("width", "0")) + 2, text.text
