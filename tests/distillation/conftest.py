import random
import shutil

import pytest
import torch

from maskline.core.storage import fresh_directory, write_manifest
from maskline.corpus.articles import SCHEMA, Article, write_parquet
from maskline.model.directory import TokenizerFiles, export
from maskline.model.heads import PretrainingModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import from_vocabulary
from tests.conftest import built_once
from tests.tiny import tiny_params, tokenizer_params, write_tokenizer


def articles(count):
    draw = random.Random(0)
    for number in range(count):
        sentences = [" ".join(f"w{draw.randint(5, 96)}" for _ in range(draw.randint(2, 7))) for _ in range(3)]
        yield Article(str(number), "", "", "\n".join(sentences))


def write_corpus(directory, count=40):
    """Write articles of three sentences as `fetch` does."""
    fresh_directory(directory)
    write_parquet(directory, "articles", SCHEMA, articles(count))
    write_manifest(directory, {"validation_fraction": 0.3, "licence": "none", "provenance": {"source": "test"}})
    return directory


def write_model(directory, tokenizer, changes=None, seed=0):
    """Write a model that nothing trained, with weights so large that it tells its inputs apart."""
    params = tiny_params({"model.initializer_range": 0.5, **(changes or {})}).model
    model = PretrainingModel(params, load_tokenizer(tokenizer).vocab_size)
    model.reset(torch.Generator().manual_seed(seed))
    files = TokenizerFiles(*files_for_model(tokenizer, params.max_positions))
    export(directory, model, "BertForPreTraining", files, "", {"origin": {"name": "a teacher", "licence": "free"}})
    return directory


@pytest.fixture(name="taught", scope="session")
def _taught(tmp_path_factory):
    """Return a folder of a corpus, a tokenizer, a model to start from and a teacher with a tokenizer of its own."""

    def build(root):
        write_corpus(root / "corpus")
        write_tokenizer(root / "tokenizer")
        letters = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "w", *(f"##{digit}" for digit in range(10))]
        params = tokenizer_params()
        vocabulary = {piece: number for number, piece in enumerate(letters)}
        save(from_vocabulary(vocabulary, normalizer(params, "en")), root / "other", params, {})
        write_model(root / "teacher", root / "other", {"model.hidden": 24, "model.layers": 3}, seed=1)
        write_model(root / "start", root / "tokenizer")

    return built_once(tmp_path_factory, "taught", build)


@pytest.fixture(name="mine")
def _mine(taught, tmp_path, monkeypatch):
    """Return a copy of the folder, in the current one, where `.runs` and `.timings` go."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(taught, tmp_path / "data")
