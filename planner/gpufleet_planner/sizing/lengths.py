"""Lengths of the requests of a load test: all the same, drawn from a range, or as in ShareGPT."""

from collections.abc import Sequence
from enum import StrEnum
from random import Random
from statistics import fmean

from gpufleet_planner.sizing.load_test import Lengths


class LengthShape(StrEnum):
    """How prompts and outputs differ around their means."""

    EQUAL = "equal"
    """Not at all: NVIDIA's guide, `--random-range-ratio 0` of vLLM and 1 of SGLang."""
    UNIFORM = "uniform"
    """Each length from 0 to twice the mean alike, prompts and outputs apart: SGLang's `random` with
    its own range ratio, 0 (python/sglang/bench_serving.py)."""
    SHAREGPT = "sharegpt"
    """As conversations: first questions and answers of ShareGPT after the filter of vLLM."""


_SHAREGPT = """
759+16 34+626 207+294 22+523 12+452 815+580 49+549 447+461 4+52 166+15 405+80 12+388 807+15
98+386 262+5 9+366 637+16 48+538 65+806 16+226 13+781 19+62 195+9 189+39 514+7 761+9 724+19
232+13 193+181 5+1573 18+443 7+306 26+265 42+391 365+17 72+68 16+241 20+255 49+541 11+55 49+22
278+14 18+469 318+716 363+35 749+22 171+108 22+143 17+93 868+197 76+188 25+466 238+15 14+417
11+538 769+11 16+127 394+5 11+651 23+430 239+8 215+30 48+297 402+19 486+15 6+286 38+149 17+460
19+305 120+50 32+138 26+417 268+32 408+554 578+785 629+16 417+26 158+9 104+132 31+24 47+234
460+36 17+332 494+11 31+220 17+109 15+171 642+123 335+5 189+773 329+6 349+186 9+156 6+182 47+467
194+16 593+5 792+70 214+37 554+812 37+229 538+616 239+160 340+269 663+8 19+237 371+7 31+33
362+72 461+778 5+22 358+13 231+38 30+396 35+185 769+31 11+402 22+98 782+24 82+330 25+624 64+40
77+572 11+536 5+66 35+661 398+17 15+597 504+31 12+377 303+6 38+20 341+14 24+325 394+204 373+17
290+43 103+383 19+216 441+10 591+32 12+147 129+421 104+31 438+8 9+422 103+398 45+32 15+352
115+443 700+12 337+21 410+65 195+412 524+169 526+14 11+397 561+18 366+15 56+303 153+25 44+390
105+10 16+251 585+13 12+344 54+208 21+75 729+9 298+29 12+465 196+14 14+197 11+354 13+22 23+237
685+619 8+294 14+191 23+18 464+190 233+42 9+90 690+31 790+34 892+408 774+27 123+471 273+13
533+13
"""
"""Prompt and output tokens of the first turn of 190 conversations of ShareGPT_V3, as Qwen3's
tokenizer counts them (grantwilkins/powertrace-sim @ 96361ef, data/runs/
arrival_rate_qwen3-8b_a100_r2p5, levels/validate.json: 200 that its client drew), less those that
`is_valid_sequence` of vLLM leaves out: below 4 tokens, prompts above 1,024, both above 2,048
(vllm-project/vllm @ 0056b87, vllm/benchmarks/datasets.py). Means 233 and 219; 1,000 others that
vLLM drew with the same tokenizer have 217 and 201 (gpustack/gpustack @ 10e9444)."""


def drawn(shape: LengthShape, requests: int, prompt: float, output: float) -> tuple[Lengths, ...]:
    """So many requests of these means, the same for every call."""
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
        pairs = [pair.split("+") for pair in _SHAREGPT.split()]
        Random(0).shuffle(pairs)  # noqa: S311 - no secret
        taken = [pairs[number % len(pairs)] for number in range(requests)]
        prompts, outputs = ([float(pair[part]) for pair in taken] for part in (0, 1))
    return tuple(zip(_scaled(prompts, prompt), _scaled(outputs, output), strict=True))


def _scaled(lengths: Sequence[float], mean: float) -> list[int]:
    factor = mean / fmean(lengths)
    return [max(round(length * factor), 1) for length in lengths]
