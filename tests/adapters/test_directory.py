import json
import shutil
import subprocess
import sys

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from maskline.adapters.directory import TUNING, WEIGHTS, Encoders, TunedModel, export, read, weights_bytes
from maskline.adapters.layers import insert, trained
from maskline.adapters.settings import TuningParams
from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, sha256, write_json, write_manifest
from maskline.finetuning.run import load_pretrained
from maskline.inference.merge import merge
from maskline.inference.predict import load_predictors
from maskline.model.directory import TokenizerFiles, read_model
from maskline.model.directory import export as export_whole
from maskline.model.heads import PretrainingModel
from maskline.tokenization.model_files import files_for_model
from tests.model.bert.test_convert import randomized
from tests.model.modernbert.test_tasks import TASKS
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

CPU = torch.device("cpu")
SHAPES = {
    "bert": tiny_params({"model.initializer_range": 0.3}).model,
    "modernbert": tiny_params(MODERNBERT | {"model.initializer_range": 0.4}).model,
}
CLASSES = {
    "cls": "AutoModelForSequenceClassification",
    "mean": "AutoModel",
    "tokens": "AutoModelForTokenClassification",
    "spans": "AutoModelForQuestionAnswering",
    "similarity": "AutoModel",
}
"""Kind -> what loads its base; a mean is pooled by a class of ModernBERT alone."""
MATRICES = ["value", "up", "query", "out", "down"]

PEFT = """
import json, sys, torch, transformers
from peft import PeftModel
from safetensors.torch import save_file

transformers.logging.set_verbosity_error()
out, outputs = sys.argv[1], {}
for name, base, adapter, kind, labels in json.loads(sys.argv[2]):
    given = {"num_labels": labels} if labels else {}
    config = json.load(open(adapter + "/config.json"))
    if "classifier_pooling" in config:
        given["classifier_pooling"] = config["classifier_pooling"]
    if kind == "AutoModel" and config["model_type"] == "bert":
        given["add_pooling_layer"] = False
    model = getattr(transformers, kind).from_pretrained(base, **given)
    model = PeftModel.from_pretrained(model, adapter).eval()
    ids = torch.arange(5, 29).view(3, 8)
    with torch.no_grad():
        found = model(input_ids=ids, attention_mask=torch.ones_like(ids))
    parts = [found[key] for key in ("logits", "start_logits", "end_logits", "last_hidden_state") if key in found]
    outputs[name] = torch.stack(parts, -1).contiguous()
save_file(outputs, out)
"""
"""What another process does that knows nothing of this project."""


def tuning(method="lora", **changes):
    given = {"placement": "houlsby", "bottleneck": 3, "rank": 2, "alpha": 3.0, "matrices": ["query", "value"]}
    return TuningParams(**({"method": method, "method_lr": 0.01} | given | changes))


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory):
    """A tokenizer, and a pretrained model of each architecture."""
    return write_pretrained(tmp_path_factory.mktemp("encoders"))


def write_pretrained(root):
    """Write a tokenizer, and a pretrained model of each architecture, to the folder `root`; return it."""
    tokenizer = write_tokenizer(root / "tokenizer")
    for name, shape in SHAPES.items():
        model = randomized(PretrainingModel(shape, VOCAB_SIZE), seed=3)
        files = TokenizerFiles(*files_for_model(tokenizer, shape.max_positions, segments=shape.next_sentence))
        kind = model.architecture.pretrained_class(shape, nsp=shape.next_sentence)
        export_whole(root / name, model, kind, files, "# card", {})
    return root


def written(root, directory, kind="cls", params=None, architecture="bert", seed=5):
    """Return a model of which what is trained has random weights, and write that to `directory`."""
    task, shape, params = TASKS[kind], SHAPES[architecture], params or tuning()
    model = task.new_model(shape, VOCAB_SIZE, 0.0)
    load_pretrained(model, root / architecture, root / "tokenizer")
    insert(model, params)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.add_(0.2 * torch.randn(weight.shape, generator=draw))
    files = TokenizerFiles(
        *files_for_model(root / "tokenizer", shape.max_positions, segments=shape.next_sentence, fills_masks=False)
    )
    provenance = {"inputs": {"pretrained": sha256(root / architecture / MANIFEST)}}
    export(directory, model, params, str(root / architecture), files, "# card", provenance, task.config())
    return model.eval()


IDS = torch.arange(5, 29).view(3, 8)


def outputs(model, kind):
    """Return what `model` says of IDS: logits, or of what has no head the vectors of its texts."""
    ids, types, layout = unpadded(IDS, torch.zeros_like(IDS), torch.ones_like(IDS).bool())
    with torch.no_grad():
        if kind == "tokens":
            return model(ids, layout, torch.arange(len(ids)))
        return model(ids, layout) if kind == "similarity" else model(ids, types, layout)


def read_back(directory, kind, encoders=None):
    saved = read(directory, "finetune@x", encoders=encoders)
    model = TASKS[kind].new_model(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(model, may_lack=() if model.pooled else saved.names.pooler)
    return model.eval()


METHODS = {
    "lora": tuning(matrices=MATRICES),
    "houlsby": tuning("adapters"),
    "pfeiffer": tuning("adapters", placement="pfeiffer"),
    "probe": tuning("probe"),
}


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize(
    ("method", "kind"),
    [(m, k) for m in METHODS for k in CLASSES if (m, k) != ("probe", "similarity")],  # which has no head
)
def test_what_was_trained_comes_back_and_is_all_that_is_saved(root, tmp_path, architecture, method, kind):
    model = written(root, tmp_path / "x", kind, METHODS[method], architecture)
    again = read_back(tmp_path / "x", kind)
    assert torch.equal(outputs(again, kind), outputs(model, kind))
    kept = sum(weight.numel() for weight in trained(model).values())
    files = [load_file(path) for path in (tmp_path / "x").glob("*.safetensors")]
    numbers = sum(weight.numel() for file in files for weight in file.values())
    stacked = architecture == "modernbert" and method == "lora"  # where blocks of zeros stand beside the factors
    assert (numbers > kept) if stacked else (numbers == kept)
    assert 4 * numbers < weights_bytes(tmp_path / "x") < 4 * numbers + 8000


@pytest.fixture(name="by_peft", scope="module")
def _by_peft(root, tmp_path_factory):
    """Return what another process says with peft of all cases, and what our models say."""
    folder = tmp_path_factory.mktemp("peft")
    cases, ours = [], {}
    for architecture in SHAPES:
        for kind, loader in CLASSES.items():
            name = f"{architecture} {kind}"
            params = tuning(matrices=["query", "value"] if kind == "spans" else MATRICES)
            model = written(root, folder / name, kind, params, architecture)
            if architecture == "modernbert" and kind == "mean":
                loader = CLASSES["cls"]  # noqa: PLW2901
            labels = {"cls": 3, "mean": 3, "tokens": 3}.get(kind) if loader != "AutoModel" else None
            cases.append((name, str(root / architecture), str(folder / name), loader, labels))
            ours[name] = model
    out = folder / "outputs.safetensors"
    subprocess.run([sys.executable, "-c", PEFT, str(out), json.dumps(cases)], cwd=folder, check=True)
    return load_file(out), ours


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("kind", CLASSES)
def test_peft_loads_lora_with_its_head_in_another_process(by_peft, architecture, kind):
    theirs, ours = by_peft[0][f"{architecture} {kind}"], by_peft[1][f"{architecture} {kind}"]
    if kind == "similarity" or (kind, architecture) == ("mean", "bert"):
        expected = ours.encoder(*unpadded(IDS, torch.zeros_like(IDS), torch.ones_like(IDS).bool()))
        theirs = theirs.squeeze(-1).flatten(0, 1)
    else:
        expected = outputs(ours, kind)
        theirs = theirs.flatten(0, 1) if kind == "spans" else theirs.squeeze(-1).reshape(expected.shape)
    torch.testing.assert_close(theirs, expected.detach(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("method", ["lora", "probe"])
@pytest.mark.parametrize("kind", ["cls", "mean", "tokens"])
def test_merged_it_is_a_whole_model_that_computes_the_same(root, tmp_path, architecture, method, kind):
    model = written(root, tmp_path / "x", kind, METHODS[method], architecture)
    merge(tmp_path / "x", tmp_path / "whole")
    saved = read_model(tmp_path / "whole", "merge")
    again = TASKS[kind].new_model(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(again, may_lack=() if again.pooled else saved.names.pooler)
    torch.testing.assert_close(outputs(again.eval(), kind), outputs(model, kind), atol=1e-5, rtol=0)
    loader = getattr(transformers, read_json(tmp_path / "whole" / "config.json")["architectures"][0])
    given = {"add_pooling_layer": False} if loader is transformers.BertModel else {}
    _, info = loader.from_pretrained(tmp_path / "whole", output_loading_info=True, **given)
    assert not any(info[part] for part in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert read_json(tmp_path / "whole" / "config.json")["id2label"] == TASKS[kind].config()["id2label"]


def test_what_cannot_be_merged_is_told(root, tmp_path):
    written(root, tmp_path / "x", params=METHODS["houlsby"])
    with pytest.raises(UserError, match=r"x has adapters, which compute what no matrix does: only lora and probe"):
        merge(tmp_path / "x", tmp_path / "whole")
    with pytest.raises(UserError, match="is there already: name another directory"):
        merge(tmp_path / "x", tmp_path)
    with pytest.raises(UserError, match="bert holds a whole model already"):
        merge(root / "bert", tmp_path / "whole")
    assert not (tmp_path / "whole").exists()


def test_another_encoder_is_refused(root, tmp_path):
    shutil.copytree(root / "bert", tmp_path / "bert")
    written(root, tmp_path / "x")
    assert isinstance(read(tmp_path / "x", "finetune@x", tmp_path / "bert"), TunedModel)
    write_manifest(tmp_path / "bert", {"other": 1})
    with pytest.raises(UserError, match=r"x was fine-tuned from another model than the one in .*bert: run `dvc repro"):
        read(tmp_path / "x", "finetune@x", tmp_path / "bert")
    with pytest.raises(UserError, match=r"nowhere is incomplete"):
        read(tmp_path / "x", "finetune@x", tmp_path / "nowhere")


def without(name):
    def spoil(directory):
        weights = load_file(directory / WEIGHTS)
        del weights[name]
        save_file(weights, directory / WEIGHTS, {"format": "pt"})

    return spoil


def with_another_bottleneck(directory):
    write_json(directory / TUNING, read_json(directory / TUNING) | {"bottleneck": 4})


def without_method(directory):
    write_json(directory / TUNING, {"encoder": "here"})


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (without("classifier.bias"), "x lacks classifier.bias: fine-tune again"),
        (without("encoder.layers.1.down.adapter.up.bias"), r"x lacks encoder.layers.1.down.adapter.up.bias"),
        (with_another_bottleneck, r"adapter.down.weight is \(3, 16\), and the model's is \(4, 16\)"),
        (without_method, "tuning.json is damaged"),
        (lambda directory: (directory / WEIGHTS).write_bytes(b"no"), "x holds no model of this pipeline"),
    ],
)
def test_damage_is_told_in_one_line(root, tmp_path, spoil, expected):
    written(root, tmp_path / "x", params=METHODS["houlsby"])
    spoil(tmp_path / "x")
    write_manifest(tmp_path / "x", {"inputs": read_json(tmp_path / "x" / MANIFEST)["inputs"]})
    with pytest.raises(UserError, match=expected) as error:
        read_back(tmp_path / "x", "cls")
    assert "\n" not in str(error.value)


def test_several_on_one_encoder_share_it_and_answer_as_alone(root, tmp_path):
    for number, (name, params) in enumerate(METHODS.items()):
        written(root, tmp_path / name, params=params, seed=number)
    places = [tmp_path / name for name in METHODS]
    together = load_predictors(places, CPU)
    embeddings = {p.score.model.encoder.token_embedding.weight.data_ptr() for p in together.predictors.values()}
    assert len(embeddings) == 1
    texts = [{"text": "w5 w6 w7"}, {"text": "w8"}]
    for row, text in zip(together.predict(texts).rows, texts, strict=True):
        for place in places:
            alone = load_predictors([place], CPU).predict([text]).rows[0]
            assert row[place.name]["probabilities"] == pytest.approx(alone["probabilities"], abs=1e-6)
    assert len({row[name]["probability"] for name in METHODS}) == len(METHODS)


def test_those_that_cannot_be_asked_together_are_told(root, tmp_path):
    written(root, tmp_path / "x")
    written(root, tmp_path / "y", "similarity")
    with pytest.raises(UserError, match=r"x reads text, and y sentence1 and sentence2: ask them one at a time"):
        load_predictors([tmp_path / "x", tmp_path / "y"], CPU)
    with pytest.raises(UserError, match=r"two of the models are called the same \(x, x\)"):
        load_predictors([tmp_path / "x", tmp_path / "x"], CPU)


def test_one_does_not_change_the_encoder_of_another(root, tmp_path):
    encoders = Encoders()
    written(root, tmp_path / "x", params=METHODS["houlsby"])  # whose LayerNorms are trained
    before = {name: weight.clone() for name, weight in encoders.load(root / "bert", "pretrain")[1].items()}
    model = read_back(tmp_path / "x", "cls", encoders)
    after = encoders.load(root / "bert", "pretrain")[1]
    assert all(torch.equal(before[name], after[name]) for name in before)
    norm = "layers.0.attention_norm.weight"
    assert not torch.equal(model.encoder.state_dict()[norm], after[norm])
