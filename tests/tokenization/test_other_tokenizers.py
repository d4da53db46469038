"""The way from text to models with tokenizers whose special tokens are not 0 to 4, or that know whole words alone."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
import transformers

from maskline.core.storage import MANIFEST, read_json, sha256, write_csv
from maskline.corpus.articles import Article
from maskline.dataset.write import write_dataset
from maskline.evaluation.samples import sample_page
from maskline.examples.premasked import premask, read_premasked
from maskline.finetuning.run import Paths, finetune
from maskline.inference.fill import fill_masks
from maskline.model.directory import load_pretraining_model
from maskline.pretraining.run import pretrain
from maskline.shards.store import TokenShards
from maskline.shards.tokenize import write_tokens
from maskline.tasks.classification.examples import Examples
from maskline.tasks.classification.task import make_task
from maskline.tokenization.load import load_tokenizer
from maskline.vocabulary.build import build
from maskline.vocabulary.save import save
from tests.theirs import ODD, USUAL, write_theirs
from tests.tiny import tiny_params
from tests.training.runs import CPU, pretraining_paths

TOKENIZERS = {
    "usual": ({"kind": "pretrained"}, USUAL),
    "odd": ({"kind": "pretrained"}, ODD),
    "word": ({"kind": "word", "min_frequency": 1}, USUAL),
}
SCRIPT = """
import json, sys
from transformers import AutoTokenizer
loaded = AutoTokenizer.from_pretrained(sys.argv[1])
lines = json.load(sys.stdin)
print(json.dumps([loaded(lines)["input_ids"], loaded(lines, lines[::-1])["input_ids"], loaded.model_max_length]))
"""


def write_articles():
    draw = random.Random(0)
    words = ["play", "plays", "the", "of", "games", "gameful", "!", "P"]
    for number in range(60):
        lines = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(draw.randint(2, 5))]
        yield Article(str(number), "", "", "\n".join(lines))


@pytest.fixture(name="made", params=TOKENIZERS, scope="module")
def _made(request, tmp_path_factory):
    """Return a folder of data, a task, and models pretrained and fine-tuned with one of TOKENIZERS, and its name."""
    root = tmp_path_factory.mktemp(request.param)
    articles = list(write_articles())
    chosen, tokens = TOKENIZERS[request.param]
    write_theirs(root / "theirs", tokens)
    pretrained = {"name": str(root / "theirs"), "revision": None, "segmented": False}
    changes = {f"tokenizer.{key}": value for key, value in (chosen | {"pretrained": pretrained}).items()}
    files = {"source": "files", "encoding": "utf-8", "files.paths": [str(root / "texts.csv")]}
    changes |= {f"sentiment:dataset.{key}": value for key, value in files.items()}
    params = tiny_params({"pretrain.steps": 4, "pretrain.evaluate_every": 2, "pretrain.warmup_steps": 1} | changes)
    built = build(lambda: [article.text for article in articles], params.tokenizer, "en")
    save(built.tokenizer.backend, root / "tokenizer", params.tokenizer, built.provenance, built.settings)
    provenance = {"tokenizer": sha256(root / "tokenizer" / MANIFEST)}
    for split, part in (("train", articles[:45]), ("validation", articles[45:])):
        write_tokens(
            root / "tokens" / split, part, root / "tokenizer",
            language="en", shard_tokens=300, workers=1, provenance=provenance,
        )  # fmt: skip
    premask(params.premask, root / "tokens" / "validation", root / "tokenizer", root / "validation")
    texts = [
        {
            "text": f"the {'games' if n % 2 else 'play'} of " + "! " * (n // 2),
            "sentiment": ["negative", "positive"][n % 2],
        }
        for n in range(120)
    ]
    write_csv(root / "texts.csv", texts, ("text", "sentiment"))
    write_dataset(root / "task", "sentiment", params.task("sentiment").dataset, Examples())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        pretrain(params.pretraining(), pretraining_paths(root), CPU)
        tuned, start = root / "tuned", root / "out" / "best"
        paths = Paths(root / "task", root / "tokenizer", tuned / "model", tuned / "reports", start)
        finetune("sentiment", make_task, params.finetuning("sentiment"), paths, CPU)
    return root, request.param


def test_examples_have_the_tokenizers_own_special_tokens(made):
    root, _ = made
    special = load_tokenizer(root / "tokenizer").special
    for shard in TokenShards(root / "tokens" / "train"):
        assert not np.isin(shard.tokens, [special.pad, special.cls, special.sep, special.mask]).any()
    validation = read_premasked(root / "validation")
    for row in range(len(validation)):
        ids, masked = validation.input_ids[row], validation.masked_positions[row]
        assert ids[0] == special.cls
        assert ids[-1] == special.sep
        assert not np.isin(validation.masked_labels[row], list(special)).any()
        assert not np.isin(ids[masked], [special.pad, special.unk, special.cls, special.sep]).any()
        assert set(np.flatnonzero(ids == special.mask)) <= set(masked)
    assert any((ids == special.mask).any() for ids in validation.input_ids)


@pytest.mark.parametrize("model", ["out/best", "out/last", "tuned/model"])
def test_an_export_reloads_with_the_same_ids_in_a_fresh_process(made, model):
    root, _ = made
    tokenizer = load_tokenizer(root / "tokenizer")
    lines = ["the play of games", "[MASK] <mask> plays !", "unseen ñ 中", "", "the " * 50]
    command = [sys.executable, "-c", SCRIPT, str(root / model)]
    done = subprocess.run(command, input=json.dumps(lines), capture_output=True, text=True, check=True)
    # To a fine-tuned model, [MASK] in a text is text.
    backend = tokenizer.plain if model == "tuned/model" else tokenizer.backend
    single = [encoding.ids for encoding in backend.encode_batch(lines)]
    pairs = [encoding.ids for encoding in backend.encode_batch(list(zip(lines, lines[::-1], strict=True)))]
    assert json.loads(done.stdout.splitlines()[-1]) == [single, pairs, 32]
    config = read_json(root / model / "config.json")
    assert config["pad_token_id"] == tokenizer.special.pad
    assert config["vocab_size"] == tokenizer.vocab_size


def test_transformers_computes_what_we_compute(made):
    root, name = made
    tokenizer = load_tokenizer(root / "tokenizer")
    fills = fill_masks(load_pretraining_model(root / "out" / "best"), tokenizer, "the [MASK] of games", 3, CPU)
    theirs = transformers.AutoTokenizer.from_pretrained(root / "out" / "best")
    model = transformers.BertForMaskedLM.from_pretrained(root / "out" / "best").eval()
    inputs = theirs(f"the {tokenizer.mask_token} of games", return_tensors="pt")
    place = (inputs["input_ids"][0] == theirs.mask_token_id).nonzero()[0, 0]
    probabilities = model(**inputs).logits[0, place].softmax(0)
    for fill in fills[0]:
        assert probabilities[theirs.convert_tokens_to_ids(fill.token)].item() == pytest.approx(
            fill.probability, abs=1e-5
        )
        assert fill.text.endswith(" of games")
    assert (name == "word") == (tokenizer.continued("##s") is None)


def test_sample_predictions_show_the_mask_as_readers_know_it(made):
    root, _ = made
    tokenizer = load_tokenizer(root / "tokenizer")
    model, validation = load_pretraining_model(root / "out" / "best"), read_premasked(root / "validation")
    page = sample_page(model, validation, tokenizer, CPU, 3)
    assert page.count("`[MASK]`") == 3
    assert "<mask>" not in page
