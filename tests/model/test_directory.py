import json
import shutil

import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, write_json, write_manifest
from maskline.model.directory import (
    CONFIG,
    HEADS,
    WEIGHTS,
    check_tokenizer,
    export,
    load_classifier,
    load_pretraining_model,
    model_card,
    read_model,
)
from maskline.model.heads import ClassificationModel, Inputs, PretrainingModel
from maskline.tokenization.load import load_tokenizer
from tests.tiny import VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

PARAMS = tiny_params({"model.dropout": 0.1, "model.initializer_range": 0.3}).model
LABELS = ["negative", "neutral", "إيجابي"]


@pytest.fixture(name="exported", scope="module")
def _exported(tmp_path_factory):
    """Return our models and the directories that they were exported to, by architecture."""
    root = tmp_path_factory.mktemp("models")
    tokenizer = write_tokenizer(root / "tokenizer")
    found = {}
    for seed, (architecture, labels) in enumerate(
        (("BertForPreTraining", None), ("BertForMaskedLM", None), ("BertForSequenceClassification", LABELS))
    ):
        model = ClassificationModel(PARAMS, VOCAB_SIZE, 3, 0.1) if labels else PretrainingModel(PARAMS, VOCAB_SIZE)
        model.reset(torch.Generator().manual_seed(seed))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1)
        nsp = architecture != "BertForMaskedLM"
        export(root / architecture, model.eval(), architecture, tokenizer, "# card", {"seed": seed}, labels, nsp=nsp)
        found[architecture] = (model, root / architecture)
    return found


def batch():
    mask = torch.arange(9) < torch.tensor([9, 7, 4])[:, None]
    input_ids = torch.randint(5, VOCAB_SIZE, (3, 9), generator=torch.Generator().manual_seed(0)) * mask
    return input_ids, ((torch.arange(9) >= 3) & mask).long(), mask


def ours(model):
    """Return the logits of every real token and of every pair."""
    arguments = unpadded(*batch())
    nothing = torch.zeros(0, dtype=torch.long)
    with torch.no_grad():
        return model(Inputs(*arguments, torch.arange(len(arguments[0])), nothing, nothing))


def theirs(kind, directory):
    """Load as a class of transformers; return its output and the parameters missing and unexpected."""
    model, info = getattr(transformers, kind).from_pretrained(directory, output_loading_info=True)
    assert not info["mismatched_keys"]
    assert not info["error_msgs"]
    input_ids, token_type_ids, mask = batch()
    with torch.no_grad():
        output = model.eval()(input_ids, attention_mask=mask.long(), token_type_ids=token_type_ids)
    return output, set(info["missing_keys"]), set(info["unexpected_keys"])


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-5, rtol=0)


def test_the_pretrained_model_is_that_of_transformers(exported):
    model, directory = exported["BertForPreTraining"]
    mlm, nsp = ours(model)
    output, missing, unexpected = theirs("BertForPreTraining", directory)
    assert (missing, unexpected) == (set(), set())
    close(output.prediction_logits[batch()[2]], mlm)
    close(output.seq_relationship_logits, nsp)
    output, missing, _ = theirs("BertForMaskedLM", directory)
    assert missing == set()
    close(output.logits[batch()[2]], mlm)
    output, missing, _ = theirs("BertForNextSentencePrediction", directory)
    assert missing == set()
    close(output.logits, nsp)
    output, missing, _ = theirs("AutoModel", directory)
    assert missing == set()
    arguments = unpadded(*batch())
    close(output.pooler_output, model.encoder.pool(model.encoder(*arguments), arguments[2]))


def test_a_model_without_nsp_has_no_pooler(exported):
    model, directory = exported["BertForMaskedLM"]
    mlm, _ = ours(model)
    output, missing, unexpected = theirs("BertForMaskedLM", directory)
    assert (missing, unexpected) == (set(), set())
    close(output.logits[batch()[2]], mlm)
    output, missing, _ = theirs("AutoModel", directory)
    assert missing == {"pooler.dense.weight", "pooler.dense.bias"}
    close(output.last_hidden_state[batch()[2]], model.encoder(*unpadded(*batch())))
    _, missing, _ = theirs("BertForSequenceClassification", directory)
    assert missing == {f"{part}.{kind}" for part in ("bert.pooler.dense", "classifier") for kind in ("weight", "bias")}


def test_the_classifier_has_its_labels(exported):
    model, directory = exported["BertForSequenceClassification"]
    output, missing, unexpected = theirs("BertForSequenceClassification", directory)
    assert (missing, unexpected) == (set(), set())
    with torch.no_grad():
        close(output.logits, model(*unpadded(*batch())))
    config = transformers.AutoConfig.from_pretrained(directory)
    assert config.id2label == dict(enumerate(LABELS))
    assert config.label2id == {label: number for number, label in enumerate(LABELS)}
    loaded, labels = load_classifier(directory)
    assert labels == LABELS
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), model.parameters(), strict=True))


def test_config_says_what_the_model_computes(exported):
    config = read_json(exported["BertForPreTraining"][1] / CONFIG)
    assert config["architectures"] == ["BertForPreTraining"]
    assert config["hidden_act"] == "gelu"
    assert config["layer_norm_eps"] == 1e-12
    assert config["vocab_size"] == VOCAB_SIZE
    assert config["max_position_embeddings"] == PARAMS.max_positions
    assert config["tie_word_embeddings"] is True
    assert json.dumps(config, allow_nan=False)


def test_the_tokenizer_comes_along_and_knows_how_long_an_input_may_be(exported):
    _, directory = exported["BertForPreTraining"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    assert tokenizer.model_max_length == PARAMS.max_positions
    text, pair = "w5 W96 something w7", "w8"
    encoded = tokenizer(text, pair)
    assert encoded["input_ids"] == [2, 5, 96, 1, 7, 3, 8, 3]
    assert encoded["token_type_ids"] == [0, 0, 0, 0, 0, 0, 1, 1]
    assert len(tokenizer(" ".join(["w5"] * 99), truncation=True)["input_ids"]) == PARAMS.max_positions
    assert load_tokenizer(directory.parent / "tokenizer").backend.encode(text, pair).ids == encoded["input_ids"]
    check_tokenizer(directory, directory.parent / "tokenizer", "pretrain")


def test_our_loader_gives_the_model_back_tied(exported):
    model, directory = exported["BertForPreTraining"]
    loaded = load_pretraining_model(directory)
    assert loaded.mlm.decoder.weight is loaded.encoder.embeddings.token.weight
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name]), name
    assert loaded.encoder.params.dropout == 0.1


def test_theirs_stays_tied_through_a_step(exported):
    model = transformers.BertForPreTraining.from_pretrained(exported["BertForPreTraining"][1])
    embedding, decoder = model.bert.embeddings.word_embeddings.weight, model.cls.predictions.decoder.weight
    assert embedding.data_ptr() == decoder.data_ptr()
    before = embedding.detach().clone()
    model(*batch()[:1]).prediction_logits.logsumexp(-1).sum().backward()
    torch.optim.SGD(model.parameters(), 0.1).step()
    assert torch.equal(embedding, decoder)
    assert not torch.equal(embedding, before)


def test_the_same_model_gives_the_same_bytes(exported, tmp_path):
    model, directory = exported["BertForPreTraining"]
    export(tmp_path / "again", model, "BertForPreTraining", directory.parent / "tokenizer", "# card", {"seed": 0})
    for path in sorted(directory.iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name
    names = {path.name for path in directory.iterdir()}
    assert names == {
        "README.md", CONFIG, MANIFEST, WEIGHTS, "tokenizer.json", "tokenizer_config.json", "vocab.txt"
    }  # fmt: skip
    assert read_json(directory / MANIFEST)["seed"] == 0


def damaged(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda path: (path / MANIFEST).unlink(), "is incomplete .*: run `dvc repro pretrain`"),
        (lambda path: damaged(path / WEIGHTS), "model.safetensors is not what pretrain wrote"),
        (lambda path: (path / CONFIG).unlink(), "config.json is missing: run `dvc repro pretrain`"),
    ],
)
def test_a_directory_that_is_not_what_was_written_is_told(exported, tmp_path, spoil, expected):
    directory = shutil.copytree(exported["BertForPreTraining"][1], tmp_path / "model")
    spoil(directory)
    with pytest.raises(UserError, match=expected):
        load_pretraining_model(directory)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: write_json(path / CONFIG, {"model_type": "bert"}), "holds no BERT of this pipeline"),
        (lambda path: damaged(path / WEIGHTS), "holds no BERT of this pipeline"),
        (
            lambda path: write_json(path / CONFIG, read_json(path / CONFIG) | {"hidden_act": "silu"}),
            "hidden_act silu is none of",
        ),
    ],
)
def test_a_directory_that_holds_something_else_is_told(exported, tmp_path, change, expected):
    directory = shutil.copytree(exported["BertForPreTraining"][1], tmp_path / "model")
    change(directory)
    write_manifest(directory, {})
    with pytest.raises(UserError, match=expected) as error:
        read_model(directory, "pretrain")
    assert "\n" not in str(error.value)


def test_a_classifier_is_no_pretrained_model(exported):
    with pytest.raises(UserError, match="has no masked-language-model head"):
        load_pretraining_model(exported["BertForSequenceClassification"][1])


def test_another_tokenizer_is_told(exported, tmp_path):
    directory = exported["BertForPreTraining"][1]
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"was made with another tokenizer .*: run `dvc repro pretrain`"):
        check_tokenizer(directory, tmp_path, "pretrain")


def test_the_card_is_what_a_hub_reads():
    card = model_card("A model", "ar", {"Validation": {"loss": 1.5, "accuracy": None}}, "Note.")
    assert card.startswith("---\nlanguage: ar\n")
    assert "# A model" in card
    assert "| loss | 1.5 |\n| accuracy |  |\n" in card


@pytest.mark.parametrize("nsp", [True, False])
def test_a_linear_head_leaves_an_encoder_that_transformers_loads(tmp_path, nsp):
    params = PARAMS.model_copy(update={"mlm_head": "linear"})
    model = PretrainingModel(params, VOCAB_SIZE)
    model.reset(torch.Generator().manual_seed(0))
    directory = tmp_path / "model"
    export(directory, model.eval(), "BertModel", write_tokenizer(tmp_path / "tokenizer"), "# card", {}, nsp=nsp)
    output, missing, unexpected = theirs("BertModel", directory)
    assert missing == (set() if nsp else {"pooler.dense.weight", "pooler.dense.bias"})
    assert not unexpected
    arguments = unpadded(*batch())
    mask = batch()[2]
    with torch.no_grad():
        close(model.encoder(*arguments), output.last_hidden_state[mask])
    again = load_pretraining_model(directory).eval()
    assert again.encoder.params.mlm_head == "linear"
    close(ours(again)[0], ours(model)[0])
    assert again.mlm.decoder.weight is not again.encoder.embeddings.token.weight
    (directory / HEADS).unlink()
    with pytest.raises(UserError, match=r"heads\.safetensors is missing"):
        load_pretraining_model(directory)
