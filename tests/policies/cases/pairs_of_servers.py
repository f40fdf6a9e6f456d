"""More cases of rules/pairs.py: options of model servers, and objects of another release of their
controller."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import of_kind, release
from tests.policies.cases.workloads import CONTAINER, SHARED_MEMORY, deployment

ADVICE = Level.ADVISORY
VLLM, DYNAMO = "vllm/vllm-openai:v", "nvcr.io/nvidia/ai-dynamo/vllm-runtime:"
SGLANG = "lmsysorg/sglang:v"
PREFILL = ["--model", "Qwen/Qwen3-0.6B", "--disaggregation-mode", "prefill"]
STEPS, GUIDED = ("--num-scheduler-steps", "8"), ("--guided-decoding-backend", "xgrammar")
MODEL = {"name": "huggingface"}
GPU = {"limits": {"nvidia.com/gpu": "1"}}


def server(image: str, *args: str, **more: Any) -> Thing:
    changes = {f"{CONTAINER}.image": image, f"{CONTAINER}.args": list(args), **SHARED_MEMORY}
    return deployment({**changes, **{f"{CONTAINER}.{key}": value for key, value in more.items()}})


def inference(annotations: dict[str, str], **model: Any) -> Thing:
    spec = {"predictor": {"model": {"modelFormat": MODEL, "resources": GPU, **model}}}
    thing = of_kind("InferenceService", "serving.kserve.io/v1beta1", "llama", spec)
    thing.properties["metadata"]["annotations"] = annotations
    return thing


def scaled(**trigger: str) -> Thing:
    trigger = {"type": "prometheus", **trigger}
    metadata = {"serverAddress": "http://p:9090", "query": "sum(a)", "threshold": "5"}
    spec = {
        "scaleTargetRef": {"name": "chat"},
        "fallback": {"failureThreshold": 3, "replicas": 2},
        "triggers": [{**trigger, "metadata": metadata}],
    }
    return of_kind("ScaledObject", "keda.sh/v1alpha1", "chat", spec)


HOOK = {f"{CONTAINER}.lifecycle.preStop.exec.command": ["sh", "-c", "kill -USR1 1\nsleep 60\n"]}
AWAY = {
    f"{CONTAINER}.lifecycle.preStop.exec.command": ["sh", "-c", "curl -f :8000/drain || sleep 60"]
}
GRACE = "spec.template.spec.terminationGracePeriodSeconds"
NOT_ROOT = {
    f"{CONTAINER}.image": "vllm/vllm-openai:v0.6.3",
    "spec.template.spec.securityContext.runAsNonRoot": True,
}


def serving(size: str) -> Thing:
    """A RayService of one worker with two GPUs, and its model."""
    limits = {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 2}
    containers = [{"name": "a", "image": "b", "resources": {"limits": limits}}]
    worker = {"groupName": "gpu", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    worker |= {"rayStartParams": {}, "template": {"spec": {"containers": containers}}}
    head = [{"name": "h", "image": "b", "resources": {"limits": {"cpu": 2, "memory": "8Gi"}}}]
    spec = {
        "serveConfigV2": "applications:\n- name: a\n  import_path: a:b\n  deployments:\n"
        "  - name: c\n    ray_actor_options: {num_gpus: 2}\n    autoscaling_config:\n"
        f"      target_ongoing_requests: 64\n      {size}\n",
        "rayClusterConfig": {
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": head}}},
            "workerGroupSpecs": [worker],
        },
    }
    return of_kind("RayService", "ray.io/v1", "llm", spec, namespace="ml")


def exporter(memory: str) -> Thing:
    image = "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.2-4.7.1-ubuntu22.04"
    args, limits = ["--kubernetes"], {"memory": memory}
    container = {"name": "e", "image": image, "args": args, "resources": {"limits": limits}}
    template = {"metadata": {"labels": {"app": "e"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": "e"}}, "template": template}
    return of_kind("DaemonSet", "apps/v1", "exporter", spec, namespace="monitoring")


def scaler_of(target: str) -> Thing:
    thing = scaled()
    sizes = {"minReplicaCount": 1, "maxReplicaCount": 2}
    thing.properties["spec"] |= {"scaleTargetRef": {"name": target}, **sizes}
    return thing


CASES = (
    # isrealei/vllm-eks-inference-platform infra-live/vllm/llama.yaml
    Case(
        "grace-below-shutdown",
        deployment({**HOOK, GRACE: 90}),
        deployment(HOOK),
        "sleeps in preStop of container server for longer than the grace period, which is 30 s",
        Level.ADVISORY,
    ),
    Case(
        "grace-below-shutdown",
        deployment({**HOOK, GRACE: 60}),
        deployment({**HOOK, GRACE: 45}),
        "for longer than the grace period of 45 s",
        Level.ADVISORY,
    ),
    Case(
        "grace-below-shutdown",
        deployment({f"{CONTAINER}.lifecycle.preStop.sleep.seconds": 30}),
        deployment({f"{CONTAINER}.lifecycle.preStop.sleep.seconds": 31}),
        "for longer than the grace period, which is 30 s",
        Level.ADVISORY,
    ),
    Case(
        "grace-below-shutdown",
        deployment(AWAY),
        deployment(HOOK),
        "for longer than the grace period, which is 30 s",
        Level.ADVISORY,
    ),
    # adminless-io/aks-llm-platform gitops/apps/llm/base/deployment.yaml
    Case(
        "root-image-as-non-root",
        deployment({**NOT_ROOT, f"{CONTAINER}.securityContext.runAsUser": 1000}),
        deployment(NOT_ROOT),
        "has runAsNonRoot, and vllm/vllm-openai:v0.6.3 runs as root",
        Level.ADVISORY,
    ),
    Case(
        "root-image-as-non-root",
        deployment({**NOT_ROOT, f"{CONTAINER}.image": "vllm/vllm-openai:v0.25.0-nonroot"}),
        deployment(
            {
                f"{CONTAINER}.image": "vllm/vllm-openai",
                f"{CONTAINER}.securityContext.runAsNonRoot": True,
            }
        ),
        "has runAsNonRoot, and vllm/vllm-openai runs as root",
        Level.ADVISORY,
    ),
    # llm-on-gke/vllm-inference vllm-deploy-mistral-h100.yaml
    Case(
        "server-options-refused",
        server("vllm/vllm-openai", "--model=Qwen/Qwen3-0.6B"),
        server("vllm/vllm-openai", "--model=Qwen/Qwen3-0.6B", "--disable-log-requests"),
        "starts vllm/vllm-openai, whichever release that is, with --disable-log-requests",
        Level.ADVISORY,
    ),
    # jimmyshah83/gpt-oss-k8s-gpu-inferencing k8s/gpt-oss-120b-deploy.yaml
    Case(
        "ray-serve-keys-not-read",
        serving("max_replicas: 1"),
        serving("maxReplicas: 1"),
        "writes minReplicas or maxReplicas below autoscaling_config",
        Level.ADVISORY,
    ),
    Case(  # ray-project/ray python/ray/serve/config.py: user_config is the application's own
        "ray-serve-keys-not-read",
        serving("max_replicas: 1\n    user_config:\n      maxReplicas: 3"),
        serving("target_ongoing_requests: 2\n      maxReplicas: 1"),
        "writes minReplicas or maxReplicas below autoscaling_config",
        Level.ADVISORY,
    ),
    # tungsheng/gpu-inference-lab platform/observability/dcgm-exporter.yaml
    Case(
        "exporter-set-memory-too-small",
        exporter("1Gi"),
        exporter("256Mi"),
        "may take 256Mi",
        Level.ADVISORY,
    ),
    # kornsour/inference-platform phase-2-capstone/k8s/keda-scaledobject.yaml
    Case(
        "scaler-of-no-workload",
        scaler_of("chat"),
        scaler_of("llama-predictor"),
        "scales llama-predictor, a Deployment that KServe makes of InferenceService llama",
        Level.ADVISORY,
        alongside=(inference({}),),
    ),
    Case(
        "server-options-refused",
        server(f"{VLLM}0.9.2", "--model", "a/b"),
        server(f"{VLLM}0.9.2", "serve", "a/b"),
        "starts its arguments with `serve`, and the image starts the server itself",
    ),
    Case(
        "server-options-refused",
        server(f"{VLLM}0.9.2", "--model", "a/b", "--dtype=auto"),
        server(f"{VLLM}0.9.2", "--model", "a/b", "--dtype auto"),
        "writes an option and its value as one entry of args",
    ),
    Case(
        "server-options-refused",
        server("own/image:1", command=["vllm", "serve", "a/b", "--dtype", "auto"]),
        server("own/image:1", command=["vllm", "serve", "a/b", "--dtype auto"]),
        "writes an option and its value as one entry;",
    ),
    Case(
        "server-options-refused",
        server("lmcache/vllm-openai:v0.3.9", command=["vllm", "serve", "a/b"]),
        server("lmcache/vllm-openai:v0.3.8", command=["vllm", "serve", "a/b"]),
        "starts `vllm`, which lmcache/vllm-openai:v0.3.8 does not have in its PATH",
        ADVICE,
    ),
    Case(  # AyeniOluwatosinOlawale/vllm-k8s-stack vllm/deployment.yaml
        "server-options-refused",
        server(f"{VLLM}0.9.2", "--enforce-eager"),
        server(f"{VLLM}0.9.2", "--disable-log-stats=false"),
        "gives a value to a switch of vLLM",
    ),
    *(
        Case(
            "server-options-refused",
            server(f"{VLLM}0.23.0", "--model", "a/b", *good),
            server(f"{VLLM}0.23.0", "--model", "a/b", *bad),
            says,
            ADVICE,
        )
        for good, bad, says in (
            (
                ("--gpu-memory-utilization", "0.9"),
                ("--mem-fraction-static", "0.9"),
                "with --mem-fraction-static, an option of SGLang",
            ),
            (("--seed", "1"), ("--temperature", "0.8"), "with a parameter of requests"),
            (("--enforce-eager",), ("--omni",), "with --omni, an option of vLLM-Omni"),
            (
                ("-tp", "1", "--language-model-only"),
                ("-language-model-only",),
                "writes a long option with one hyphen",
            ),
        )
    ),
    *(
        Case("server-options-refused", server(good, *args), server(bad, *args), says, ADVICE)
        for good, bad, args, says in (
            (
                f"{VLLM}0.9.2",
                f"{VLLM}0.10.0",
                ("--enable-reasoning", "--reasoning-parser", "qwen3"),
                "v0.10.0 with --enable-reasoning, which this release does not have",
            ),
            (
                f"{VLLM}0.12.0",
                f"{VLLM}0.13.0",
                ("--help", "--version", "--task", "embed"),
                "v0.13.0 with --task,",
            ),
            (
                f"{VLLM}0.16.0",
                f"{VLLM}0.17.1",
                ("--disable-log-requests",),
                "v0.17.1 with --disable-log-requests,",
            ),
            (f"{VLLM}0.17.1", f"{VLLM}0.18.0", ("--swap_space=16",), "v0.18.0 with --swap-space,"),
            (f"{VLLM}0.11.0", f"{VLLM}0.13.0", ("--rope-scaling={}",), "with --rope-scaling,"),
            (f"{VLLM}0.10.0", f"{VLLM}0.11.0", STEPS, "with --num-scheduler-steps,"),
            (f"{VLLM}0.11.0", f"{VLLM}0.13.0", GUIDED, "with --guided-decoding-backend,"),
            (f"{VLLM}0.9.2", f"{VLLM}0.15.0", ("--use-v2-block-manager",), "block-manager, which"),
            (
                f"{DYNAMO}1.0.0",
                f"{DYNAMO}1.1.0",
                ("--disable-log-requests",),
                "vllm-runtime:1.1.0 with --disable-log-requests",
            ),
            (
                "ghcr.io/llm-d/llm-d-cuda:v0.6.0",
                "ghcr.io/llm-d/llm-d-cuda:v0.7.0",
                ("--disable-log-requests",),
                "llm-d-cuda:v0.7.0 with an option that its vLLM,",
            ),
            (
                f"{DYNAMO}1.3.0",
                f"{DYNAMO}1.4.0",
                ("--is-decode-worker",),
                "vllm-runtime:1.4.0 with --is-prefill-worker or --is-decode-worker",
            ),
            (
                f"{DYNAMO}0.9.0",
                f"{DYNAMO}1.0.0",
                PREFILL,
                "starts a prefill worker of nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0 without",
            ),
            (f"{SGLANG}0.5.3", f"{SGLANG}0.5.4", ("--enable-ep-moe",), "with --enable-ep-moe"),
            (
                f"{SGLANG}0.5.3-cu129",
                f"{SGLANG}0.5.4-cu129",
                ("--enable-deepep-moe",),
                "with --enable-deepep-moe",
            ),
            (
                f"{VLLM}0.9.2",
                f"{SGLANG}0.5.3",
                ("--enable-reasoning",),
                "with --enable-reasoning, an option of another engine",
            ),
            (
                f"{SGLANG}0.5.3",
                f"{VLLM}0.24.0",
                ("--enable-metrics",),
                "with --enable-metrics, an option of another engine",
            ),
        )
    ),
    Case(
        "server-options-refused",
        server(f"{DYNAMO}1.0.0", *PREFILL, "--kv-transfer-config", "{}"),
        server(f"{DYNAMO}1.0.0", *PREFILL),
        "without --kv-transfer-config; no connector is the default",
        ADVICE,
    ),
    Case(
        "object-of-other-release",
        release("kserve-resources", "v0.16.0", {}, "kserve"),
        release("kserve-resources", "v0.15.0", {}, "kserve"),
        "is of release v0.15.0, and InferenceService llama has autoscalerClass none",
        ADVICE,
        alongside=(inference({"serving.kserve.io/autoscalerClass": "none"}, runtime="own"),),
    ),
    Case(
        "object-of-other-release",
        release(
            "kserve-resources",
            "v0.15.2",
            {"kserve": {"servingruntime": {"huggingfaceserver": {"tag": "v0.15.2-gpu"}}}},
            "kserve",
        ),
        release("kserve-resources", "v0.15.2", {}, "kserve"),
        "an image without CUDA, and InferenceService llama requests GPUs",
        ADVICE,
        alongside=(inference({}),),
    ),
    Case(
        "object-of-other-release",
        release("keda", "2.19.0", {}, "keda"),
        release("keda", "2.17.0", {}, "keda"),
        "refuses a fallback whose triggers do not name metricType, as ScaledObject chat has it",
        ADVICE,
        alongside=(scaled(),),
    ),
    Case(
        "chart-program-refuses",
        release("vllm-stack", "0.1.8", {"servingEngineSpec": {"enableEngine": True}}, "vllm"),
        release("vllm-stack", "0.1.8", {"servingEngineSpec": {"raySpec": {"a": 1}}}, "vllm"),
        "writes raySpec in servingEngineSpec, where the chart does not read it",
        ADVICE,
        alongside=(),
    ),
)
