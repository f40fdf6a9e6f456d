import random

from gpufleet.catalogue import Gpu, load
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing import Mode, PackingMachine, PackingProblem, ShareClass, pack
from gpufleet_planner.planning.layouts import lay_out_fewest, lay_out_nodes

CATALOGUE = load()
A100 = CATALOGUE.gpu("A100-80GB")


def test_the_published_example_fills_eight_gpus() -> None:
    found = lay_out_nodes(A100, {"1g.10gb": 16, "2g.20gb": 8, "3g.40gb": 8}, 8)
    assert found is not None
    assert (found.nodes, found.gpus_cut, found.bound) == (1, 8, 8)
    assert {k: found.offered[k] >= n for k, n in {"1g.10gb": 16, "2g.20gb": 8}.items()}


def test_nodes_are_alike_and_offer_enough() -> None:
    for wanted in ({"1g.10gb": 100}, {"3g.40gb": 5, "4g.40gb": 1}, {"1g.20gb": 9, "2g.20gb": 3}):
        for gpus in (1, 2, 4, 8):
            found = lay_out_nodes(A100, wanted, gpus)
            if found is None:
                continue
            assert sum(count for _, count in found.gpus) <= gpus
            assert all(found.offered[name] >= count for name, count in wanted.items())
            assert found.nodes * gpus >= found.bound
            for devices, _ in found.gpus:
                proof = place(A100.mig, devices)  # type: ignore[arg-type]
                assert isinstance(proof, MigPlacement)


def test_stranded_slices_cost_nothing_where_fewer_gpus_are_needed() -> None:
    """Starts 0, 2, 4 and 6 of an H100 hold four 1g.20gb, and three compute slices are left over."""
    found = lay_out_nodes(CATALOGUE.gpu("H100-80GB"), {"1g.20gb": 4}, 1)
    assert found is not None
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
    """As few nodes as the packer needs; slices of one profile may be in several pools, each of
    whose nodes are alike."""
    for _ in range(200):
        gpu, wanted, gpus = drawn()
        pools = lay_out_fewest(gpu, wanted, gpus)
        asked = {name: sum(pool.asked.get(name, 0) for pool in pools) for name in wanted}
        assert asked == wanted
        assert all(pool.offered[n] >= k for pool in pools for n, k in pool.asked.items())
        assert all(sum(n for _, n in pool.gpus) <= gpus for pool in pools)
        assert sum(pool.nodes for pool in pools) == packed(gpu, wanted, gpus)


def test_single_gpu_nodes_get_one_layout_for_all() -> None:
    found = lay_out_nodes(A100, {"3g.40gb": 2, "1g.10gb": 5}, 1)
    assert found is not None
    assert len(found.gpus) == 1
    # No one layout holds 7g next to anything else.
    assert lay_out_nodes(A100, {"4g.40gb": 1, "3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 1}, 1) is None
