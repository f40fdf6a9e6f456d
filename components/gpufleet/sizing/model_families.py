"""What the `model_type` of a Hugging Face configuration says about families of models."""

_PLAIN_NAMES = """
albert bert bloom camembert codegen deberta deberta-v2 distilbert electra falcon gpt2 gpt_bigcode
gpt_neo gpt_neox gptj mpnet mpt nemotron nomic_bert opt persimmon phi roberta stablelm_alpha
starcoder2 xlm-roberta
"""
_GATED_NAMES = """
arcee baichuan bamba cohere cohere2 dbrx deepseek deepseek_v2 deepseek_v3 deepseek_v32 dots1
ernie4_5 ernie4_5_moe exaone exaone4 falcon_h1 gemma gemma2 gemma3 gemma3_text glm glm4 glm4_moe
glm_moe_dsa gpt_oss granite granitemoe granitemoehybrid helium hunyuan_v1_dense hunyuan_v1_moe
internlm2 internlm3 jamba kimi_k2 lfm2 llama llama4 llama4_text minicpm minicpm3 minimax minimax_m2
ministral mistral mistral3 mixtral mllama_text_model modernbert olmo olmo2 olmo3 olmoe phi3 phimoe
qwen qwen2 qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3 qwen3_moe qwen3_next
qwen3_5 qwen3_5_moe qwen3_5_text qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text seed_oss
smollm3 solar stablelm xverse yi
"""
_ENCODER_NAMES = """
albert bert camembert deberta deberta-v2 distilbert electra modernbert mpnet nomic_bert roberta
xlm-roberta
"""

VISION_GATED = ("qwen2_5_vl", "qwen2_5_omni", "pixtral", "glm4v", "glm4v_moe")
"""Model types of vision towers, or of models around them, with three matrices per feed-forward; all
others (SigLIP, CLIP, InternViT, Qwen2-VL, Qwen3-VL, Llama 4, ...) have two."""
PLAIN = frozenset(_PLAIN_NAMES.split())
"""Two matrices per feed-forward."""
GATED = frozenset(_GATED_NAMES.split())
"""Three matrices per feed-forward."""
ENCODERS = frozenset(_ENCODER_NAMES.split())
"""No generation: no KV cache and no vocabulary projection."""
PER_HEAD_NORM = ("qwen3", "olmo2", "olmo3", "gemma3", "hunyuan", "exaone4")
"""Prefixes of families that normalise queries and keys per head."""
LATENT = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "minicpm3")
"""Families that cache one compressed vector per token: without their latent fields (kv_lora_rank
and the like) a configuration says nothing of their attention."""
TIED = ("gemma", "gpt2", "falcon", "opt", "gpt_bigcode", "starcoder2", "cohere", "bloom", "mpt")
"""Prefixes of families that tie the head where the configuration does not say."""
FULL_ATTENTION_EVERY = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4, "gpt_oss": 2}
"""One layer in this many has full attention by default; the rest have a window."""
GATED_ACTIVATIONS = ("silu", "swish", "swiglu", "geglu")
"""Activations that only gated feed-forwards use."""
