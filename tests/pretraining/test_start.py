"""A run goes on from a model that exists, with the tokenizer of that, and with more pieces."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, read_manifest, sha256, write_json, write_manifest
from maskline.examples.premasked import premask, read_premasked
from maskline.model.convert import to_hugging_face
from maskline.model.directory import TokenizerFiles, export, load_pretraining_model
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.pretraining import run as pretraining_run
from maskline.pretraining.objective import PretrainingObjective
from maskline.pretraining.run import new_model, of_start, pretrain
from maskline.pretraining.scores import pretraining_metrics, pretraining_sums
from maskline.pretraining.start import read_start
from maskline.shards.store import TokenShards
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.extend import with_pieces
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import from_vocabulary
from tests.tiny import MODERNBERT, SPECIAL, VOCAB_SIZE, random_documents, tiny_params, tokenizer_params, write_shards
from tests.training.runs import CPU, contents, pretraining_paths

PIECES = [*SPECIAL_TOKENS, *(f"w{number}" for number in range(5, 95)), "##x", "##yz"]
ADDED = {"w5x": [5, 95], "w6xyz": [6, 95, 96], "ω": [1]}
"""New piece -> the old ones of its text; the last is [UNK]."""
LONGER = VOCAB_SIZE + len(ADDED)
SHAPE = {"model.layers": 1, "model.hidden": 12, "model.heads": 3, "model.intermediate": 20}
"""Of the model that exists: another one than params.yaml has."""
MODERN = MODERNBERT | {"model.heads": 2}


def backend():
    rules = normalizer(tokenizer_params(), "en")
    return from_vocabulary({piece: number for number, piece in enumerate(PIECES)}, rules)


def write_model(folder, changes=None, *, kind=PretrainingModel, vocab_size=VOCAB_SIZE, provenance=None):
    """Write a model that nothing trained to `folder`/model, with its tokenizer in `folder`/own; return it."""
    save(backend(), folder / "own", tokenizer_params(), {})
    params = tiny_params({**SHAPE, "model.initializer_range": 0.5, **(changes or {})}).model
    model = kind(params, vocab_size)
    model.reset(torch.Generator().manual_seed(3))
    with torch.no_grad():
        if kind is PretrainingModel:
            model.mlm.decoder.bias.copy_(torch.arange(vocab_size).sin())
    files = TokenizerFiles(*files_for_model(folder / "own", params.max_positions))
    inputs = {"inputs": {"tokenizer": sha256(folder / "own" / MANIFEST)}}
    exported_as = model.architecture.pretrained_class(params, nsp=params.next_sentence) or model.exported_as
    exported_as = model.exported_as if kind is EncoderModel else exported_as
    export(folder / "model", model, exported_as, files, "", inputs if provenance is None else provenance)
    return model


def write_domain(folder, added=ADDED):
    """Write what `pretrain` reads, with pieces added to the tokenizer; return where that is."""
    data = folder / "data"
    save(with_pieces(backend(), list(added)), data / "tokenizer", tokenizer_params(), {})
    size = VOCAB_SIZE + len(added)
    extra = [[[5, size - 1], [6, VOCAB_SIZE - 1, size - 1]]] * 9
    for split, count, seed in (("train", 40, 0), ("validation", 12, 1)):
        documents = random_documents(count, seed) + extra
        write_shards(data / "tokens" / split, documents, vocab_size=size, tokenizer=data / "tokenizer")
    premask(tiny_params().premask, data / "tokens" / "validation", data / "tokenizer", data / "validation")
    return data


@pytest.fixture(name="domain")
def _domain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    return write_domain(tmp_path)


def settings(changes=None):
    return tiny_params({"pretrain.init_from": "model", "model.dropout": 0.1} | (changes or {})).pretraining()


@pytest.mark.parametrize("changes", [{}, {"model.mlm_head": "linear"}, MODERN], ids=["bert", "linear", "modernbert"])
def test_a_new_row_is_the_mean_of_its_old_pieces_and_all_else_is_kept(tmp_path, changes):
    old = write_model(tmp_path, changes)
    tokenizer = load_tokenizer(write_domain(tmp_path) / "tokenizer")
    start = read_start(tmp_path / "model", tokenizer)
    assert (start.kept, start.added, start.lacks) == (VOCAB_SIZE, list(ADDED.values()), [])
    model = PretrainingModel(start.shape, LONGER)
    start.copy_into(model)
    theirs = to_hugging_face(old)
    longer = [name for name, tensor in to_hugging_face(model).items() if len(tensor) == LONGER]
    assert len(longer) == (3 if changes.get("model.mlm_head") else 2)
    for name, tensor in to_hugging_face(model).items():
        expected = theirs[name]
        if name in longer:
            means = [expected[pieces].mean(0, keepdim=True) for pieces in ADDED.values()]
            expected = torch.cat([expected, *means])
        assert torch.equal(tensor, expected), name
    first = old.encoder.token_embedding.weight
    assert torch.equal(model.encoder.token_embedding.weight[97], (first[5] + first[95]) / 2)
    assert torch.equal(model.encoder.token_embedding.weight[99], first[1])


def test_rows_that_no_token_has_are_left_out(tmp_path):
    old = write_model(tmp_path, vocab_size=VOCAB_SIZE + 7)
    start = read_start(tmp_path / "model", load_tokenizer(write_domain(tmp_path) / "tokenizer"))
    model = PretrainingModel(start.shape, LONGER)
    start.copy_into(model)
    rows, first = model.encoder.token_embedding.weight, old.encoder.token_embedding.weight
    assert torch.equal(rows[:VOCAB_SIZE], first[:VOCAB_SIZE])
    assert torch.equal(rows[97], (first[5] + first[95]) / 2)


def test_a_run_tells_what_it_goes_on_from_and_leaves_that_shape(domain, capsys):
    pretrain(settings(), pretraining_paths(domain), CPU)
    said = capsys.readouterr().out
    assert "pretrain: weights are those of model\n" in said
    shape = "layers 1, not 2, hidden 12, not 16, heads 3, not 2, intermediate 20, not 24 as in params.yaml"
    assert f"pretrain: the model has the shape of model: {shape}\n" in said
    assert "pretrain: 3 tokens are new: each starts as the mean of its old pieces\n" in said
    best = domain / "out" / "best"
    assert load_pretraining_model(best).encoder.params.hidden == 12
    manifest = read_manifest(best, "pretrain")
    assert manifest["inputs"]["init_from"] == sha256(domain.parent / "model" / MANIFEST)
    assert manifest["params"]["pretrain"]["init_from"] == "model"
    assert manifest["tokenizers"] == [
        sha256(domain / "tokenizer" / MANIFEST), sha256(domain.parent / "own" / MANIFEST)
    ]  # fmt: skip
    start = read_start(domain.parent / "model", load_tokenizer(domain / "tokenizer"))
    model = PretrainingModel(start.shape, LONGER)
    start.copy_into(model)
    scores = pretraining_metrics(pretraining_sums(model, read_premasked(domain / "validation"), SPECIAL, CPU), nsp=True)
    metrics = read_json(domain / "out" / "reports" / "metrics.json")
    assert metrics["before"] == scores
    assert metrics["best"]["loss"] < scores["loss"]
    card = (best / "README.md").read_text()
    assert "A BERT encoder that goes on from model, trained by maskline on masked language modelling and" in card
    assert f"## Validation, before\n\n| | |\n|---|---|\n| mlm_loss | {scores['mlm_loss']:.4g} |" in card
    assert str(domain.parent) not in card + (best / MANIFEST).read_text()


def test_interrupted_or_again_it_leaves_the_same_bytes_and_another_start_is_another_run(domain, monkeypatch, capsys):
    pretrain(settings(), pretraining_paths(domain, "whole"), CPU)
    shutil.rmtree(domain.parent / ".runs")
    real = PretrainingObjective.microbatches

    def stopping(objective, step):
        if step == 7:
            raise KeyboardInterrupt
        return real(objective, step)

    with monkeypatch.context() as patch:
        patch.setattr(PretrainingObjective, "microbatches", stopping)
        with pytest.raises(KeyboardInterrupt):
            pretrain(settings(), pretraining_paths(domain), CPU)
    pretrain(settings(), pretraining_paths(domain), CPU)
    assert "resuming after step 6 from" in capsys.readouterr().out
    assert contents(domain / "out") == contents(domain / "whole")

    started = []
    monkeypatch.setattr(pretraining_run, "train", lambda *given: started.append(given[5].directory) or 1 / 0)
    other = shutil.copytree(domain.parent / "model", domain.parent / "other")
    for content in (None, {"another": "run"}):
        if content:
            manifest = read_json(other / MANIFEST)
            write_json(other / MANIFEST, manifest | content)
        with pytest.raises(ZeroDivisionError):
            pretrain(settings({"pretrain.init_from": "other"}), pretraining_paths(domain), CPU)
    assert len(set(started)) == 2


SCRIPT = """
import json, sys
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model, info = AutoModelForMaskedLM.from_pretrained(sys.argv[1], output_loading_info=True)
inputs = tokenizer("w5x w5 ω", return_tensors="pt")
shape = model(**inputs).logits.shape
print(json.dumps([inputs["input_ids"][0].tolist(), list(shape), sorted(info["missing_keys"])]))
"""


def test_transformers_loads_the_longer_vocabulary_in_a_fresh_process(domain):
    pretrain(settings({"pretrain.steps": 3}), pretraining_paths(domain), CPU)
    command = [sys.executable, "-c", SCRIPT, str(domain / "out" / "best")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [[2, 97, 5, 99, 3], [1, 5, LONGER], []]


def test_where_an_encoder_of_others_is_from_goes_along(domain):
    model = domain.parent / "model"
    files = read_json(model / MANIFEST)
    write_manifest(model, {**files, "origin": {"source": "hub", "licence": "MIT"}})
    pretrain(settings({"pretrain.steps": 3}), pretraining_paths(domain), CPU)
    best = domain / "out" / "best"
    assert read_manifest(best, "pretrain")["origin"] == {"source": "hub", "licence": "MIT"}
    assert "## Origin\n\n| | |\n|---|---|\n| source | hub |\n| licence | MIT |" in (best / "README.md").read_text()


def test_heads_that_are_not_there_start_from_random_weights(domain, capsys):
    shutil.rmtree(domain.parent / "model")
    encoder = write_model(domain.parent, kind=EncoderModel)
    start = read_start(domain.parent / "model", load_tokenizer(domain / "tokenizer"))
    assert start.lacks == ["masked tokens", "sentence pairs"]
    params = of_start(settings(), start)
    model = new_model(params, LONGER, TokenShards(domain / "tokens" / "train"), start)
    assert torch.equal(model.encoder.token_embedding.weight[:VOCAB_SIZE], encoder.encoder.token_embedding.weight)
    assert model.mlm.transform.weight.std() > 0.1
    assert model.mlm.decoder.bias[5] > model.mlm.decoder.bias[0] + 1  # by frequency
    told = " ".join(pretraining_run._told(start, settings({"pretrain.nsp": False})))
    assert "no head for masked tokens" in told
    assert "pairs" not in told
    pretrain(settings({"pretrain.steps": 3}), pretraining_paths(domain), CPU)
    said = capsys.readouterr().out
    for head in start.lacks:
        assert f"pretrain: model has no head for {head}: it starts from random weights\n" in said
    assert "before" not in read_json(domain / "out" / "reports" / "metrics.json")


def refused(domain, match, changes=None):
    with pytest.raises(UserError, match=match) as caught:
        pretrain(settings(changes), pretraining_paths(domain), CPU)
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_is_one_line(domain):
    refused(domain, r"init_from nowhere is no model .* \(docs/domain.md\)", {"pretrain.init_from": "nowhere"})
    refused(domain, "max_seq_length 40 is longer than the 32 tokens that model reads", {"pretrain.max_seq_length": 40})
    premask(
        tiny_params({"premask.max_seq_length": 60, "model.max_positions": 60}).premask,
        write_shards(domain / "long", [[[5] * 28, [6] * 28]] * 9, vocab_size=LONGER, tokenizer=domain / "tokenizer"),
        domain / "tokenizer",
        domain / "validation",
    )
    refused(domain, "model.max_positions is 32: lower premask.max_seq_length")
    save(backend(), domain / "tokenizer", tokenizer_params(strip_accents=True), {})
    other = with_pieces(backend(), ["w7x"]).to_str().replace('"w7"', '"v7"')
    (domain / "tokenizer" / "tokenizer.json").write_text(other)
    write_manifest(domain / "tokenizer", {})
    refused(domain, r"trained with another tokenizer .*: set tokenizer.kind to pretrained, .*name to model and its rev")


def test_an_extended_tokenizer_beside_an_old_model_is_told(domain):
    files = read_json(domain.parent / "model" / MANIFEST)
    shutil.copy(domain / "tokenizer" / "tokenizer.json", domain.parent / "model")
    write_manifest(domain.parent / "model", {"inputs": files["inputs"]})
    refused(domain, "has rows for 97 tokens, and its own tokenizer has 100: an extended tokenizer was put")


def test_pairs_need_segments(domain):
    shutil.rmtree(domain.parent / "model")
    write_model(domain.parent, MODERN)
    refused(domain, "pretrain.nsp is true, and model, of architecture modernbert, has no segments")
    pretrain(settings({"pretrain.nsp": False, "pretrain.steps": 3}), pretraining_paths(domain), CPU)
    assert read_json(domain / "out" / "best" / "config.json")["model_type"] == "modernbert"


def test_a_model_that_dvc_would_remove_is_no_start():
    for name in ("data/models/pretrained", "./data/models/pretrained-last/"):
        with pytest.raises(UserError, match="is what this stage writes, and DVC removes it before it runs: copy"):
            tiny_params({"pretrain.init_from": name})
    assert tiny_params({"pretrain.init_from": "data/general", "pretrain.max_seq_length": 64}).pretrain.init_from
