"""A BERT of others becomes a model of ours that computes the same."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from maskline.core.errors import UserError
from maskline.core.storage import read_json, read_manifest
from maskline.imports.convert import import_encoder
from maskline.model.directory import load_encoder, load_pretraining_model, read_shape
from maskline.model.heads import Inputs
from maskline.tokenization.load import load_tokenizer
from tests.tiny import VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

SIZE = {
    "vocab_size": VOCAB_SIZE + 3,  # more rows than the tokenizer has tokens
    "num_hidden_layers": 2,
    "hidden_size": 12,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 40,
    "hidden_act": "gelu_new",
    "initializer_range": 0.5,
}
LENGTHS = (9, 5, 1)


@pytest.fixture(name="theirs")
def _theirs(tmp_path):
    """Return a function that saves a model of transformers with a tokenizer, and gives model and directory."""

    def save(kind="BertForPreTraining", **changes):
        torch.manual_seed(1)
        folder = tmp_path / "theirs"
        model = getattr(transformers, kind)(transformers.BertConfig(**(SIZE | changes))).eval()
        model.save_pretrained(folder)
        for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            (folder / name).write_bytes((write_tokenizer(tmp_path / "tokenizer") / name).read_bytes())
        return model, folder

    return save


def imported(folder, tmp_path):
    params = tiny_params({"imported.source": "directory", "imported.directory": str(folder)}).imported
    result = import_encoder(params, tmp_path / "model", tmp_path / "pieces", "en")
    return result, tmp_path / "model"


def batch():
    generator = torch.Generator().manual_seed(0)
    attend = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    ids = torch.randint(5, VOCAB_SIZE, attend.shape, generator=generator)
    types = torch.randint(2, attend.shape, generator=generator)
    return ids, types, attend


@pytest.mark.parametrize(
    "kind", ["BertForPreTraining", "BertForMaskedLM", "BertModel", "BertForSequenceClassification"]
)
def test_hidden_states_are_those_of_transformers(kind, theirs, tmp_path):
    model, folder = theirs(kind)
    result, directory = imported(folder, tmp_path)
    ids, types, attend = batch()
    packed_ids, packed_types, layout = unpadded(ids, types, attend)
    with torch.no_grad():
        expected = model.base_model(ids, attention_mask=attend.long(), token_type_ids=types).last_hidden_state[attend]
        ours = load_encoder(directory).eval()(packed_ids, packed_types, layout)
        again = transformers.AutoModel.from_pretrained(directory).eval()
        exported = again(ids, attention_mask=attend.long(), token_type_ids=types).last_hidden_state[attend]
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(exported, expected, atol=1e-5, rtol=0)
    heads = {"BertForSequenceClassification": ["classifier.bias", "classifier.weight"]}
    assert result.left_out == heads.get(kind, [])
    lacks_pooler = ["bert.pooler.dense.bias", "bert.pooler.dense.weight"] if kind == "BertForMaskedLM" else []
    assert sorted(name for name in result.missing if "pooler" in name) == lacks_pooler
    assert result.architecture == {"BertForSequenceClassification": "BertModel"}.get(kind, kind)
    assert load_tokenizer(tmp_path / "pieces").vocab_size == VOCAB_SIZE
    shape, vocab_size = read_shape(tmp_path / "pieces")
    assert (shape.layers, shape.hidden, shape.heads, shape.max_positions, vocab_size) == (2, 12, 3, 40, VOCAB_SIZE + 3)


def test_the_heads_of_pretraining_come_along(theirs, tmp_path):
    model, folder = theirs()
    _, directory = imported(folder, tmp_path)
    ids, types, attend = batch()
    packed_ids, packed_types, layout = unpadded(ids, types, attend)
    nothing = torch.zeros(0, dtype=torch.long)
    inputs = Inputs(packed_ids, packed_types, layout, torch.arange(len(packed_ids)), nothing, nothing)
    with torch.no_grad():
        expected = model(ids, attention_mask=attend.long(), token_type_ids=types)
        mlm, nsp = load_pretraining_model(directory, "imported@encoder").eval()(inputs)
    torch.testing.assert_close(mlm, expected.prediction_logits[attend], atol=1e-5, rtol=0)
    torch.testing.assert_close(nsp, expected.seq_relationship_logits, atol=1e-5, rtol=0)


def test_names_and_files_of_older_releases_are_read(theirs, tmp_path):
    model, folder = theirs("BertModel")
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    weights = {"embeddings.position_ids": torch.arange(40)[None]}
    for name, tensor in model.state_dict().items():
        for new, former in old.items():
            name = name.replace(new, former)  # noqa: PLW2901
        weights[name] = tensor.half()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    result, directory = imported(folder, tmp_path)
    assert (result.left_out, result.missing) == ([], [])
    mine = dict(load_encoder(directory).named_parameters())
    torch.testing.assert_close(mine["embeddings.norm.weight"], model.embeddings.LayerNorm.weight.half().float())


def test_a_decoder_of_its_own_is_no_head_of_ours_and_is_told(theirs, tmp_path):
    _, folder = theirs()
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.decoder.weight"] = weights["bert.embeddings.word_embeddings.weight"] + 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    result, directory = imported(folder, tmp_path)
    assert result.architecture == "BertModel"
    assert "cls.predictions.decoder.weight" in result.left_out
    assert read_manifest(directory, "imported@encoder")["left_out"] == result.left_out


def change_config(**changes):
    def spoil(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(read_json(path) | changes))

    return spoil


def without(name):
    def spoil(folder):
        weights = load_file(folder / "model.safetensors")
        del weights[name]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return spoil


def pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"a": print}, folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change_config(model_type="distilbert"), "is of architecture distilbert, and maskline imports bert alone"),
        (change_config(model_type=None), "is of architecture unknown"),
        (change_config(position_embedding_type="relative_key"), "has position_embedding_type relative_key, and"),
        (change_config(is_decoder=True), "has is_decoder True"),
        (change_config(type_vocab_size=1), "has type_vocab_size 1, and BERT has 2"),
        (change_config(hidden_act="silu"), "hidden_act silu is none of"),
        (
            change_config(num_hidden_layers=999),
            r"its weights have 2 layers, its config 999: its config.json is of another",
        ),
        (
            change_config(hidden_size=24),
            r"is \(100, 12\), and by its config \(100, 24\): its config.json is of another",
        ),
        (change_config(hidden_size="wide"), r"its config.json has an odd hidden"),
        (change_config(vocab_size=50), r"is \(100, 12\), and by its config \(50, 12\)"),
        (without("bert.embeddings.word_embeddings.weight"), r"lacks bert.embeddings.word_embeddings.weight: choose"),
        (without("bert.encoder.layer.1.output.dense.bias"), r"lacks bert.encoder.layer.1.output.dense.bias: choose"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json, or neither"),
        (lambda folder: (folder / "model.safetensors").unlink(), "neither model.safetensors nor pytorch_model.bin"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99), "model.safetensors cannot be read"),
        (pickled, "pytorch_model.bin cannot be read"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "cannot read the tokenizer"),
    ],
)
def test_what_is_no_bert_is_told_in_one_line_and_nothing_is_written(theirs, tmp_path, spoil, message):
    _, folder = theirs()
    spoil(folder)
    with pytest.raises(UserError, match=message) as error:
        imported(folder, tmp_path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "model").exists()


def test_a_tokenizer_with_more_tokens_than_embeddings_is_refused(theirs, tmp_path):
    _, folder = theirs(vocab_size=VOCAB_SIZE - 1)
    with pytest.raises(UserError, match=r"embeddings for 96 tokens, and its tokenizer has 97"):
        imported(folder, tmp_path)


def test_a_revision_of_the_hub_is_a_commit(tmp_path):
    params = tiny_params({"imported.source": "hub", "imported.hub.revision": "main"}).imported
    with pytest.raises(UserError, match=r"imported.hub.revision main pins nothing: give the 40 digits"):
        import_encoder(params, tmp_path / "model", tmp_path / "pieces", "en")
