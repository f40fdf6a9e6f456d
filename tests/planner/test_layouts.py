import random

from gpufleet.catalogue import Gpu, load
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import Mode, PackingMachine, PackingProblem, ShareClass
from gpufleet_planner.planning.layouts import lay_out_pools
from tests.examples import examples
from tests.planner.plan_files import offered

CATALOGUE = load()
A100 = CATALOGUE.gpu("A100-80GB")


def test_the_published_example_fills_eight_gpus() -> None:
    (found,) = lay_out_pools(A100, {"1g.10gb": 16, "2g.20gb": 8, "3g.40gb": 8}, 8)
    assert (found.nodes, found.gpus_cut) == (1, 8)
    assert {k: offered(found)[k] >= n for k, n in {"1g.10gb": 16, "2g.20gb": 8}.items()}


def test_stranded_slices_cost_nothing_where_fewer_gpus_are_needed() -> None:
    """Starts 0, 2, 4 and 6 of an H100 hold four 1g.20gb, and three compute slices are left over."""
    (found,) = lay_out_pools(CATALOGUE.gpu("H100-80GB"), {"1g.20gb": 4}, 1)
    assert (found.nodes, found.gpus) == (1, (({"1g.20gb": 4}, 1),))


RANDOM = random.Random(34)
NAMES = ("A100-80GB", "A100-40GB", "H100-80GB", "H200-141GB", "B200-180GB", "A30-24GB")


def drawn() -> tuple[Gpu, dict[str, int], int]:
    gpu = CATALOGUE.gpu(RANDOM.choice(NAMES))
    assert gpu.mig is not None
    slots = gpu.mig.memory_slots
    rows = [p for p in gpu.mig.profiles.values() if not p.attributes and p.memory_slots < slots]
    names = [row.name for row in RANDOM.sample(rows, min(len(rows), RANDOM.randint(1, 4)))]
    wanted = {name: RANDOM.choice((1, 1, 2, 3, 4, 6, 9, 16)) for name in names}
    return gpu, wanted, RANDOM.choice((1, 1, 4, 8))


def packed(gpu: Gpu, wanted: dict[str, int], gpus: int) -> int:
    """Nodes of the packer, which may partition each node differently."""
    assert gpu.memory_bytes is not None
    mig = frozenset({Mode.MIG})
    row = PackingMachine("m", gpu, gpus, gpu.memory_bytes, modes=mig, micro_usd_per_hour=1)
    shares = tuple(ShareClass(name, n, Mode.MIG, name) for name, n in wanted.items())
    return pack(PackingProblem({"m": row}, shares)).cost


def test_pools_of_random_teams_against_the_packer() -> None:
    """As few nodes as the packer needs; slices of one profile may be in several pools, each with
    equal nodes."""
    for _ in range(examples(200)):
        gpu, wanted, gpus = drawn()
        pools = lay_out_pools(gpu, wanted, gpus)
        asked = {name: sum(pool.asked.get(name, 0) for pool in pools) for name in wanted}
        assert asked == wanted
        assert all(offered(pool)[n] >= k for pool in pools for n, k in pool.asked.items())
        assert all(sum(n for _, n in pool.gpus) <= gpus for pool in pools)
        for devices, _ in (cut for pool in pools for cut in pool.gpus):
            assert gpu.mig is not None
            assert isinstance(place(gpu.mig, dict(devices)), MigPlacement)
        assert sum(pool.nodes for pool in pools) == packed(gpu, wanted, gpus)


def test_nodes_are_alike_where_that_takes_no_more_of_them() -> None:
    (found,) = lay_out_pools(A100, {"1g.10gb": 100}, 8)
    assert (found.nodes, found.gpus) == (2, (({"1g.10gb": 7}, 8),))


def test_one_profile_is_in_two_pools_where_that_takes_fewer_nodes() -> None:
    """4g, 3g, 2g and 1g on machines of one A100: 4g + 3g fill one, 2g and 1g are on another."""
    pools = lay_out_pools(A100, {"4g.40gb": 1, "3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}, 1)
    assert sum(pool.nodes for pool in pools) == 2


def test_copies_of_several_whole_gpus_stay_on_one_node() -> None:
    """Three copies of two GPUs and ten sevenths on nodes of four: the second node has the third
    copy and both GPUs with MIG layouts."""
    pools = lay_out_pools(A100, {2: 3, "1g.10gb": 10}, 4)
    assert [(pool.nodes, pool.asked) for pool in pools] == [
        (1, {"": 4}),
        (1, {"": 2, "1g.10gb": 10}),
    ]
    assert [sum(n for _, n in pool.gpus) for pool in pools] == [0, 2]
