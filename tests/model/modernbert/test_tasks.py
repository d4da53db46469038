"""Each kind of task on ModernBERT, as the class of `transformers` has it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer

from maskline.finetuning.run import load_pretrained
from maskline.model.convert import to_hugging_face
from maskline.model.directory import TokenizerFiles, export, load_encoder, read_model
from maskline.model.heads import PretrainingModel
from maskline.tasks.classification.task import Classification
from maskline.tasks.classification.use import open_predictor
from maskline.tasks.similarity.task import Similarity
from maskline.tasks.spans.reading import Reading
from maskline.tasks.spans.task import Spans
from maskline.tasks.tokens.task import Tokens
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.training.optimizers import parameter_groups
from tests.model.bert.test_convert import close, randomized
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

PARAMS = tiny_params(MODERNBERT | {"model.initializer_range": 0.4}).model
CPU = torch.device("cpu")
TEXTS = ["w5 w6 w7", "w8", "w9 w10 w11 w12 w13"]
TASKS = {
    "cls": Classification(["no", "yes", "perhaps"], np.ones(3, np.float32)),
    "mean": Classification(["no", "yes", "perhaps"], np.ones(3, np.float32), pooling="mean"),
    "tokens": Tokens(["O", "B-x", "I-x"]),
    "spans": Spans(Reading(24, 4, 3, 5, no_answer=False), "en"),
    "similarity": Similarity(SimpleNamespace(objective="cosine", max_seq_length=24), (0.0, 5.0)),
}


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer")


def exported(task, directory, tokenizer):
    """Return the model of `task` with random weights, written to `directory`."""
    model = randomized(task.new_model(PARAMS, VOCAB_SIZE, 0.3), seed=4)
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, segments=False, fills_masks=False))
    export(directory, model, model.exported_as, files, "# card", {}, task.config())
    return model


def loaded(name, directory):
    """Return the model in `directory` as `transformers` loads it, and its tokenizer."""
    peer, info = getattr(transformers, name).from_pretrained(directory, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert type(peer).__name__.startswith("ModernBert")
    read = transformers.AutoTokenizer.from_pretrained(directory)
    return peer.eval(), read(TEXTS, padding=True, return_tensors="pt")


@pytest.mark.parametrize("kind", ["cls", "mean", "tokens", "spans"])
def test_a_task_is_scored_as_transformers_does(kind, tokenizer, tmp_path):
    task = TASKS[kind]
    model = exported(task, tmp_path / "model", tokenizer)
    name = {"tokens": "AutoModelForTokenClassification", "spans": "AutoModelForQuestionAnswering"}
    peer, batch = loaded(name.get(kind, "AutoModelForSequenceClassification"), tmp_path / "model")
    assert type(peer).__name__ == model.exported_as
    mask = batch["attention_mask"].bool()
    arguments = unpadded(batch["input_ids"], torch.zeros_like(mask).long(), mask)
    with torch.no_grad():
        output = peer(**batch)
        if kind == "tokens":
            close(model(arguments[0], arguments[2], torch.arange(len(arguments[0]))), output.logits[mask])
        elif kind == "spans":
            close(model(*arguments), torch.stack([output.start_logits, output.end_logits], -1)[mask])
        else:
            close(model(*arguments), output.logits)
            assert output.logits.std(0).min() > 0.05
    again = task.new_model(PARAMS, VOCAB_SIZE, 0.0)
    read_model(tmp_path / "model", "finetune").copy_into(again)
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))


def test_vectors_are_those_of_sentence_transformers(tokenizer, tmp_path):
    model = exported(TASKS["similarity"], tmp_path / "model", tokenizer)
    peer, batch = loaded("AutoModel", tmp_path / "model")
    assert model.exported_as == type(peer).__name__ == "ModernBertModel"
    mask = batch["attention_mask"].bool()
    input_ids, _, layout = unpadded(batch["input_ids"], torch.zeros_like(mask), mask)
    with torch.no_grad():
        vectors = model(input_ids, layout)
    close(vectors, torch.from_numpy(SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(TEXTS)))


@pytest.mark.parametrize("kind", ["cls", "mean"])
def test_a_classifier_is_used_as_it_was_trained(kind, tokenizer, tmp_path):
    model = exported(TASKS[kind], tmp_path / "model", tokenizer)
    predictor = open_predictor(read_model(tmp_path / "model", "finetune"), load_tokenizer(tokenizer), CPU)
    rows = predictor.predict([{"text": text} for text in TEXTS]).rows
    encoded = TASKS[kind].encode({"text": TEXTS, "label": [0] * 3}, load_tokenizer(tokenizer), 24)
    chances = TASKS[kind].predict(model, encoded, CPU)
    found = [list(row["probabilities"].values()) for row in rows]
    assert np.array(found) == pytest.approx(chances, abs=1e-6)


def test_fine_tuning_goes_on_with_the_encoder_and_the_head_of_pretraining(tokenizer, tmp_path):
    pretrained = randomized(PretrainingModel(PARAMS, VOCAB_SIZE))
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, segments=False))
    export(tmp_path / "model", pretrained, "ModernBertForMaskedLM", files, "# card", {})
    model = randomized(TASKS["tokens"].new_model(PARAMS, VOCAB_SIZE, 0.0), seed=5)
    own = model.classifier.weight.clone()
    load_pretrained(model, tmp_path / "model", tokenizer)
    theirs = to_hugging_face(pretrained)
    for name, weight in to_hugging_face(model).items():
        if not name.startswith("classifier."):
            assert torch.equal(weight, theirs[name]), name
    assert torch.equal(model.classifier.weight, own)
    bare = load_encoder(tmp_path / "model")
    assert torch.equal(bare.norm.weight, pretrained.encoder.norm.weight)


def test_muon_takes_each_of_the_stacked_matrices_apart():
    model = PretrainingModel(PARAMS, VOCAB_SIZE)
    muon, adamw = parameter_groups(model, tiny_params().pretrain)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    taken = {names[id(parameter)]: group["parts"] for group in muon for parameter in group["params"]}
    assert taken == {
        f"encoder.layers.{layer}.{part}.weight": parts
        for layer in range(3)
        for part, parts in (("attention.qkv", 3), ("attention.out", 1), ("up", 2), ("down", 1))
    }
    rest = {names[id(parameter)] for group in adamw for parameter in group["params"]}
    assert rest == set(names.values()) - set(taken)
