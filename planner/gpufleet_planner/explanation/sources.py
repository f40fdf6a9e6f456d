"""Where formulas and planning constants are from; docs/sizing.md compares with measurements."""

FORMULAS = "docs/sizing.md"
_ACTIVATIONS = (
    "saved tensors of PyTorch with flash attention; checked against pytorch/torchtune @ bd2a0fc, "
    "pytorch/torchtitan @ b5bcd76 and Lightning-AI/litgpt @ 2685705"
)
_STATE = "DeepSpeed @ 38327e0 runtime/zero, pytorch/torchtune @ bd2a0fc"
_PROFILED = "profile pass of vLLM's v1 gpu_worker.py; checked against vllm-project/vllm #4454"
ITEMS = {
    "weights": "shape of the model times bytes of the format; checked against QwenLM/Qwen3 @ "
    "7a2f61f speed_benchmark.md and Lightning-AI/litgpt @ 2685705",
    "dequantised_matrix": "bitsandbytes expands one matrix at a time; Lightning-AI/litgpt "
    "@ 2685705",
    "kv_cache": "vllm-project/vllm vllm/v1/kv_cache_interface.py",
    "workspace": "fitted to QwenLM/Qwen3 @ 7a2f61f speed_benchmark.md",
    "cuda_context": "planning constant: 0.3 to 0.6 GiB a process",
    "engine": "engines.jsonl of the catalogue, the upper end of what was measured",
    "activations": _PROFILED,
    "logits": _PROFILED,
    "gradients": _STATE,
    "master_weights": _STATE,
    "optimizer": _STATE,
    "adapter_weights": _STATE,
    "adapter_master_weights": _STATE,
    "adapter_gradients": _STATE,
    "adapter_optimizer": _STATE,
    "gathered_sequence": "sequence parallelism: Korthikanti et al., arXiv:2205.05198, section 4.2; "
    "checked against pytorch/torchtitan @ 31a17bf",
    "gathered_layers": "FSDP keeps the layer in use and the one fetched ahead; DeepSpeed @ 38327e0 "
    "runtime/zero/stage3.py",
}
"""By item of a ledger."""
TRAINING_ITEMS = {"activations": _ACTIVATIONS, "logits": _ACTIVATIONS}
"""Items that training counts otherwise than serving."""
MARGIN = "planning constant: allocator fragmentation of 5 % (serving) or 10 % (training)"
PREFILL = "NVIDIA/TensorRT-LLM @ 00f3768 perf-overview.md"
LOADS = "load tests of NIM: docs.nvidia.com/nim/benchmarking/llm/1.0.0; docs/sizing.md, Under load"
DECODE = (
    "pytorch-labs/gpt-fast @ 32971d3 (mixtures @ 056f8fb), batch 1 on A100-80GB; latent attention "
    "NVIDIA/TensorRT-LLM#5929, SemiAnalysisAI/InferenceX#870"
)
TRAINING = (
    "mosaicml/llm-foundry @ 061f2c7, pytorch/torchtitan @ 31a17bf, NVIDIA/NeMo @ 070a0bb, "
    "NVIDIA-NeMo/Megatron-Bridge @ df0289c; docs/sizing.md"
)
LINKS = "stas00/ml-engineering @ 744d01e network/README.md"
SLICES = "NVIDIA MIG user guide: memory slots and multiprocessors of the profile"
MPS = "NVIDIA k8s-device-plugin cmd/mps-control-daemon; speed nebuly-ai/nos @ 12e0a72"
TURNS = "an even part, nothing enforces it; speed nebuly-ai/nos @ 12e0a72"
