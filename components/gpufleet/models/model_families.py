"""What the `model_type` of a Hugging Face configuration says about families of models."""

_PLAIN_NAMES = """
albert apertus arcee bert bloom camembert codegen cosmos3_edge_text deberta deberta-v2 distilbert
electra falcon gpt2 gpt_bigcode gpt_neo gpt_neox gptj jais2 mpnet mpt nanochat nemotron nemotron_h
nomic_bert opt persimmon phi roberta stablelm_alpha starcoder2 xlm-roberta
"""
_GATED_NAMES = """
baichuan bamba bitnet cohere cohere2 cwm dbrx deepseek deepseek_ref deepseek_v2 deepseek_v3
deepseek_v32 deepseek_v4 dots1 ernie4_5 ernie4_5_moe exaone exaone4 exaone_moe falcon_h1 flex_olmo
gemma gemma2 gemma3 gemma3_text gemma4_text gemma4_unified_text glm glm4 glm4_moe glm4_moe_lite
glm_moe_dsa gpt_oss granite granitemoe granitemoehybrid granitemoeshared helium hunyuan_v1_dense
hunyuan_v1_moe hy_v3 hyperclovax internlm2 internlm3 iquestcoder jamba kimi_k2 kimi_linear lfm2
llama llama4 llama4_text mellum mimo mimo_v2_flash minicpm minicpm3 minimax minimax_m1 minimax_m2
minimax_m3 minimax_m3_vl_text minimax_text_01 ministral ministral3 mistral mistral3 mistral4
nemotron-nas
mixtral mllama_text_model modernbert olmo olmo2 olmo3 olmoe phi3 phimoe qwen qwen2 qwen2_5_vl
qwen2_5_vl_text qwen2_moe qwen2_vl qwen2_vl_text qwen3 qwen3_5 qwen3_5_moe qwen3_5_moe_text
qwen3_5_text qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe qwen3_vl_moe_text qwen3_vl_text seed_oss
smollm3 solar solar_open stablelm vaultgemma xverse yi youtu
"""
_ENCODER_NAMES = """
albert bert camembert deberta deberta-v2 distilbert electra modernbert mpnet nomic_bert roberta
xlm-roberta
"""

VISION_GATED = ("qwen2_5_vl", "qwen2_5_omni", "pixtral", "glm4v", "glm4v_moe")
"""Model types of vision towers, or of models around them, with three matrices per feed-forward; all
others (SigLIP, CLIP, InternViT, Qwen2-VL, Qwen3-VL, Llama 4, ...) have two."""
TOWERS = (
    "clip_vision_model",
    "cosmos3",
    "exaone4_5",
    "gemma3",
    "gemma4",
    "got_ocr2",
    "idefics3",
    "intern",
    "kimi",
    "llama4",
    "minicpm",
    "mistral3",
    "moonvit",
    "ovis2",
    "paddleocr_vl",
    "pixtral",
    "qianfan_ocr",
    "qwen2_5_vl",
    "qwen2_vl",
    "qwen3_5",
    "qwen3_vl",
    "siglip",
    "smolvlm",
)
"""Starts of model types of vision towers whose estimate was compared with published sizes."""
PLAIN = frozenset(_PLAIN_NAMES.split())
"""Two matrices per feed-forward."""
GATED = frozenset(_GATED_NAMES.split())
"""Three matrices per feed-forward."""
ENCODERS = frozenset(_ENCODER_NAMES.split())
"""No generation: no KV cache and no vocabulary projection."""
PER_HEAD_NORM = ("qwen3", "olmo2", "olmo3", "gemma3", "hunyuan", "exaone4")
"""Prefixes of families that normalise queries and keys per head."""
LATENT = (
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "kimi_k2",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "minicpm3",
)
"""Families that cache one compressed vector per token: without their latent fields (kv_lora_rank
and the like) a configuration says nothing of their attention."""
NOT_READ = {
    "jetmoe": "experts in its attention",
    "video_llava": "two towers of one configuration",
}
"""Families that other keys would make look like plain ones."""
STATE_SPACE = ("mamba", "mamba2", "falcon_mamba")
"""Families without attention and feed-forward: every layer is a Mamba block."""
KNOWN = PLAIN | GATED | frozenset(STATE_SPACE)
"""Families whose fields were compared with their code. Figures of any other are assumed."""
DEFAULTS: dict[str, dict[str, int]] = {
    "llama": {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    },
    "mistral": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
    },
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262208,
    },
}
"""What Transformers takes where the language part of a vision-language model leaves a size out
(huggingface/transformers `configuration_llama.py`, `configuration_mistral.py`,
`configuration_gemma3.py`, 2026-11-22): such parts hold only what differs from it."""
TIED = (
    *("gemma", "gpt2", "falcon", "opt", "gpt_bigcode", "starcoder2", "cohere", "bloom", "mpt"),
    *("lfm2", "lfm3", "smollm3", "ernie4_5", "jetmoe", "zamba", "recurrent_gemma", "vaultgemma"),
    *("minicpm3", "youtu", "zaya"),
)
"""Prefixes of families that tie the head where the configuration does not say (defaults of the
configuration classes of Transformers 5.23.0)."""
FULL_ATTENTION_EVERY = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4, "gpt_oss": 2}
"""One layer in this many has full attention by default; the rest have a window."""
GLU = ("swiglu", "swigluoai", "geglu")
"""Activations that are gates by name, whatever the family usually has (nomic-embed)."""
GATED_ACTIVATIONS = ("silu", "swish", *GLU)
"""Activations that only gated feed-forwards use."""
