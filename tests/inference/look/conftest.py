"""Models of every kind that a look takes, and what `transformers` says of them."""

import pytest
import torch

from maskline.model.directory import TokenizerFiles, export
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.tokenization.model_files import files_for_model
from tests.model.bert.test_convert import randomized
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, write_tokenizer

KINDS = {
    "pretraining": (PretrainingModel, {}, "BertForPreTraining", ()),
    "mlm": (PretrainingModel, {}, "BertForMaskedLM", ("bert.pooler.", "cls.seq_relationship.")),
    "linear": (PretrainingModel, {"model.mlm_head": "linear"}, "BertModel", ()),
    "encoder": (EncoderModel, {}, "BertModel", ()),
    "modernbert": (PretrainingModel, MODERNBERT, "ModernBertForMaskedLM", ()),
}
"""Name -> our class, what differs from the tiny parameters, the class that is exported, and what is left out."""


@pytest.fixture(scope="session", name="models")
def _models(tmp_path_factory):
    """Return a folder with a model of each kind; the texts that it reads are of w5 to w96."""
    root = tmp_path_factory.mktemp("look")
    files = TokenizerFiles(*files_for_model(write_tokenizer(root / "tokenizer"), 32))
    for seed, (name, (kind, changes, exported, untrained)) in enumerate(KINDS.items()):
        params = tiny_params({"model.initializer_range": 0.3, "model.dropout": 0.1} | changes).model
        model = randomized(kind(params, VOCAB_SIZE), seed=seed)
        export(root / name, model, exported, files, "", {}, untrained=untrained)
    return root


@pytest.fixture(name="eager")
def _eager(models):
    """Return a function that gives weights of attention, (L, H, T, T), and vectors, (L + 1, T, D), of transformers."""
    import transformers

    def eager(directory, input_ids, token_type_ids):
        model = transformers.AutoModel.from_pretrained(models / directory, attn_implementation="eager").eval()
        types = {} if "modernbert" in str(directory) else {"token_type_ids": torch.tensor(token_type_ids)[None]}
        inputs = {"input_ids": torch.tensor(input_ids)[None], "output_attentions": True, "output_hidden_states": True}
        with torch.no_grad():
            found = model(**inputs, **types)
        return torch.cat(found.attentions).numpy(), torch.cat(found.hidden_states).numpy()

    return eager
