"""Load tests as tools run them (`vllm bench serve`, `sglang.bench_serving`, AIPerf): requests that
arrive all at once, at random, or from clients that send the next one after an answer.

The engine is simulated event by event: a step that prefills new prompts, or a number of steps that
only decode. A step that prefills contains its decode step, so that a prompt which arrives during a
step waits for it, and then for another. Clients whose prompts shared a step and whose outputs have
one length end together and send their next requests together: they stay synchronous.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import groupby
from math import ceil, inf
from random import Random
from statistics import fmean

from gpufleet_planner.sizing.decode_step import REQUEST_SECONDS
from gpufleet_planner.sizing.request import LengthShape
from gpufleet_planner.tables import table

ROUNDS = 3
"""Requests of each client in a load test of NVIDIA's guide (docs.nvidia.com/nim/benchmarking)."""
APART_SECONDS = 1e-3
"""Time between prompts of clients that send at the same moment: fitted as `REQUEST_SECONDS`."""
_RETRACTED_STEPS = 20
"""Steps for which SGLang keeps room after it paused a sequence (SGLANG_RETRACT_DECODE_STEPS)."""

Lengths = tuple[int, int]
"""Tokens of a prompt and of its output."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Part of the output still to come of running sequences for which an engine keeps room when it
    starts another: 1 where none is ever paused, 0 where the prompt alone must fit."""

    first: float = 0.0
    least: float = 0.0
    steps: int = 1
    """Steps in which it falls from the first to the least."""


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """Cost of a load for one replica."""

    step_seconds: Callable[[int, float], float]
    """One decode step of a number of sequences that hold a number of tokens in all."""
    prefill_seconds: Callable[[int, float, float], float]
    """One step of sequences that hold a number of tokens, and that prefills a number of tokens."""
    delay_seconds: float
    """By which a first token comes after its step: stages of a pipeline, latency of the network."""
    step_tokens: float
    """Tokens that one step may take, decoded ones included."""
    chunked: bool = True
    """Whether a prompt may be spread over several steps."""
    sequences: float = inf
    """Sequences at once."""
    cache_tokens: float = inf
    """Tokens that the cache holds."""
    reserve: Reserve = Reserve()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """Result of such a test: means over all requests, and the rate of the whole test."""

    first_token_seconds: float
    token_seconds: float
    """Mean of each request's own mean, as the tools report it: a short answer has the same weight
    as a long one."""
    token_seconds_range: tuple[float, float] | None = None
    """Lowest and highest that published load tests leave; None: not asked."""
    tokens_per_second: float
    """Output tokens of all requests, from the first prompt to the last token."""
    tokens_per_second_range: tuple[float, float] | None = None
    pauses: int = 0
    """How often a sequence lost its cache to others and was prefilled again."""


def at_random(rate: float, requests: int) -> tuple[float, ...]:
    """Times of a Poisson process, the same for every call."""
    draw = Random(0)  # noqa: S311 - no secret
    now, times = 0.0, list[float]()
    for _ in range(requests):
        times.append(now)
        now += draw.expovariate(rate)
    return tuple(times)


def load_test(
    engine: LoadedEngine,
    requests: Sequence[Lengths],
    clients: int | None = None,
    times: Sequence[float] | None = None,
) -> LoadFigures:
    """The test of these requests on one replica: at these times, or from a number of clients that
    each send the next request after an answer. None: all at once."""
    return _Test(engine, requests, clients or len(requests), times).measured()


@dataclass(slots=True)
class _Request:
    came: float
    """When the engine had the prompt."""
    prompt: int
    output: int
    left: float
    """Tokens that are not prefilled."""
    made: int = 0
    """Tokens of the output that were made before its last pause."""
    first: float = -1.0
    """When the first token was made."""


class _Test:
    def __init__(
        self,
        engine: LoadedEngine,
        requests: Sequence[Lengths],
        clients: int,
        times: Sequence[float] | None,
    ) -> None:
        self._engine, self._lengths = engine, requests
        if times is None:
            times = [number * APART_SECONDS for number in range(min(clients, len(requests)))]
        self._coming = [(when, number) for number, when in enumerate(times)]
        heapify(self._coming)
        self._sent = len(times)
        self._now, self._steps = 0.0, 0
        self._waiting: deque[_Request] = deque()
        self._prompts: deque[_Request] = deque()
        """Requests that have room and are prefilled."""
        self._running = 0
        self._groups: dict[int, tuple[int, list[_Request]]] = {}
        """Last step and requests of those that began and end together, in the order of their
        beginning."""
        self._ends: list[tuple[int, int]] = []
        """Last step and number of each group; also of groups that were paused."""
        self._number = 0
        self._held = 0.0
        """Tokens in the cache."""
        self._to_come = 0.0
        """Tokens of the output that running sequences have still to make."""
        self._part = engine.reserve.first
        self._full = False
        """Whether this step had to pause a sequence: none is started then."""
        self._pauses = 0
        self._first = self._token = 0.0
        self._timed = 0

    def measured(self) -> LoadFigures:
        while self._coming or self._waiting or self._prompts or self._groups:
            self._receive()
            self._admit()
            if self._prompts:
                self._prefill()
            else:
                self._decode()
            self._answer()
        requests = self._lengths
        return LoadFigures(
            first_token_seconds=self._first / len(requests),
            token_seconds=self._token / max(self._timed, 1),
            tokens_per_second=sum(output for _, output in requests) / self._now,
            pauses=self._pauses,
        )

    def _receive(self) -> None:
        if not (self._prompts or self._groups or self._waiting):
            self._now = max(self._now, self._coming[0][0])
        while self._coming and self._coming[0][0] <= self._now:
            came, number = heappop(self._coming)
            prompt, output = self._lengths[number]
            self._waiting.append(_Request(came, prompt, output, prompt))

    def _budget(self) -> float:
        return max(self._engine.step_tokens - self._running, 1.0)

    def _admit(self) -> None:
        """Give waiting requests room in their order, as many as this step can begin to prefill."""
        engine = self._engine
        if self._full or not self._waiting:
            return
        asked = sum(request.left for request in self._prompts)
        kept = self._held + self._part * self._to_come
        kept += sum(self._new(request) for request in self._prompts)
        while self._waiting and asked < self._budget():
            request = self._waiting[0]
            busy = self._running + len(self._prompts)
            fits = kept + request.left + self._new(request) <= engine.cache_tokens
            if busy and not (fits and busy < engine.sequences):
                return
            self._prompts.append(self._waiting.popleft())
            asked += request.left
            kept += request.left + self._new(request)
            self._held += request.left

    def _new(self, request: _Request) -> float:
        """Room kept for the output of a sequence that starts: all of it, unless none is kept."""
        return float(request.output - request.made) if self._engine.reserve.first else 0.0

    def _prefill(self) -> None:
        engine, budget, whole = self._engine, self._budget(), list[_Request]()
        prefilled = 0.0
        while self._prompts and (prefilled < budget):
            request = self._prompts[0]
            part = request.left
            if engine.chunked or not prefilled:
                part = min(part, budget - prefilled) if engine.chunked else part
            elif prefilled + part > budget:
                break
            request.left -= part
            prefilled += part
            if request.left <= 0:
                whole.append(self._prompts.popleft())
        self._advance(1, self._running)
        self._running += len(whole)
        running = max(self._running, 1)
        self._now += engine.prefill_seconds(running, self._held, prefilled)
        self._held += len(whole)
        later = engine.delay_seconds + REQUEST_SECONDS
        for request in whole:
            if request.first < 0:
                request.first = self._now
                self._first += self._now - request.came + later
            request.made += 1
            self._to_come += request.output - request.made
        whole.sort(key=_to_make)
        for left, requests in groupby(whole, key=_to_make):
            self._number += 1
            self._groups[self._number] = (self._steps + left, list(requests))
            heappush(self._ends, (self._steps + left, self._number))

    def _advance(self, steps: int, running: int) -> None:
        self._steps += steps
        self._held += steps * running
        self._to_come -= steps * running
        reserve = self._engine.reserve
        fall = (reserve.first - reserve.least) / reserve.steps
        self._part = max(self._part - steps * fall, reserve.least)
        self._full = False

    def _decode(self) -> None:
        engine, running = self._engine, self._running
        steps = max(self._next_end() - self._steps, 1)
        free = (engine.cache_tokens - self._held) / running
        if free < 1 and running > 1:
            self._pause()
            return
        steps = min(steps, max(int(min(free, steps)), 1))
        step = engine.step_seconds(running, self._held + running / 2)
        gap = self._coming[0][0] - self._now if self._coming and not self._waiting else inf
        if running < engine.sequences and gap < steps * step:
            steps = max(ceil(gap / step), 1)
        if steps > 1:
            step = engine.step_seconds(running, self._held + running * steps / 2)
        self._now += steps * step
        self._advance(steps, running)

    def _next_end(self) -> int:
        while self._ends[0][1] not in self._groups:
            heappop(self._ends)
        return self._ends[0][0]

    def _pause(self) -> None:
        """The sequence that began last gives its cache back and is the next to be prefilled."""
        number = next(reversed(self._groups))
        last, requests = self._groups[number]
        request = requests.pop()
        if not requests:
            del self._groups[number]
        request.made = request.output - (last - self._steps)
        request.left = request.prompt + request.made
        self._held -= request.left
        self._to_come -= last - self._steps
        self._running -= 1
        self._waiting.appendleft(request)
        self._full = True
        self._pauses += 1
        if self._engine.reserve.first:
            made = sum(
                len(group) * -end + sum(one.output for one in group) + len(group) * self._steps
                for end, group in self._groups.values()
            )
            asked = made + _RETRACTED_STEPS * self._running
            self._part = min(asked / (made + self._to_come), 1.0)

    def _answer(self) -> None:
        later = self._later()
        while self._groups and self._next_end() <= self._steps:
            _, number = heappop(self._ends)
            _, requests = self._groups.pop(number)
            self._running -= len(requests)
            for request in requests:
                self._held -= request.prompt + request.output
                if request.output > 1:
                    self._token += (self._now - request.first) / (request.output - 1)
                    self._timed += 1
                if self._sent < len(self._lengths):
                    heappush(self._coming, (next(later), self._sent))
                    self._sent += 1

    def _later(self) -> Iterator[float]:
        """Times of the next requests of clients that have their answers."""
        again = self._now + REQUEST_SECONDS
        while True:
            yield again
            again += APART_SECONDS


def _to_make(request: _Request) -> int:
    return request.output - request.made


def drawn(shape: LengthShape, requests: int, prompt: float, output: float) -> tuple[Lengths, ...]:
    """The requests of a test with these means, the same for every call."""
    if shape is LengthShape.EQUAL:
        prompts: list[float] = [prompt] * requests
        outputs: list[float] = [output] * requests
    elif shape is LengthShape.UNIFORM:
        draw = Random(0)  # noqa: S311 - no secret
        prompts = [(2 * number + 1) / requests for number in range(requests)]
        outputs = list(prompts)
        draw.shuffle(prompts)
        draw.shuffle(outputs)
    else:
        pairs = [(row["prompt"], row["output"]) for row in table("sharegpt")]
        Random(0).shuffle(pairs)  # noqa: S311 - no secret
        taken = [pairs[number % len(pairs)] for number in range(requests)]
        prompts, outputs = ([float(pair[part]) for pair in taken] for part in (0, 1))
    return tuple(zip(_scaled(prompts, prompt), _scaled(outputs, output), strict=True))


def _scaled(lengths: Sequence[float], mean: float) -> list[int]:
    factor = mean / fmean(lengths)
    return [max(round(length * factor), 1) for length in lengths]
