"""More cases of rules/pairs.py: options that an engine refuses together, from vLLM's and SGLang's
argument parsers, and what its chart and its node leave out."""

from typing import Any

from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import node, of_kind, release
from tests.policies.cases.pairs_of_servers import ADVICE, SGLANG, VLLM, server
from tests.policies.cases.workloads import CONTAINER, SHARED_MEMORY, deployment, job

EAGLE = ("--speculative-algorithm", "EAGLE")
TREE = (*EAGLE, "--speculative-num-steps=3", "--speculative-num-draft-tokens=4")
BACKENDS = ("--attention-backend", "trtllm_mla", "--prefill-attention-backend", "flashinfer")
CONNECTOR = '{"kv_connector": "NixlConnector"}'
BOTH = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
TOPK, PAGES = "--speculative-eagle-topk=2", "--page-size=16"


def _starts(image: str, *options: str) -> Thing:
    if not image.startswith(SGLANG):
        return server(image, "--model", "a/b", *options)
    program = ["python3", "-m", "sglang.launch_server", "--model-path", "a/b"]
    return server(image, *options, command=program)


def _served(part: str, **container: Any) -> Thing:
    """A release of llm-d's chart with two GPUs a server."""
    program = {"command": ["/bin/sh", "-c"], "image": "ghcr.io/llm-d/llm-d-cuda:v0.5.0"}
    both = {"create": True, "parallelism": {"tensor": 2}, "containers": [{**program, **container}]}
    return release("llm-d-modelservice", "v0.4.5", {part: both})


def _at_home(**env: str) -> Thing:
    named = [{"name": name, "value": value} for name, value in env.items()]
    image = {f"{CONTAINER}.image": f"{VLLM}0.9.1", f"{CONTAINER}.env": named}
    return deployment({"metadata.namespace": "ml", **image, **SHARED_MEMORY})


def _embeds(tag: str, gpu: str = "") -> Thing:
    image = f"ghcr.io/huggingface/text-embeddings-inference:{tag}"
    chosen = {"spec.template.spec.nodeSelector": {"nvidia.com/gpu.product": gpu}} if gpu else {}
    return job({f"{CONTAINER}.image": image, **chosen})


def _capable(major: str, minor: str) -> Thing:
    named = {"nvidia.com/gpu.compute.major": major, "nvidia.com/gpu.compute.minor": minor}
    return node(labels={"nvidia.com/gpu.present": "true", **named})


TWO = ["vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2"]
ONE = ["vllm serve Qwen/Qwen3-32B"]
PROJECT = of_kind("Project", "project.openshift.io/v1", "ml")
ROUTE = of_kind("Route", "route.openshift.io/v1", "llm", {"to": {"name": "llm"}}, namespace="ml")

CASES = tuple(
    Case(
        "server-options-refused",
        _starts(good_image, *good),
        _starts(image, *bad),
        says,
        ADVICE,
    )
    for image, good_image, good, bad, says in (
        # vllm-project/vllm#19448
        (
            f"{VLLM}0.9.2",
            f"{VLLM}0.9.2",
            ("--kv-transfer-config", BOTH),
            ("--kv-transfer-config", CONNECTOR),
            "names a connector in --kv-transfer-config without kv_role",
        ),
        # kubernetes-sigs/gateway-api-inference-extension#2243
        (
            f"{VLLM}0.11.0",
            f"{VLLM}0.10.2",
            ("--compilation-config", "3"),
            ("--compilation-config", "3"),
            "gives --compilation-config a number",
        ),
        (
            f"{VLLM}0.20.0",
            f"{VLLM}0.20.0",
            ("--enable-auto-tool-choice", "--tool-call-parser=hermes"),
            ("--enable-auto-tool-choice",),
            "writes --enable-auto-tool-choice without --tool-call-parser",
        ),
        (
            f"{VLLM}0.20.0",
            f"{VLLM}0.20.0",
            ("--enable-log-outputs", "--enable-log-requests"),
            ("--enable-log-outputs",),
            "writes --enable-log-outputs without --enable-log-requests",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            (*EAGLE, "--attention-backend", "flashinfer"),
            (*EAGLE, "--attention-backend", "flex_attention"),
            "starts speculative decoding with the attention backend flex_attention",
        ),
        # sgl-project/sglang#9330
        (
            f"{SGLANG}0.5.1.post3",
            f"{SGLANG}0.5.5",
            (*EAGLE, *BACKENDS),
            (*EAGLE, *BACKENDS),
            "with different attention backends for prefill and decode",
        ),
        # sgl-project/sglang#9742
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            (*TREE, TOPK, PAGES, "--attention-backend=flashinfer"),
            (*TREE, TOPK, PAGES, "--attention-backend=fa3"),
            "writes --speculative-eagle-topk and --page-size above 1",
        ),
        (
            f"{SGLANG}0.5.12",
            f"{SGLANG}0.5.12",
            (*TREE, TOPK, "--page-size=1", "--attention-backend=flashmla"),
            (*TREE, TOPK, PAGES, "--attention-backend=flashmla"),
            "writes --speculative-eagle-topk and --page-size above 1",
        ),
        (
            f"{SGLANG}0.5.12",
            f"{SGLANG}0.5.12",
            (*TREE, "--speculative-eagle-topk=1", "--attention-backend=trtllm_mha"),
            (*TREE, TOPK, "--attention-backend=trtllm_mha"),
            "above 1 with the attention backend trtllm_mha",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            (*TREE, "--speculative-eagle-topk=1"),
            TREE,
            "writes --speculative-num-steps without --speculative-eagle-topk",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            EAGLE,
            (*EAGLE, TOPK),
            "without --speculative-num-steps, which SGLang refuses",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            ("--speculative-algorithm=NGRAM", "--pp-size=1"),
            ("--speculative-algorithm=NGRAM", "--pp-size=2"),
            "starts speculative decoding with a pipeline parallel size above 1",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            ("--dp-size=2", "--nnodes=2", "--enable-dp-attention"),
            ("--dp-size=2", "--nnodes=2"),
            "divides copies of the model among several nodes",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            ("--enable-dp-lm-head", "--enable-dp-attention"),
            ("--enable-dp-lm-head",),
            "writes --enable-dp-lm-head without --enable-dp-attention",
        ),
        (
            f"{SGLANG}0.5.5",
            f"{SGLANG}0.5.5",
            ("--enable-hierarchical-cache",),
            ("--enable-hierarchical-cache", "--disable-radix-cache"),
            "writes --enable-hierarchical-cache and --disable-radix-cache",
        ),
    )
)

TOGETHER = (
    # llm-d/llm-d#1101
    *(
        Case(
            "chart-program-refuses",
            _served(part, modelCommand="custom", args=TWO),
            _served(part, modelCommand="custom", args=ONE),
            f"has {part}.parallelism.tensor 2, and a container with modelCommand custom",
            ADVICE,
            alongside=(),
        )
        for part in ("decode", "prefill")
    ),
    # vllm-project/vllm#20127, huggingface/inference-benchmarker#47
    *(
        Case(
            "root-image-as-non-root",
            _at_home(HF_HOME="/models"),
            _at_home(VLLM_CACHE_ROOT="/vllm-workspace"),
            "with a user of the project and the home /, into which it may not write",
            ADVICE,
            alongside=(other,),
        )
        for other in (PROJECT, ROUTE)
    ),
    # huggingface/text-embeddings-inference#640 and #652
    *(
        Case(
            "device-of-no-node",
            _embeds(good),
            _embeds(bad),
            f"built for compute capability {built}, and Node gpu-1 has {major}.{minor}",
            ADVICE,
            alongside=(_capable(major, minor),),
        )
        for good, bad, built, major, minor in (
            ("1.7", "turing-1.7", "7.5", "8", "0"),
            ("hopper-1.7", "1.7", "8.0", "9", "0"),
            ("hopper-1.7", "86-1.7", "8.6", "9", "0"),
            ("hopper-1.7", "89-1.7", "8.9", "9", "0"),
            ("89-1.7", "hopper-1.7", "9.0", "8", "9"),
            ("120-1.9", "hopper-1.7", "9.0", "12", "0"),
            ("hopper-1.9", "100-1.9", "10.0", "9", "0"),
            ("100-1.9", "120-1.9", "12.0", "10", "0"),
            ("cuda-1.9", "cuda-1.7", "7.5, 8.x and 9.0", "12", "0"),
        )
    ),
    *(
        Case(
            "device-of-no-node",
            _embeds(good, gpu),
            _embeds(bad, gpu),
            f"for compute capability {built} on other GPUs",
            ADVICE,
            alongside=(),
        )
        for good, bad, gpu, built in (
            ("turing-1.7", "1.7", "Tesla-T4", "8.0 to 8.9"),
            ("1.7", "turing-1.7", "NVIDIA-A100-SXM4-80GB", "7.5"),
            ("86-1.7", "89-1.7", "NVIDIA-A10G", "8.9"),
            ("hopper-1.7", "86-1.7", "NVIDIA-H100-80GB-HBM3", "8.6 to 8.9"),
            ("89-1.7", "hopper-1.7", "NVIDIA-L4", "9.0"),
        )
    ),
)
