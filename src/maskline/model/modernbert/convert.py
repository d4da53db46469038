"""ModernBERT in the form of Hugging Face (`transformers.ModernBertForMaskedLM` etc.): names and configuration."""

from collections.abc import Mapping
from typing import Any

from maskline.model.modernbert.settings import Settings
from maskline.model.names import Names

NAMES = Names(
    encoder="model.",
    pooler=(),
    mlm="decoder.",
    nsp=(),
    layer="model.layers.#.mlp.Wi.weight",
    modules={
        "encoder.embeddings.token": "model.embeddings.tok_embeddings",
        "encoder.embeddings.norm": "model.embeddings.norm",
        "encoder.layers.#.attention_norm": "model.layers.#.attn_norm",
        "encoder.layers.#.attention.qkv": "model.layers.#.attn.Wqkv",
        "encoder.layers.#.attention.out": "model.layers.#.attn.Wo",
        "encoder.layers.#.feed_forward_norm": "model.layers.#.mlp_norm",
        "encoder.layers.#.up": "model.layers.#.mlp.Wi",
        "encoder.layers.#.down": "model.layers.#.mlp.Wo",
        "encoder.norm": "model.final_norm",
        "mlm.head.dense": "head.dense",
        "mlm.head.norm": "head.norm",
        "mlm.decoder": "decoder",
        "qa_outputs": "classifier",
    },
    weights={},
)
_FIXED = {
    "hidden_activation": "gelu",
    "classifier_activation": "gelu",
    "norm_bias": False,
    "attention_bias": False,
    "mlp_bias": False,
    "classifier_bias": False,
    "decoder_bias": True,
    "tie_word_embeddings": True,
    "global_attn_every_n_layers": 1,
}
"""What ours is like always."""


def config(params: Settings, vocab_size: int, architecture: str) -> dict[str, Any]:
    """Return the content of a config.json with which Hugging Face's `architecture` computes the same as our model."""
    rotation = {"rope_type": "default", "rope_theta": params.rope_theta}
    return {
        "architectures": [architecture],
        "model_type": "modernbert",
        "vocab_size": vocab_size,
        "num_hidden_layers": params.layers,
        "hidden_size": params.hidden,
        "num_attention_heads": params.heads,
        "intermediate_size": params.intermediate,
        "embedding_dropout": params.dropout,
        "attention_dropout": params.dropout,
        "mlp_dropout": params.dropout,
        "classifier_dropout": params.dropout,
        "max_position_embeddings": params.max_positions,
        "norm_eps": params.layer_norm_eps,
        "initializer_range": params.initializer_range,
        # Both are the same: the first names are those of releases before 5, which the library reads to this day.
        "global_rope_theta": params.rope_theta,
        "local_rope_theta": params.rope_theta,
        "rope_parameters": {"full_attention": rotation, "sliding_attention": rotation},
        # The defaults are tokens of the published vocabulary.
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": None,
        "cls_token_id": None,
        "sep_token_id": None,
        **_FIXED,
    }


def model_params(config: Mapping[str, Any]) -> Settings:
    """Return the architecture that a config.json of Hugging Face's ModernBERT describes.

    Raises:
        ValueError: it differs from ours in more than sizes.
    """
    for key, value in _FIXED.items():
        if config[key] != value:
            raise ValueError(f"{key} is {config[key]}, and ours has {value}")
    return Settings.model_validate(
        {
            "architecture": "modernbert",
            "layers": config["num_hidden_layers"],
            "hidden": config["hidden_size"],
            "heads": config["num_attention_heads"],
            "intermediate": config["intermediate_size"],
            "dropout": config["embedding_dropout"],
            "max_positions": config["max_position_embeddings"],
            "layer_norm_eps": config["norm_eps"],
            "initializer_range": config["initializer_range"],
            "rope_theta": config["rope_parameters"]["full_attention"]["rope_theta"],
            # A config says nothing of initial weights, and none are drawn from these.
            "neighbour_heads": 0,
            "neighbour_score": 1.0,
        }
    )
