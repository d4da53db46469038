"""BERT in the form of Hugging Face (`transformers.BertForPreTraining` etc.): names and configuration."""

from collections.abc import Mapping
from typing import Any

from maskline.model.bert.encoder import SEGMENTS
from maskline.model.bert.settings import Settings
from maskline.model.names import Names

_HIDDEN_ACT = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
ENCODER, POOLER = "bert.", "bert.pooler."
MLM, NSP = "cls.predictions.", "cls.seq_relationship."
NAMES = Names(
    encoder=ENCODER,
    pooler=(POOLER,),
    mlm=MLM,
    nsp=(NSP,),
    layer="bert.encoder.layer.#.intermediate.dense.weight",
    modules={
        "encoder.embeddings.token": "bert.embeddings.word_embeddings",
        "encoder.embeddings.position": "bert.embeddings.position_embeddings",
        "encoder.embeddings.segment": "bert.embeddings.token_type_embeddings",
        "encoder.embeddings.norm": "bert.embeddings.LayerNorm",
        "encoder.layers.#.attention.qkv": (
            "bert.encoder.layer.#.attention.self.query",
            "bert.encoder.layer.#.attention.self.key",
            "bert.encoder.layer.#.attention.self.value",
        ),
        "encoder.layers.#.attention.out": "bert.encoder.layer.#.attention.output.dense",
        "encoder.layers.#.attention_norm": "bert.encoder.layer.#.attention.output.LayerNorm",
        "encoder.layers.#.up": "bert.encoder.layer.#.intermediate.dense",
        "encoder.layers.#.down": "bert.encoder.layer.#.output.dense",
        "encoder.layers.#.output_norm": "bert.encoder.layer.#.output.LayerNorm",
        "encoder.pooler": "bert.pooler.dense",
        "mlm.decoder": "cls.predictions.decoder",
        "mlm.transform": "cls.predictions.transform.dense",
        "mlm.norm": "cls.predictions.transform.LayerNorm",
        "nsp": "cls.seq_relationship",
    },
    weights={"mlm.decoder.bias": "cls.predictions.bias"},
)


def config(params: Settings, vocab_size: int, architecture: str) -> dict[str, Any]:
    """Return the content of a config.json with which Hugging Face's `architecture` computes the same as our model.

    The key `mlm_head` is ours. It is set where Hugging Face has no such head, so that only the encoder is the same.
    """
    return {
        "architectures": [architecture],
        "model_type": "bert",
        "vocab_size": vocab_size,
        "num_hidden_layers": params.layers,
        "hidden_size": params.hidden,
        "num_attention_heads": params.heads,
        "intermediate_size": params.intermediate,
        "hidden_act": _HIDDEN_ACT[params.activation],
        "hidden_dropout_prob": params.dropout,
        "attention_probs_dropout_prob": params.dropout,
        "max_position_embeddings": params.max_positions,
        "type_vocab_size": SEGMENTS,
        "layer_norm_eps": params.layer_norm_eps,
        "initializer_range": params.initializer_range,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        **({} if params.mlm_head == "bert" else {"mlm_head": params.mlm_head}),
    }


def model_params(config: Mapping[str, Any]) -> Settings:
    """Return the architecture that a config.json of Hugging Face's BERT describes.

    Raises:
        ValueError: the activation is none of ours.
    """
    activation = {theirs: ours for ours, theirs in _HIDDEN_ACT.items()}.get(config["hidden_act"])
    if activation is None:
        raise ValueError(f"hidden_act {config['hidden_act']} is none of {', '.join(_HIDDEN_ACT.values())}")
    return Settings.model_validate(
        {
            "architecture": "bert",
            "layers": config["num_hidden_layers"],
            "hidden": config["hidden_size"],
            "heads": config["num_attention_heads"],
            "intermediate": config["intermediate_size"],
            "activation": activation,
            "dropout": config["hidden_dropout_prob"],
            "max_positions": config["max_position_embeddings"],
            "layer_norm_eps": config["layer_norm_eps"],
            "mlm_head": config.get("mlm_head", "bert"),
            "initializer_range": config["initializer_range"],
            # A config says nothing of initial weights, and none are drawn from these.
            "position_init": "normal",
            "position_base": 1.0,
            "position_scale": 1.0,
            "matched_heads": 0,
        }
    )
