from gpufleet.fleet.config_names import mig_config_name
from gpufleet.render.gpu_operator_values import mig_parted_config, mig_parted_file
from tests.reading import yaml_data
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.pools import DECLARATIONS, pool


def entries(*names: str):  # type: ignore[no-untyped-def]
    pools = {name: pool(name) for name in names}
    return {mig_config_name(n, p): (g, p) for n, (g, p) in pools.items()}


def test_golden_file() -> None:
    assert_golden("mig-parted.yaml", mig_parted_file(entries(*DECLARATIONS)))


def test_each_gpu_of_the_node_is_listed_once_with_its_layout() -> None:
    name = mig_config_name("notebooks", pool("notebooks")[1])
    config = mig_parted_config(entries("notebooks"))["mig-configs"][name]
    assert config == [
        {"devices": [0, 1, 2, 3], "mig-enabled": True, "mig-devices": {"1g.10gb": 7}},
        {"devices": [4, 5, 6], "mig-enabled": True, "mig-devices": {"2g.20gb": 2, "3g.40gb": 1}},
        {"devices": [7], "mig-enabled": False},
    ]


def test_pools_without_mig_use_all_disabled() -> None:
    document = mig_parted_config(entries("training", "chat"))
    assert document == {
        "version": "v1",
        "mig-configs": {"all-disabled": [{"devices": "all", "mig-enabled": False}]},
    }


def test_profiles_keep_nvidias_spelling() -> None:
    document = mig_parted_config(entries("graphics"))
    (config,) = (c for n, c in document["mig-configs"].items() if n != "all-disabled")
    assert config[0]["mig-devices"] == {"1g.24gb+me.all": 1, "1g.24gb-me": 3}


def test_the_file_is_the_document() -> None:
    assert yaml_data(mig_parted_file(entries(*DECLARATIONS))) == mig_parted_config(
        entries(*DECLARATIONS)
    )


def test_the_order_of_the_pools_changes_nothing() -> None:
    assert mig_parted_file(entries("small", "turns")) == mig_parted_file(entries("turns", "small"))
