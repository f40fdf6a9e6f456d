"""Load tests as tools make them: clients that start together, ask for outputs of one length and
send the next request when they have their answer.

The engine is followed event by event: a step that prefills what has come, or as many steps as only
decode. A step that prefills takes its decode step as well, so that a prompt which comes while one
runs waits for that, and pays another. Clients whose prompts shared a step end together and send
their next ones together: they stay in step.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil

ROUNDS = 3
"""Requests of each client in a load test of NVIDIA's guide (docs.nvidia.com/nim/benchmarking)."""
REQUEST_SECONDS, APART_SECONDS = 3e-3, 1e-3
"""Server and tokenizer before the engine has a prompt, and the time between prompts of clients that
ask at the same moment: fitted to two thirds of the load tests of tests/data/closed_loops.csv."""
_LEAST_PART = 1e-9


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """What a load costs one replica."""

    step_seconds: Callable[[int], float]
    """One decode step of so many sequences."""
    prefill_seconds: Callable[[int, float], float]
    """By which a step of so many sequences gets longer that prefills so many prompts."""
    delay_seconds: float
    """By which a first token comes after its step: stages of a pipeline, latency of the network."""
    prompts_per_step: float
    """Prompts, or the part of one, that one step may prefill."""
    room: int
    """Sequences at once; 0: no limit."""
    output_tokens: int


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """What such a test measures: means over all requests, and the rate of the whole test."""

    clients: int
    first_token_seconds: float
    token_seconds: float
    tokens_per_second: float
    """Output tokens of all clients."""


@dataclass(slots=True)
class _Request:
    came: float
    """When the engine had the prompt."""
    later: int
    """Requests of the same client after this one."""
    left: float = 1.0
    """Part of the prompt that is not prefilled."""


def closed_loop(engine: LoadedEngine, clients: int, rounds: int = ROUNDS) -> ClosedLoop:
    """The test with so many clients on one replica, each with so many requests."""
    return _Test(engine, clients, rounds).measured()


class _Test:
    def __init__(self, engine: LoadedEngine, clients: int, rounds: int) -> None:
        self._engine, self._clients, self._rounds = engine, clients, rounds
        self._room = engine.room or clients
        self._now, self._steps, self._running = 0.0, 0, 0
        self._coming = [(number * APART_SECONDS, rounds - 1) for number in range(clients)]
        heapify(self._coming)
        self._prompts: deque[_Request] = deque()
        self._decoding: deque[tuple[int, float, list[_Request]]] = deque()
        """Last step, end of the first one, and the requests: outputs of one length end in the order
        in which they began."""
        self._first = self._token = 0.0

    def measured(self) -> ClosedLoop:
        while self._coming or self._prompts or self._decoding:
            self._receive()
            if self._prompts:
                self._prefill()
            else:
                self._decode()
            self._answer()
        requests = self._clients * self._rounds
        return ClosedLoop(
            clients=self._clients,
            first_token_seconds=self._first / requests,
            token_seconds=self._token / requests,
            tokens_per_second=requests * self._engine.output_tokens / self._now,
        )

    def _has_room(self) -> bool:
        return self._running + len(self._prompts) < self._room

    def _receive(self) -> None:
        if not self._prompts and not self._decoding:
            self._now = max(self._now, self._coming[0][0])
        while self._coming and self._coming[0][0] <= self._now and self._has_room():
            self._prompts.append(_Request(*heappop(self._coming)))

    def _prefill(self) -> None:
        engine, budget, whole = self._engine, self._engine.prompts_per_step, list[_Request]()
        while self._prompts and budget > _LEAST_PART:
            request = self._prompts[0]
            part = min(budget, request.left)
            request.left -= part
            budget -= part
            if request.left <= _LEAST_PART:
                whole.append(self._prompts.popleft())
        self._running += len(whole)
        prefilled = engine.prompts_per_step - budget
        running = max(self._running, 1)
        self._now += engine.step_seconds(running) + engine.prefill_seconds(running, prefilled)
        self._steps += 1
        if whole:
            later = engine.delay_seconds + REQUEST_SECONDS
            self._first += sum(self._now - one.came + later for one in whole)
            last = self._steps + engine.output_tokens - 1
            self._decoding.append((last, self._now, whole))

    def _decode(self) -> None:
        step = self._engine.step_seconds(self._running)
        steps = self._decoding[0][0] - self._steps
        if self._coming and self._has_room():
            steps = min(steps, max(ceil((self._coming[0][0] - self._now) / step), 1))
        self._now += steps * step
        self._steps += steps

    def _answer(self) -> None:
        number = 0
        while self._decoding and self._decoding[0][0] <= self._steps:
            _, first, requests = self._decoding.popleft()
            self._running -= len(requests)
            each = (self._now - first) / max(self._engine.output_tokens - 1, 1)
            self._token += each * len(requests)
            for request in requests:
                if request.later:
                    again = self._now + REQUEST_SECONDS + number * APART_SECONDS
                    heappush(self._coming, (again, request.later - 1))
                    number += 1
