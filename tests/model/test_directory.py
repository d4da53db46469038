import json
import shutil

import pytest
import torch
import transformers
from ruamel.yaml import YAML
from torch import nn

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, write_json, write_manifest
from maskline.model.bert.convert import NSP, POOLER
from maskline.model.directory import (
    CONFIG,
    HEADS,
    WEIGHTS,
    TokenizerFiles,
    data_table,
    export,
    load_encoder,
    load_pretraining_model,
    model_card,
    read_model,
)
from maskline.model.heads import EncoderModel, Inputs, PretrainingModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from tests.tiny import VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

PARAMS = tiny_params({"model.dropout": 0.1, "model.initializer_range": 0.3}).model
LABELS = {"id2label": {"0": "negative", "1": "neutral", "2": "إيجابي"}}
CLASSIFIER = "BertForSequenceClassification"


class WithHead(EncoderModel):
    """An encoder with a head as a classifier has it."""

    def __init__(self, params, vocab_size):
        super().__init__(params, vocab_size)
        self.classifier = nn.Linear(params.hidden, 3)


def tokenizer_files(directory):
    return TokenizerFiles(*files_for_model(directory, PARAMS.max_positions))


@pytest.fixture(name="exported", scope="module")
def _exported(tmp_path_factory):
    """Return our models and the directories that they were exported to, by architecture."""
    root = tmp_path_factory.mktemp("models")
    files = tokenizer_files(write_tokenizer(root / "tokenizer"))
    found = {}
    for seed, (architecture, kind, settings, untrained) in enumerate(
        (
            ("BertForPreTraining", PretrainingModel, None, ()),
            ("BertForMaskedLM", PretrainingModel, None, (POOLER, NSP)),
            (CLASSIFIER, WithHead, LABELS, ()),
        )
    ):
        model = kind(PARAMS, VOCAB_SIZE)
        model.reset(torch.Generator().manual_seed(seed))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1)
        directory = root / architecture
        export(directory, model.eval(), architecture, files, "# card", {"seed": seed}, settings, untrained=untrained)
        found[architecture] = (model, directory)
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


def test_a_model_with_a_head_has_the_settings_of_its_head(exported):
    model, directory = exported[CLASSIFIER]
    output, missing, unexpected = theirs(CLASSIFIER, directory)
    assert (missing, unexpected) == (set(), set())
    arguments = unpadded(*batch())
    with torch.no_grad():
        pooled = model.encoder.pool(model.encoder(*arguments), arguments[2])
        close(output.logits, model.classifier(pooled))
    config = transformers.AutoConfig.from_pretrained(directory)
    assert config.id2label == {0: "negative", 1: "neutral", 2: "إيجابي"}
    saved = read_model(directory, "finetune")
    assert saved.config["id2label"] == LABELS["id2label"]
    loaded = WithHead(saved.params, saved.vocab_size)
    saved.copy_into(loaded)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), model.parameters(), strict=True))


def test_weights_that_are_missing_are_refused(exported):
    """No model goes on with random weights where trained ones were meant."""
    saved = read_model(exported["BertForMaskedLM"][1], "pretrain")
    model = PretrainingModel(saved.params, saved.vocab_size)
    lacks = "lacks bert.pooler.dense.weight, bert.pooler.dense.bias, cls.seq_relationship.weight, cls.seq_relationship"
    with pytest.raises(UserError, match=rf"BertForMaskedLM {lacks}.bias: give the directory of a model of this kind$"):
        saved.copy_into(model)
    with pytest.raises(UserError, match=r"BertForMaskedLM lacks cls.seq_relationship.weight, cls.seq_relationship.b"):
        saved.copy_into(model, may_lack=(POOLER,))
    before = model.nsp.weight.clone()
    saved.copy_into(model, may_lack=(POOLER, NSP))
    assert torch.equal(model.nsp.weight, before)
    assert torch.equal(model.mlm.transform.weight, exported["BertForMaskedLM"][0].mlm.transform.weight)


def test_weights_that_are_left_over_are_refused(exported):
    """No part of a trained model is dropped unseen."""
    trained, directory = exported["BertForPreTraining"]
    saved = read_model(directory, "pretrain")
    model = WithHead(saved.params, saved.vocab_size)
    with pytest.raises(UserError, match=r"BertForPreTraining lacks classifier.weight, classifier.bias: give the dir"):
        saved.copy_into(model)
    left = "cls.predictions.bias, cls.predictions.transform.LayerNorm.bias, cls.predictions.transform.LayerNorm.weight,"
    with pytest.raises(UserError, match=rf"holds, and the model has not, {left} \S+ \.\.\.: give") as error:
        saved.copy_into(model, may_lack=("classifier.",))
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"has not, cls.seq_relationship.bias, cls.seq_relationship.weight: give the"):
        saved.copy_into(model, may_lack=("classifier.",), may_leave=("cls.predictions.",))
    saved.copy_into(model, may_lack=("classifier.",), may_leave=("cls.",))
    weights = zip(model.encoder.parameters(), trained.encoder.parameters(), strict=True)
    assert all(torch.equal(mine, theirs) for mine, theirs in weights)


def test_weights_of_another_shape_are_refused(exported):
    saved = read_model(exported["BertForPreTraining"][1], "pretrain")
    model = PretrainingModel(saved.params.model_copy(update={"hidden": 24}), saved.vocab_size)
    with pytest.raises(UserError, match=r"word_embeddings.weight is \(97, 16\), and the model's is \(97, 24\): give a"):
        saved.copy_into(model)


@pytest.mark.parametrize("architecture", ["BertForPreTraining", "BertForMaskedLM", CLASSIFIER])
def test_the_encoder_of_any_model_is_loaded(exported, architecture):
    model, directory = exported[architecture]
    encoder = load_encoder(directory)
    for name, tensor in model.encoder.state_dict().items():
        trained = architecture != "BertForMaskedLM" or not name.startswith("pooler.")
        assert not trained or torch.equal(encoder.state_dict()[name], tensor), name


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
    files = tokenizer_files(directory.parent / "tokenizer")
    export(tmp_path / "again", model, "BertForPreTraining", files, "# card", {"seed": 0})
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
        (lambda path: write_json(path / CONFIG, {"model_type": "bert"}), "holds no model of this pipeline"),
        (lambda path: damaged(path / WEIGHTS), "holds no model of this pipeline"),
        (
            lambda path: write_json(path / CONFIG, read_json(path / CONFIG) | {"hidden_act": "silu"}),
            "hidden_act silu is none of",
        ),
        (lambda path: write_json(path / CONFIG, [1]), "holds no model of this pipeline"),
        *(
            (
                lambda path, key=key, size=size: write_json(path / CONFIG, read_json(path / CONFIG) | {key: size}),
                f"holds no model of this pipeline .*{told}",
            )
            for key, size, told in (
                ("num_hidden_layers", 999, "its weights have 2 layers, its config 999"),
                ("num_hidden_layers", 10**6, "less than or equal to 1000"),
                ("vocab_size", 10**9, r"word_embeddings is \(97, 16\), and by its config \(1000000000, 16\)"),
                ("vocab_size", "97", "word_embeddings"),
                ("intermediate_size", 2**18, "intermediate.dense is"),
                ("max_position_embeddings", 2**16, "position_embeddings is"),
                ("hidden_size", 2**16, "word_embeddings is"),
            )
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
        load_pretraining_model(exported[CLASSIFIER][1])


@pytest.mark.parametrize("language", ["ar", "no", "zh-min-nan"])
def test_the_card_is_what_a_hub_reads(language):
    numbers = {"loss": 4.3124941234, "accuracy": None, "eps": 1e-12, "step": 2400, "nsp": True}
    card = model_card("A model", language, {"Validation": numbers, "Nothing": {"x": None}}, "Note.")
    front = YAML(typ="safe", pure=True).load(card.split("---\n")[1])
    assert front == {"language": language, "library_name": "transformers", "tags": ["bert", "maskline"]}
    assert "# A model\n\nNote.\n" in card
    assert card.endswith(
        "## Validation\n\n| | |\n|---|---|\n| loss | 4.312 |\n| eps | 1e-12 |\n| step | 2400 |\n| nsp | True |\n"
    )


def test_the_card_says_where_the_data_are_from_and_names_no_file_of_the_users():
    provenance = {
        "source": "files", "language": "ar", "max_articles": None, "inputs": [{"name": "secret"}] * 3,
        "validation_inputs": [],
    }  # fmt: skip
    table = data_table({"provenance": provenance, "licence": "theirs", "tokens": 7})
    assert table == {"source": "files", "language": "ar", "inputs": 3, "licence": "theirs"}
    assert data_table({}) == {"licence": None}


def test_names_and_values_in_the_card_are_shown_as_they_are():
    hostile = "\x1b[31m<script>|`x`\n# no"
    card = model_card(hostile, "en", {hostile: {hostile: hostile}}, "`Note`.")
    shown = r"�\[31m\<script>\|\`x\` # no"
    assert card.split("---\n")[2] == (
        f"\n# {shown}\n\n`Note`.\n\n## {shown}\n\n| | |\n|---|---|\n| {shown} | {shown} |\n"
    )


@pytest.mark.parametrize("nsp", [True, False])
def test_a_linear_head_leaves_an_encoder_that_transformers_loads(tmp_path, nsp):
    params = PARAMS.model_copy(update={"mlm_head": "linear"})
    model = PretrainingModel(params, VOCAB_SIZE)
    model.reset(torch.Generator().manual_seed(0))
    directory = tmp_path / "model"
    files, untrained = tokenizer_files(write_tokenizer(tmp_path / "tokenizer")), () if nsp else (POOLER, NSP)
    export(directory, model.eval(), "BertModel", files, "# card", {}, untrained=untrained)
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
