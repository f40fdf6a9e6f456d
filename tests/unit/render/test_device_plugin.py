from gpufleet.fleet.config_names import device_plugin_config_name
from gpufleet.render.gpu_operator_values import device_plugin_config, device_plugin_files
from tests.reading import yaml_data
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.pools import DECLARATIONS, pool


def files(*names: str) -> dict[str, str]:
    partitions = {name: pool(name)[1] for name in names}
    return device_plugin_files({device_plugin_config_name(n, p): p for n, p in partitions.items()})


def test_golden_file() -> None:
    text = "".join(f"# {name}\n{body}" for name, body in files(*DECLARATIONS).items())
    assert_golden("device-plugin.yaml", text)


def test_nodes_that_share_nothing_have_a_document_too() -> None:
    assert files("training", "notebooks", "small") == {"default": "version: v1\n"}


def test_time_slicing() -> None:
    assert device_plugin_config(pool("chat")[1]) == {
        "version": "v1",
        "sharing": {
            "timeSlicing": {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
            }
        },
    }


def test_mps_names_its_root_and_never_time_slicing() -> None:
    document = device_plugin_config(pool("embed")[1])
    assert document["flags"] == {"mpsRoot": "/run/nvidia/mps"}
    assert list(document["sharing"]) == ["mps"]
    assert document["sharing"]["mps"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 8}]


def test_sliced_mig_lists_slices_and_leaves_whole_gpus_alone() -> None:
    document = device_plugin_config(pool("turns")[1])
    assert document["flags"] == {"migStrategy": "mixed"}
    assert document["sharing"]["timeSlicing"]["resources"] == [
        {"name": "nvidia.com/mig-1g.10gb", "replicas": 3},
        {"name": "nvidia.com/mig-3g.40gb", "replicas": 3},
    ]


def test_without_renaming_the_resource_keeps_its_name() -> None:
    sharing = device_plugin_config(pool("visible")[1])["sharing"]["timeSlicing"]
    assert sharing["renameByDefault"] is False
    assert sharing["resources"] == [{"name": "nvidia.com/gpu", "replicas": 2}]


def test_the_files_are_the_documents() -> None:
    name = device_plugin_config_name("turns", pool("turns")[1])
    assert yaml_data(files("turns")[name]) == device_plugin_config(pool("turns")[1])
