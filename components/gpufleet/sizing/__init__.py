"""Memory and speed of a model on a GPU, a slice or a share of one.

    from gpufleet.catalogue import load
    from gpufleet.sizing import SizeRequest, size

    answer = size(SizeRequest(model="Llama-3.1-8B", context=8192, gpu="L40S"), load())
    answer.ledger.total_bytes, answer.fits, answer.speed

The parts underneath (`serving_ledger`, `training_ledger`, `capacity`, `serving_speed`, ...) take an
`Architecture` and plain frozen values, for callers that try many combinations.

Names are looked up when they are first asked for: a ledger alone needs none of the models that read
a request, whose import takes a third of a second. No module is called like a name of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpufleet.sizing.activations import Checkpointing, Loss
    from gpufleet.sizing.adapter import AdapterTargets, adapter_parameters
    from gpufleet.sizing.architecture import Architecture
    from gpufleet.sizing.as_dict import sizing_as_dict
    from gpufleet.sizing.cache_capacity import Capacity, capacity
    from gpufleet.sizing.catalogue_models import find_catalogue_model, from_catalogue
    from gpufleet.sizing.communication import Link, LinkKind, inside_node, network, nvlink, pcie
    from gpufleet.sizing.device import (
        Device,
        Share,
        find_gpu,
        mig_slice,
        mps_share,
        time_slice,
        whole_gpu,
    )
    from gpufleet.sizing.embedding import embedding_ledger
    from gpufleet.sizing.embedding_rates import EmbeddingSpeed, embedding_speed
    from gpufleet.sizing.formats import (
        KV_FORMATS,
        WEIGHT_FORMATS,
        KvFormat,
        WeightFormat,
        find_kv_format,
        find_weight_format,
    )
    from gpufleet.sizing.inference import Engine, Serving, serving_ledger
    from gpufleet.sizing.kv_cache import sequence_bytes, token_bytes
    from gpufleet.sizing.ledger import Basis, Item, Ledger, Margin
    from gpufleet.sizing.model_choice import ChosenModel, choose_model
    from gpufleet.sizing.parallel import Parallelism, Sharding, check_parallelism
    from gpufleet.sizing.parameters import ParameterCount, count_parameters
    from gpufleet.sizing.request import SizeRequest, Workload, parse_request
    from gpufleet.sizing.serving_rates import ServingSpeed, serving_speed
    from gpufleet.sizing.sized import Sizing, serving_of, size, training_of
    from gpufleet.sizing.throughput import check_capability
    from gpufleet.sizing.training import Method, Training, training_ledger
    from gpufleet.sizing.training_rates import TrainingSpeed, training_speed
    from gpufleet.sizing.training_state import Optimizer, TrainingPrecision

__all__ = [
    "KV_FORMATS",
    "WEIGHT_FORMATS",
    "AdapterTargets",
    "Architecture",
    "Basis",
    "Capacity",
    "Checkpointing",
    "ChosenModel",
    "Device",
    "EmbeddingSpeed",
    "Engine",
    "Item",
    "KvFormat",
    "Ledger",
    "Link",
    "LinkKind",
    "Loss",
    "Margin",
    "Method",
    "Optimizer",
    "Parallelism",
    "ParameterCount",
    "Serving",
    "ServingSpeed",
    "Sharding",
    "Share",
    "SizeRequest",
    "Sizing",
    "Training",
    "TrainingPrecision",
    "TrainingSpeed",
    "WeightFormat",
    "Workload",
    "adapter_parameters",
    "capacity",
    "check_capability",
    "check_parallelism",
    "choose_model",
    "count_parameters",
    "embedding_ledger",
    "embedding_speed",
    "find_catalogue_model",
    "find_gpu",
    "find_kv_format",
    "find_weight_format",
    "from_catalogue",
    "inside_node",
    "mig_slice",
    "mps_share",
    "network",
    "nvlink",
    "parse_request",
    "pcie",
    "sequence_bytes",
    "serving_ledger",
    "serving_of",
    "serving_speed",
    "size",
    "sizing_as_dict",
    "time_slice",
    "token_bytes",
    "training_ledger",
    "training_of",
    "training_speed",
    "whole_gpu",
]

_MODULES = {
    "activations": (
        "Checkpointing",
        "Loss",
    ),
    "adapter": (
        "AdapterTargets",
        "adapter_parameters",
    ),
    "architecture": ("Architecture",),
    "as_dict": ("sizing_as_dict",),
    "cache_capacity": (
        "Capacity",
        "capacity",
    ),
    "catalogue_models": (
        "find_catalogue_model",
        "from_catalogue",
    ),
    "communication": (
        "Link",
        "LinkKind",
        "inside_node",
        "network",
        "nvlink",
        "pcie",
    ),
    "device": (
        "Device",
        "Share",
        "find_gpu",
        "mig_slice",
        "mps_share",
        "time_slice",
        "whole_gpu",
    ),
    "embedding": ("embedding_ledger",),
    "embedding_rates": (
        "EmbeddingSpeed",
        "embedding_speed",
    ),
    "formats": (
        "KV_FORMATS",
        "KvFormat",
        "WEIGHT_FORMATS",
        "WeightFormat",
        "find_kv_format",
        "find_weight_format",
    ),
    "inference": (
        "Engine",
        "Serving",
        "serving_ledger",
    ),
    "kv_cache": (
        "sequence_bytes",
        "token_bytes",
    ),
    "ledger": (
        "Basis",
        "Item",
        "Ledger",
        "Margin",
    ),
    "model_choice": (
        "ChosenModel",
        "choose_model",
    ),
    "parallel": (
        "Parallelism",
        "Sharding",
        "check_parallelism",
    ),
    "parameters": (
        "ParameterCount",
        "count_parameters",
    ),
    "request": (
        "SizeRequest",
        "Workload",
        "parse_request",
    ),
    "serving_rates": (
        "ServingSpeed",
        "serving_speed",
    ),
    "sized": (
        "Sizing",
        "serving_of",
        "size",
        "training_of",
    ),
    "throughput": ("check_capability",),
    "training": (
        "Method",
        "Training",
        "training_ledger",
    ),
    "training_rates": (
        "TrainingSpeed",
        "training_speed",
    ),
    "training_state": (
        "Optimizer",
        "TrainingPrecision",
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
