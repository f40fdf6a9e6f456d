"""Whether a container runs a model server: by its program, else by its image."""

import re
from collections.abc import Sequence

_PROGRAMS = frozenset(
    {
        "vllm.entrypoints.openai.api_server",
        "vllm.entrypoints.api_server",
        "sglang.launch_server",
        "text-generation-launcher",
        "text-generation-server",
        "text-embeddings-router",
        "tritonserver",
        "trtllm-serve",
        "llama-server",
        "lmdeploy",
        "ollama",
        "infinity_emb",
        "vllm-omni",
    }
)
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
    """Whether the words start a model server; without a command of its own the image decides."""
    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in _PROGRAMS:
            return True
        if word == "serve" and at and words[at - 1].rsplit("/", 1)[-1] in _SERVING_COMMANDS:
            return True
    return not has_command and _IMAGES.search(image) is not None
