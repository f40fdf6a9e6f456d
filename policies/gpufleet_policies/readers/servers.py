"""Whether a container runs a model server: by its program, else by its image."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.cluster.container import Container
from gpufleet_policies.names import names
from gpufleet_policies.readers.launch import (
    DATA,
    DATA_LOCAL,
    PIPELINE,
    SEVERAL_PODS,
    TENSOR,
    TENSOR_VARIABLES,
    several_programs,
)
from gpufleet_policies.readers.options import Options

_PROGRAMS = frozenset(names("serving program"))
"""Programs that only serve (the documentation of each names them)."""

_SERVING_COMMANDS = frozenset({"vllm", "ray", "serve", "lmdeploy", "ollama", "bentoml"})
"""Programs that serve with the word `serve` after them."""

_IMAGES = re.compile(
    r"(?:^|/)(?:vllm-openai|vllm-tpu|text-generation-inference|text-embeddings-inference|tei|"
    r"huggingface-text-generation-inference[\w.-]*|huggingface-text-embeddings-inference[\w.-]*|"
    r"pytorch-vllm-serve|ollama)(?:$|[:@])|^nvcr\.io/nim/"
)
"""Images whose own entry point serves."""


def serves(words: Sequence[str], image: str, *, has_command: bool) -> bool:
    """Whether the words start a model server; without a command the image decides."""
    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in _PROGRAMS:
            return True
        if word == "serve" and at and words[at - 1].rsplit("/", 1)[-1] in _SERVING_COMMANDS:
            return True
    return not has_command and _IMAGES.search(image) is not None


_VLLM = re.compile(r"(?:^|/)vllm-openai(?:$|[:@])")
_SIZES = (
    *TENSOR,
    *PIPELINE,
    *DATA,
    *DATA_LOCAL,
    *SEVERAL_PODS,
    "--config",
    "--enable-expert-parallel",
)
"""Options of vLLM that open more than one GPU, or may."""


def one_gpu_by_default(
    words: Sequence[str],
    options: Options,
    variables: Mapping[str, str],
    stated: Mapping[str, Any],
    image: str,
    container: Container,
) -> bool:
    """Whether it is certainly vLLM on one GPU: `--tensor-parallel-size` is 1 unless it is written
    (vllm-project/vllm v0.11.0, vllm/config/parallel.py). Shell variables may hide the option."""
    if stated or options.has(_SIZES) or any(key in variables for key in TENSOR_VARIABLES):
        return False
    if any("$" in word or word.endswith(".sh") for word in words) or several_programs(words):
        return False
    if container.command.is_absent:
        return _VLLM.search(image) is not None
    servers = [at for at, word in enumerate(words) if word == "serve" and at]
    by_command = any(words[at - 1].rsplit("/", 1)[-1] == "vllm" for at in servers)
    return by_command or "vllm.entrypoints.openai.api_server" in words
