"""Containers of a pod template, and what a GPU container runs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from gpufleet.cluster.container import HIDDEN, NO_LAUNCH, Amount, Container
from gpufleet.cluster.fact import NOTHING, UNKNOWN, Fact, unknown
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.secret_text import masked, secret_in
from gpufleet_policies.names import meanings, names
from gpufleet_policies.readers.intent import LENGTHS, QUANTIZATION_OPTIONS, ContainerProgram
from gpufleet_policies.readers.launch import (
    DATA,
    DATA_LOCAL,
    MEMORY_SHARE,
    PIPELINE,
    SEVERAL_PODS,
    TENSOR,
    launch,
    several_programs,
)
from gpufleet_policies.readers.options import Options, read_options, split_words
from gpufleet_policies.readers.raw_pods import RawGroup, natural
from gpufleet_policies.readers.reading import amount, at, fact, text, words

_PROGRAMS = frozenset(names("serving program"))
"""Programs that only serve (the documentation of each names them)."""

_SERVING_COMMANDS = frozenset({"vllm", "ray", "serve", "lmdeploy", "ollama", "bentoml"})
"""Programs that serve with the word `serve` after them."""

_IMAGES = re.compile(
    r"(?:^|/)(?:vllm-openai|vllm-tpu|llm-d|text-generation-inference|text-embeddings-inference|tei|"
    r"huggingface-text-generation-inference[\w.-]*|huggingface-text-embeddings-inference[\w.-]*|"
    r"pytorch-vllm-serve|ollama)(?:$|[:@])|^nvcr\.io/nim/"
)
"""Images whose own entry point serves."""


def serves(words: Sequence[str], image: str, *, has_command: bool) -> bool:
    """Whether the words start a model server; without a command the image decides."""
    for index, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in _PROGRAMS:
            return True
        if word == "serve" and index and words[index - 1].rsplit("/", 1)[-1] in _SERVING_COMMANDS:
            return True
    return not has_command and _IMAGES.search(image) is not None


_VLLM = re.compile(r"(?:^|/)(?:vllm-openai|llm-d)(?:$|[:@])")
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
    stated: Mapping[str, Any],
    image: str,
    container: Container,
) -> bool:
    """Whether it is certainly vLLM on one GPU: `--tensor-parallel-size` is 1 unless it is written
    (vllm-project/vllm v0.11.0, vllm/config/parallel.py). Shell variables may hide the option."""
    if stated or options.has(_SIZES):
        return False
    if any("$" in word or word.endswith(".sh") for word in words) or several_programs(words):
        return False
    if container.command.is_absent:
        return _VLLM.search(image) is not None
    servers = [at for at, word in enumerate(words) if word == "serve" and at]
    by_command = any(words[at - 1].rsplit("/", 1)[-1] == "vllm" for at in servers)
    return by_command or "vllm.entrypoints.openai.api_server" in words


_VARIABLES = meanings("variable that gives an option")
_SETTINGS = (TENSOR, MEMORY_SHARE, LENGTHS, QUANTIZATION_OPTIONS)
"""Options that servers take from variables too, where their words have none."""
_NOTHING: dict[str, Fact[Amount]] = {}
_SHARED_MEMORY = ("/dev/shm", UNKNOWN)  # noqa: S108 - a mount path to look for
_PROBES = tuple(meanings("probe of a container").items())


def containers(group: RawGroup) -> tuple[list[Container], list[ContainerProgram]]:
    """Containers of a group in the order they are written, init containers first.

    Programs of containers that hold GPUs or claims are searched in the containers next to them.
    """
    found: list[Container] = []
    programs: list[ContainerProgram] = []
    volumes = {str(at(one, "name")): one for one in items(at(group.spec, "volumes"))}
    for place, raw, init, at_resources in _listed(group):
        container = _container(place, raw, init=init, resources_place=at_resources)
        if not init and (container.gpu_resources or container.claims):
            container = replace(container, plain_secrets=tuple(_plain_secrets(place, mapping(raw))))
            container = replace(container, download_room=_room(container, mapping(raw), volumes))
            if group.containers is None and len(list(_listed(group))) == 1:
                container = replace(container, anonymous=_is_anonymous(mapping(raw), volumes))
            program = _program(container, mapping(raw), group.stated)
            container = program.container
            programs.append(program)
        shares = group.stated.get("shared_memory")
        if group.stated.get("preset"):
            # Mounts and probes may be from the preset that the controller lays under it (KServe,
            # config/llmisvcconfig: each preset mounts a memory volume at /dev/shm).
            probes = frozenset(name for name, _ in _PROBES)
            container = replace(container, probes=probes, listens=True)
            container = replace(container, shares_memory=shares is not False)
        elif shares is True:
            container = replace(container, shares_memory=True)
        found.append(container)
    return found, programs


_CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")
"""Variables with the folder of downloads (huggingface_hub, environment variables)."""


def _room(container: Container, raw: dict[str, Any], volumes: Mapping[str, Any]) -> Any:
    """The `sizeLimit` of the emptyDir, or the claim, that has the folder of downloads, the default
    one of root included; without a volume the limit of ephemeral storage."""
    variables = dict(_environment(raw))
    folder = next((variables[n] for n in _CACHES if n in variables), "/root/.cache/huggingface")
    mounts = [(str(at(m, "mountPath")).rstrip("/"), m) for m in items(raw.get("volumeMounts"))]
    around = [(path, m) for path, m in mounts if f"{folder}/".startswith(f"{path}/")]
    _, mount = max([*around, ("", None)], key=lambda one: len(one[0]))
    volume = volumes.get(str(at(mount, "name")))
    limit = amount(at(volume, "emptyDir.sizeLimit"))
    if limit is None and not container.keeps_files:
        limit = container.limits.get("ephemeral-storage", NOTHING).found
    claim = at(volume, "persistentVolumeClaim.claimName")
    return text(claim) if limit is None else int(limit.number)


_LOGIN = re.compile(r"TOKEN|KEY|SECRET|OFFLINE|ENDPOINT|PROXY|MODELSCOPE", re.IGNORECASE)
"""Names of variables that give access, or another source of models."""


def _is_anonymous(raw: dict[str, Any], volumes: Mapping[str, Any]) -> bool:
    """All variables and volumes are known: none gives access, and the volumes are emptyDirs."""
    names_of = [at(one, "name") for one in items(raw.get("env"))]
    mounted = [volumes.get(str(at(one, "name"))) for one in items(raw.get("volumeMounts"))]
    hidden = raw.get("envFrom") is not None or UNKNOWN in (raw.get("env"), raw.get("volumeMounts"))
    named = all(isinstance(one, str) and not _LOGIN.search(one) for one in names_of)
    return not hidden and named and all(is_mapping(at(one, "emptyDir")) for one in mounted)


def as_fragment(container: Container) -> Container:
    """A container of a patch: the object that it changes may have the missing fields."""
    return replace(
        container,
        resources_known=False,
        claims_known=False,
        anonymous=False,
        shares_memory=True,
        probes=frozenset(name for name, _ in _PROBES),
    )


def _listed(group: RawGroup) -> Iterable[tuple[str, Any, bool, str]]:
    spec = group.spec if is_mapping(group.spec) else {}
    for key, init in (("initContainers", True), ("containers", False)):
        if group.containers is not None and not init:
            for raw in group.containers:
                resources = raw.resources_place or f"{raw.place}.resources"
                yield raw.place, raw.fields, False, "" if raw.short_form else resources
            continue
        place = f"{group.place}.{key}"
        for index, raw in enumerate(items(spec.get(key))):
            where = f"{place}[{index}]"
            yield where, raw, init, f"{where}.resources"


def _container(place: str, raw: Any, *, init: bool, resources_place: str) -> Container:
    if not is_mapping(raw):
        nothing: Fact[Any] = unknown(place)
        return Container(
            "?", place, init, False, nothing, nothing, nothing, {}, {}, False, claims_known=False
        )
    resources = raw.get("resources")
    written_at = resources_place or f"{place}.resources"
    requests, limits = at(resources, "requests"), at(resources, "limits")
    claims = at(resources, "claims")
    return Container(
        name="?"
        if raw.get("name") is UNKNOWN
        else str(raw.get("name") or place.rsplit("[", 1)[-1].rstrip("]")),
        place=place,
        init=init,
        restartable=init and raw.get("restartPolicy") == "Always",
        image=fact(raw.get("image"), text, f"{place}.image"),
        command=fact(raw.get("command"), words, f"{place}.command"),
        arguments=fact(raw.get("args"), words, f"{place}.args"),
        requests=_amounts(requests, f"{written_at}.requests") if requests else _NOTHING,
        limits=_amounts(limits, f"{written_at}.limits") if limits else _NOTHING,
        resources_known=requests is not UNKNOWN and limits is not UNKNOWN,
        claims=tuple(n for c in items(claims) if isinstance(n := at(c, "name"), str)),
        claims_known=claims is None
        or (is_list(claims) and all(isinstance(at(c, "name"), str) for c in claims)),
        shares_memory=raw.get("volumeMounts") is UNKNOWN
        or any(
            at(mount, "mountPath") in _SHARED_MEMORY for mount in items(raw.get("volumeMounts"))
        ),
        keeps_files=raw.get("volumeMounts") is UNKNOWN
        or any(at(mount, "mountPath") != "/dev/shm" for mount in items(raw.get("volumeMounts"))),  # noqa: S108
        probes=frozenset(name for name, key in _PROBES if raw.get(key) is not None),
        listens=bool(items(raw.get("ports"))),
        killed_after_seconds=None
        if raw.get("startupProbe") is not None
        else _fails_for(raw.get("livenessProbe")),
        ready_within_seconds=_fails_for(raw.get("readinessProbe"))
        if at(raw, "readinessProbe.failureThreshold") is not None
        else None,
        probed=tuple(_probed(raw)),
        ports={
            str(number if (name := at(port, "name")) is None else name): str(number)
            for port in items(raw.get("ports"))
            if (number := at(port, "containerPort")) is not None
        },
        variables={
            name: value
            for name, value in _environment(raw)
            if name in _READ_VARIABLES or name.endswith("_PORT")
        },
        interactive=bool(raw.get("stdin") or raw.get("tty")),
        resources_place=resources_place,
    )


_READ_VARIABLES = names("variable that is read")
"""Variables that choose devices, ranks, addresses and weights; ports are those in `_PORT`."""


def _probed(raw: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for _, key in _PROBES:
        path, port, host = (at(raw, f"{key}.httpGet.{one}") for one in ("path", "port", "host"))
        if isinstance(path, str) and isinstance(port, int | str) and host is None:
            yield path, str(port)


def _fails_for(probe: Any) -> int | None:
    """Seconds from the start until a probe that always fails is taken at its word.

    First probe after `initialDelaySeconds`, 0 by default; then `failureThreshold` failures, 3 by
    default, one each `periodSeconds`, 10 by default (Kubernetes API, Probe).
    """
    if not is_mapping(probe):
        return None
    numbers = [
        default if (value := probe.get(key)) is None else natural(value)
        for key, default in (
            ("initialDelaySeconds", 0),
            ("periodSeconds", 10),
            ("failureThreshold", 3),
        )
    ]
    delay, period, failures = numbers
    if delay is None or period is None or failures is None:
        return None
    return delay + period * max(failures - 1, 0)


def _amounts(value: Any, place: str) -> dict[str, Fact[Amount]]:
    return {
        name: fact(quantity, amount, f"{place}[{name}]")
        for name, quantity in mapping(value).items()
        # `nvidia.com/gpu: null` is how people remove a key they inherit: absent.
        if quantity is not None
    }


def _program(
    container: Container, raw: dict[str, Any], stated: Mapping[str, Any]
) -> ContainerProgram:
    if container.words.is_unknown:
        return ContainerProgram(replace(container, launch=HIDDEN), (), Options(), {}, hidden=True)
    variables = dict(_environment(raw))
    parts: Sequence[str] = split_words(container, variables)
    options = read_options(parts) if parts else Options()
    for name, option in _VARIABLES.items():
        same = next(one for one in _SETTINGS if option in one)
        if name in variables and not options.has(same):
            options[option] = [variables[name]]
    found = launch(parts, options, variables, stated, container.place)
    model = stated.get("model")
    image = container.image.found or ""
    if serves(parts, image, has_command=not container.command.is_absent):
        found = replace(found, serves=True)
    if one_gpu_by_default(parts, options, stated, image, container):
        found = replace(found, one_by_default=True)
    return ContainerProgram(
        container if found is NO_LAUNCH else replace(container, launch=found),
        parts,
        options,
        variables,
        model if isinstance(model, str) else None,
    )


_CREDENTIAL = re.compile(r"(?:PASSWORD|TOKEN|SECRET|API_?KEY|ACCESS_?KEY)$", re.IGNORECASE)
"""Names of variables that hold one."""


def _plain_secrets(place: str, raw: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Places of credentials in plain text, and their kind. No value is kept."""
    for key in ("command", "args"):
        parts = [part if isinstance(part, str) else "" for part in items(raw.get(key))]
        for index, part in enumerate(parts):
            kind = secret_in(part)
            if kind is None and index and parts[index - 1].startswith("-") and " " not in part:
                kind = secret_in(f"{parts[index - 1]} {part}")
            if kind is not None:
                yield f"{place}.{key}[{index}]", kind
    headers = (
        (f"{place}.{key}.httpGet.httpHeaders[{index}].value", secret_in(str(at(header, "value"))))
        for _, key in _PROBES
        for index, header in enumerate(items(at(raw, f"{key}.httpGet.httpHeaders")))
    )
    yield from islice(((where, kind) for where, kind in headers if kind), 1)  # probes have the same
    for index, variable in enumerate(items(raw.get("env"))):
        name, value = at(variable, "name"), at(variable, "value")
        kind = secret_in(value) if isinstance(value, str) else None
        if kind is None and isinstance(name, str) and isinstance(value, str):
            named = _CREDENTIAL.search(name) is not None and masked(value) != value
            kind = "a possible credential" if named else None
        if kind is not None:
            yield f"{place}.env[{index}].value", kind


def _environment(container: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for variable in items(container.get("env")):
        name, value = at(variable, "name"), at(variable, "value")
        if isinstance(name, str) and isinstance(value, str):
            yield name, value
