"""Speed of serving: time to first token, time per token, tokens per second, saturation."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf, log
from typing import TYPE_CHECKING

from gpufleet.catalogue.serving_engine import ServingEngine
from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine, profile_of
from gpufleet.models.inference import Serving, replica_sequence_bytes
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.communication import LinkKind, inside_node
from gpufleet_planner.sizing.decode_step import REQUEST_SECONDS, DecodeStep, decode_step
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.request import LoadTestRequest
from gpufleet_planner.sizing.throughput import (
    ServedKind,
    Spread,
    attention_flops,
    device_rate,
    kind_of,
    reached,
    spread_of,
)

if TYPE_CHECKING:
    from gpufleet_planner.sizing.load_test import LoadedEngine, LoadFigures

PERCENTILE = 0.95
"""Part of the requests whose first token comes within the time that plans use."""
_APART = ("layer", "mixture-layer", "latent-layer", "server")
_MOST_BUSY = 0.99
_BUNCH, _MOST_BUNCHED = 0.6, 150.0
"""Prompts that wait for each part of the time that prefills take, by the square of the prompts that
share a step with one, and at most: the least that cover NVIDIA's load tests with prompts of 500 and
200 tokens (set `nim` of tests/data/load_points.csv). They bound what is planned with."""


@dataclass(frozen=True, slots=True)
class ServingSpeed:
    """Speed of one replica. Seconds and tokens per second; every figure is modelled."""

    first_token_seconds: float
    """TTFT of one prompt on an idle replica; queueing comes on top."""
    token_seconds: float
    """TPOT: one decode step at the stated batch; prompts that come in between come on top."""
    loaded_first_token_seconds: float
    """TTFT that 95 % of the requests keep while the stated batch is served: a prompt waits for
    others that arrive at random, and its steps decode the batch as well."""
    together_first_token_seconds: float | None
    """Mean TTFT of the same number of clients that start together and stay synchronous, as in load
    tests; None: such a test was not simulated."""
    loaded_token_seconds: float
    """TPOT while the stated batch is served: each step takes a part of the next prompts as well."""
    loaded_token_seconds_range: tuple[float, float]
    """Lowest and highest that published loads of this size leave; plans keep the highest."""
    tokens_per_second: float
    """Output tokens at the stated batch, prefill of new prompts included."""
    tokens_per_second_range: tuple[float, float]
    """The same spread."""
    range_note: str
    """Advice where published load tests leave a wide range; empty for most models."""
    saturated_tokens_per_second: float
    """Output tokens at the saturation batch."""
    saturation_sequences: int
    """Sequences at which more do not help: memory is full, or arithmetic binds."""
    binding: str
    """Bottleneck of a decode step at the stated batch: `bandwidth`, `compute`, `communication`."""
    mfu: float
    mbu: float
    basis: Basis
    """`modelled` where MFU and MBU were measured on this kind of work, else `assumed`."""


@dataclass(frozen=True, slots=True)
class ServingReplica:
    """One replica on given devices; its speed at any batch."""

    step: DecodeStep
    basis: Basis
    saturation: int
    """Sequences at which more do not help; 0: the devices hold not one."""
    prompt_operations: float
    """Seconds of one prompt's forward pass, over all GPUs."""
    prompt_moved_seconds: float
    """Communication of that pass."""
    first_token_seconds: float
    """TTFT of one prompt on an idle replica."""
    prompt_tokens: int
    """Tokens of a mean request."""
    prompt_seconds: float
    """Arithmetic and communication of a prompt, all GPUs at work at once."""
    output_tokens: int
    """Tokens of a mean request."""
    chunks: int
    """Steps over which the engine spreads a mean prompt."""
    prompts_per_step: float
    """Mean prompts that one step may prefill."""
    room: int
    """Sequences that the engine runs at once; 0: none fits, and no batch is reduced."""
    cache_tokens: float
    """Tokens of sequences of this length that the cache holds."""
    serving: Serving
    profile: ServingEngine | None
    """Engine overhead of a step, and whether prompts share it; None: Transformers."""
    waited: float
    """Part of the server's time of a step that the GPU waits for; the rest passes meanwhile."""
    kind: ServedKind
    """Properties that select the spread of published load tests around the model."""

    @property
    def spread(self) -> Spread:
        """The spread of a steady load."""
        return spread_of(self.kind)

    def held(self, batch: int) -> int:
        """Running requests of this number; the others wait for one to end."""
        return min(batch, self.room) if self.room else batch

    def step_seconds(
        self, batch: int, held: float | None = None, reading: float = 0.0, computing: float = 0.0
    ) -> float:
        """One step of a number of sequences, with the server's work outside the model. `held`:
        number of sequences of the mean length with as much cache as these; `reading`, `computing`:
        additions of prompts that share its pass."""
        seconds = self.step.seconds(batch, held, reading, computing)
        if self.profile is None:
            return seconds
        server = self.profile.server_step_seconds
        seconds = max(seconds + self.waited * server, server)
        return seconds + batch * self.profile.server_sequence_seconds

    def prefill_seconds(self, batch: int, prompts: float = 1.0) -> float:
        """Seconds that prefilling `prompts` adds to a step of `batch` sequences; a mixture also
        reads the experts that the prompts touch."""
        experts = self.step.further_experts_seconds(batch, prompts * self.prompt_tokens)
        return prompts * self.prompt_seconds + experts

    def _mixed_seconds(self, batch: int, held: float, prompts: float) -> float:
        """One step that also prefills a number of prompts: in a separate pass, or in that of the
        sequences, whose weights it shares."""
        if self.profile is None or not self.profile.mixes:
            return self.step_seconds(batch, held) + self.prefill_seconds(batch, prompts)
        tokens = prompts * self.prompt_tokens
        moved = tokens * self.step.moved_seconds_per_token
        return moved + self.step_seconds(
            batch,
            held,
            self.step.further_experts_seconds(batch, tokens),
            prompts * self.prompt_seconds - moved,
        )

    def loaded_token_seconds(self, batch: int) -> float:
        """Time per token at this number of served sequences: prompts of others share steps."""
        batch = self.held(batch)
        others = max(batch - 1, 0)
        return self.step_seconds(batch) + others * self.prefill_seconds(batch) / self.output_tokens

    def loaded_token_range(self, batch: int) -> tuple[float, float]:
        """Lowest and highest of that time."""
        token = self.loaded_token_seconds(batch)
        return token * self.spread.least, token * self.spread.most

    def loaded_first_token_seconds(self, batch: int, part: float | None = None) -> float:
        """Time to the first token while this number of sequences is served: of the mean request, or
        of a percentile of the requests.

        Prompts arrive at random and are prefilled in turn (M/D/1); each occupies its own prefill
        and its part of the decoding in its steps. Requests beyond the running ones wait for the
        same number to end.
        """
        waiting = batch - self.held(batch)
        batch -= waiting
        if waiting:
            ended = self.tokens_per_second(batch) / self.output_tokens
            return waiting / ended + self.loaded_first_token_seconds(batch, part)
        step, rate = self.step_seconds(batch), self.tokens_per_second(batch) / self.output_tokens
        service = self.first_token_seconds + self.chunks * step + REQUEST_SECONDS
        if batch == 1:
            return service
        # Others that come while one step runs share the next; what does not fit into it waits.
        prefill = self.prefill_seconds(batch)
        come = rate * step / max(1 - rate * prefill, 1 - _MOST_BUSY)
        service += min(come, self.prompts_per_step - 1) * self.prompt_seconds
        turn = prefill + self.chunks * step / self.prompts_per_step
        busy = min(rate * turn, _MOST_BUSY)
        scale = turn / (2 * (1 - busy))
        if part is None:
            # It arrives within a step: half of that is waited for on average.
            return service + step / 2 + busy * scale
        waits = service + step + scale * max(0.0, log(busy / (1 - part)))
        return max(waits, service + step + self._bunched_seconds(batch))

    def _bunched_seconds(self, batch: int) -> float:
        """Wait for prompts that come in bunches: clients that started together, whose short prompts
        share a step, end together and send their next ones together."""
        rate = self.tokens_per_second(batch) / self.output_tokens
        bunch = min(_BUNCH * (self.prompts_per_step - 1) ** 2, _MOST_BUNCHED)
        return bunch * rate * self.first_token_seconds**2

    def together(self, clients: int) -> "LoadFigures":
        """The measurement of clients that start together, get outputs of one length and send the
        next request after their answer, as in load tests."""
        from gpufleet_planner.sizing.load_test import ROUNDS, load_test  # choices need none

        each = (self.prompt_tokens, self.output_tokens)
        return load_test(self.loaded_engine(), [each] * (clients * ROUNDS), clients)

    def tested(self, asked: LoadTestRequest) -> "LoadFigures":
        """A load test, followed step by step, with the ranges of published load tests."""
        from gpufleet_planner.sizing.load_test import at_random, drawn, load_test

        lengths = drawn(asked.lengths, asked.prompts, self.prompt_tokens, self.output_tokens)
        times = None if asked.rate is None else at_random(asked.rate, asked.prompts)
        found = load_test(self.loaded_engine(), lengths, asked.clients, times)
        spread = spread_of(self.kind, burst=asked.rate is None and asked.clients is None)
        token, rate = found.token_seconds, found.tokens_per_second
        return replace(
            found,
            token_seconds_range=(token * spread.least, token * spread.most),
            tokens_per_second_range=(rate / spread.most, rate / spread.least),
        )

    def loaded_engine(self) -> "LoadedEngine":
        """The replica as load tests find it."""
        from gpufleet_planner.sizing.load_test import LoadedEngine, Reserve

        mean, prompt = self.prompt_tokens + self.output_tokens / 2, self.prompt_tokens
        return LoadedEngine(
            step_seconds=lambda batch, tokens: self.step_seconds(batch, tokens / mean),
            prefill_seconds=lambda batch, tokens, prompts: self._mixed_seconds(
                batch, tokens / mean, prompts / prompt
            ),
            delay_seconds=self.first_token_seconds - self.prefill_seconds(1),
            step_tokens=self.serving.step_tokens,
            chunked=self.serving.chunked_prefill,
            sequences=self.serving.max_sequences if self.room else inf,
            cache_tokens=self.cache_tokens if self.room else inf,
            reserve=Reserve(*self.profile.reserved_output) if self.profile else Reserve(),
        )

    def tokens_per_second(self, batch: int) -> float:
        """Output tokens at a batch: B / (step + B * prefill of one prompt / OSL)."""
        batch = self.held(batch)
        prefill = batch * self.prefill_seconds(batch) / self.output_tokens
        return batch / (self.step_seconds(batch) + prefill)

    def speed(self, batch: int, *, together: bool = True) -> ServingSpeed:
        """Every figure at a batch; that of clients that start together only where requested."""
        step, full = self.step, self.saturation
        rate = self.tokens_per_second(batch)
        names = ("bandwidth", "compute", "communication")
        parts = dict(zip(names, step.parts(batch), strict=True))
        return ServingSpeed(
            first_token_seconds=self.first_token_seconds,
            token_seconds=step.seconds(batch),
            loaded_first_token_seconds=self.loaded_first_token_seconds(batch, PERCENTILE),
            together_first_token_seconds=(
                self.together(batch).first_token_seconds if together else None
            ),
            loaded_token_seconds=self.loaded_token_seconds(batch),
            loaded_token_seconds_range=self.loaded_token_range(batch),
            tokens_per_second=rate,
            tokens_per_second_range=(rate / self.spread.most, rate / self.spread.least),
            range_note=self.spread.note,
            saturated_tokens_per_second=self.tokens_per_second(full) if full else 0.0,
            saturation_sequences=full,
            binding=max(parts, key=parts.__getitem__),
            mfu=step.mfu,
            mbu=step.mbu,
            basis=self.basis,
        )


def mean_prompt(serving: Serving) -> int:
    """Tokens of a mean prompt; default half of the context."""
    if serving.prompt_tokens is not None:
        return serving.prompt_tokens
    return max(serving.context // 2, 1)


def _saturation(step: DecodeStep, room: int) -> int:
    """Batch beyond which arithmetic or memory gives no more: bandwidth time still falls per token
    while it exceeds compute time."""
    low, high = 1, max(room, 1)
    while low < high:
        middle = (low + high + 1) // 2
        bandwidth, compute, _ = step.parts(middle)
        if bandwidth >= compute:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=8192)
def serving_replica(
    model: Architecture,
    serving: Serving,
    device: Device,
    parallel: Parallelism | None = None,
) -> ServingReplica | None:
    """One replica on such devices, for any batch; None where the board's rates are not sourced, the
    model generates no tokens, or an engine starts the kernels of each step one by one."""
    rate = device_rate(device, serving.weights)
    if rate is None or not model.causal or not serving.graphs:
        return None
    parallel = parallel or Parallelism()
    known = (model, rate, device, serving.engine, serving.weights, parallel.serving_gpus)
    mfu, basis = reached("prefill", *known)
    mbu, _ = reached("decode", *known)
    joined = inside_node(device.gpu, device.board)
    layer, mixture, latent, waited = (reached(figure, *known)[0] for figure in _APART)
    step = decode_step(model, serving, parallel, joined, rate, mfu, mbu, (layer, mixture, latent))
    cache = capacity(model, serving, device.usable_bytes, parallel, worst=False)
    room = min(cache.sequences, serving.max_sequences)
    each_kept = replica_sequence_bytes(model, serving, parallel, serving.kept_tokens)
    held = cache.cache_bytes / each_kept * serving.kept_tokens if each_kept else inf
    if serving.engine is InferenceEngine.SGLANG and cache.tokens:
        held = cache.tokens
    prompt, output = mean_prompt(serving), serving.output_tokens
    # Causal: each token sees half of the others on average.
    each = 2 * count_parameters(model).multiplied + attention_flops(model, prompt / 2)
    plain = serving.engine is InferenceEngine.TRANSFORMERS
    peak, moved = rate.peak * mfu, prompt * step.moved_seconds_per_token
    # Rates of PCIe groups are planning constants.
    joined_well = parallel.tensor == 1 or joined.kind is not LinkKind.PCIE
    exact = basis is Basis.MEASURED and model.basis is not Basis.ASSUMED and joined_well
    return ServingReplica(
        step=step,
        basis=Basis.MODELLED if exact else Basis.ASSUMED,
        saturation=_saturation(step, room) if room else 0,
        prompt_operations=prompt * each,
        prompt_moved_seconds=step.moved_seconds + moved,
        first_token_seconds=(
            prompt * each / (parallel.prompt_gpus * peak)
            + step.moved_seconds
            + moved
            + step.further_experts_seconds(1, prompt)
        ),
        prompt_tokens=prompt,
        prompt_seconds=prompt * each / (parallel.serving_gpus * peak) + moved,
        output_tokens=max(serving.context - prompt if output is None else output, 1),
        chunks=ceil(prompt / serving.batched_tokens) if serving.chunked_prefill else 1,
        prompts_per_step=max(serving.step_tokens / prompt, 1.0),
        room=room,
        cache_tokens=held,
        serving=serving,
        profile=None if plain else profile_of(serving.engine),
        waited=waited,
        kind=kind_of(model, serving.engine, serving.weights),
    )
