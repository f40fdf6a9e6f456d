from pathlib import Path, PurePath

from tests.engine.order_of_files import OTHERWISE, SECONDS, long_ones_first

FOLDER = Path(__file__).parents[1] / "engine"


def test_every_named_file_is_there() -> None:
    assert [name for name in SECONDS if not (FOLDER / name).is_file()] == []
    assert min(SECONDS.values()) > OTHERWISE


def test_files_stay_whole_and_tests_in_their_order() -> None:
    items = [("test_gke.py", 1), ("test_gke.py", 2), ("short.py", 1), ("test_addons.py", 1)]
    items += [("test_examples.py", 1), ("vsphere/test_group.py", 1)]
    assert long_ones_first(items, lambda item: PurePath(item[0])) == [
        ("test_addons.py", 1),
        ("vsphere/test_group.py", 1),
        ("test_gke.py", 1),
        ("test_gke.py", 2),
        ("test_examples.py", 1),
        ("short.py", 1),
    ]
