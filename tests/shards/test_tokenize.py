import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import psutil
import pytest

from maskline.core.errors import UserError
from maskline.core.storage import INCOMPLETE, MANIFEST
from maskline.corpus.articles import Article
from maskline.sentences.splitter import split_sentences
from maskline.shards import store as shards
from maskline.shards import tokenize
from maskline.shards.store import TokenShards
from maskline.shards.tokenize import write_tokens
from maskline.tokenization.load import load_tokenizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import train
from tests.tiny import tokenizer_params

TEXTS = [
    "The U.S. Army is large. It has one branch.\nA second paragraph follows.",
    "\u200f \u200f\n\u200d",
    "One sentence",
    "A sentence. \u200f\nAnother one with [SEP] in it.",
    "قال: «ذهب». ثم عاد؟ نعم!",
]
ARTICLES = [Article(f"id-{number}", "title", "url", text) for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module", name="tokenizer")
def _tokenizer(tmp_path_factory):
    params = tokenizer_params(vocab_size=300, min_frequency=1)
    directory = tmp_path_factory.mktemp("data") / "tokenizer"
    save(train(lambda: TEXTS, params, "en"), directory, params, {})
    return directory


def write(directory, tokenizer, articles=ARTICLES, *, workers=1, shard_tokens=20):
    return write_tokens(
        directory,
        articles,
        tokenizer,
        language="en",
        shard_tokens=shard_tokens,
        workers=workers,
        provenance={"corpus": "0"},
    )


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_shards_hold_the_sentences_of_every_article_in_order(tokenizer, tmp_path):
    metrics = write(tmp_path, tokenizer)
    backend = load_tokenizer(tokenizer).backend
    backend.encode_special_tokens = True
    expected = [
        [backend.encode(sentence, add_special_tokens=False).ids for sentence in split_sentences(text, "en")]
        for text in TEXTS
    ]
    expected = [[ids for ids in document if ids] for document in expected]
    expected = [document for document in expected if document]
    found = []
    for shard in TokenShards(tmp_path):
        sentences = np.split(shard.tokens, shard.sentence_offsets[1:-1])
        for start, end in zip(shard.document_offsets[:-1], shard.document_offsets[1:], strict=True):
            found.append([sentence.tolist() for sentence in sentences[start:end]])
    assert found == expected
    assert len(TokenShards(tmp_path).shards) > 1
    sentences, tokens = 3 + 1 + 2 + 3, sum(len(ids) for document in expected for ids in document)
    assert metrics == {
        "documents": 4,
        "sentences": sentences,
        "tokens": tokens,
        "one_sentence_documents": 1,
        "unknown": 0,
        "dropped_documents": 1,
        "dropped_sentences": 2,
        "sentences_per_document": sentences / 4,
        "one_sentence_share": 1 / 4,
        "tokens_per_sentence": tokens / sentences,
        "unk_rate": 0,
    }
    manifest = TokenShards(tmp_path).manifest
    assert {"language": "en", "corpus": "0", "dropped_documents": 1, "dropped_sentences": 2}.items() <= manifest.items()
    assert manifest["vocab_size"] == load_tokenizer(tokenizer).vocab_size


def test_any_number_of_workers_writes_the_same_bytes(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenize, "BATCH_CHARACTERS", 60)
    many = [Article(f"{n}-{article.id}", "", "", article.text) for n in range(6) for article in ARTICLES]
    for workers in (1, 3):
        write(tmp_path / str(workers), tokenizer, many, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "3")


def test_what_an_earlier_run_left_is_replaced(tokenizer, tmp_path):
    write(tmp_path, tokenizer, shard_tokens=1)
    write(tmp_path, tokenizer, shard_tokens=10_000)
    assert sorted(contents(tmp_path)) == [MANIFEST, "tokens-00000.arrow"]


def test_articles_are_read_as_they_are_needed(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenize, "BATCH_CHARACTERS", 1)
    read = []

    def stream():
        for article in ARTICLES * 10:
            read.append(article.id)
            yield article

    batches = tokenize._tokenized(tokenize._batches(stream()), tokenizer, "en", 2)
    next(batches)
    assert len(read) == 4
    batches.close()


def test_a_full_disk_leaves_nothing_that_looks_complete(tokenizer, tmp_path, monkeypatch):
    real = shards.pa.OSFile
    monkeypatch.setattr(shards.pa, "OSFile", lambda _path, mode: real("/dev/full", mode))
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write(tmp_path, tokenizer, workers=2)
    assert caught.value.errno == errno.ENOSPC
    assert set(contents(tmp_path)) == {INCOMPLETE}
    with pytest.raises(UserError, match="incomplete"):
        TokenShards(tmp_path)


def kill(*_):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_is_one_clear_line(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenize, "_tokenize", kill)
    with pytest.raises(UserError, match=r"killed.*compute\.workers"):
        write(tmp_path, tokenizer, workers=2)
    assert set(contents(tmp_path)) == {INCOMPLETE}


STUCK = """
import signal
import sys
import time
from pathlib import Path

from maskline.corpus.articles import Article
from maskline.shards import tokenize


def articles():
    for number in range(4):
        yield Article(str(number), "", "", "One sentence.")
    print("waiting", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
    tokenize.BATCH_CHARACTERS = 1
    tokenize.write_tokens(
        Path("tokens"), articles(), Path(sys.argv[1]), language="en", shard_tokens=9, workers=2, provenance={}
    )
"""


@contextmanager
def stuck_process(folder, tokenizer, script=STUCK):
    """Start `script` in a session of its own; it is killed in the end, whatever happens."""
    (folder / "stuck.py").write_text(script)
    command = [sys.executable, "stuck.py", str(tokenizer)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


WRITING = """
import sys
from pathlib import Path

from maskline.corpus.articles import Article
from maskline.shards import tokenize


def articles():
    for number in range(40):
        if number == 8:
            print("under way", flush=True)
        yield Article(str(number), "", "", "One word after the other. " * 100_000)


if __name__ == "__main__":
    tokenize.BATCH_CHARACTERS = 1
    tokenize.write_tokens(
        Path("tokens"), articles(), Path(sys.argv[1]), language="en", shard_tokens=10**6, workers=2, provenance={}
    )
"""
"""Results of which each is more than a pipe holds."""


def test_a_process_killed_while_it_writes_holds_nobody_up(tokenizer, tmp_path):
    with stuck_process(tmp_path, tokenizer, WRITING) as stuck:
        assert stuck.stdout.readline() == "under way\n"
        stuck.send_signal(signal.SIGSTOP)
        time.sleep(3)  # who has a result writes by now, and nobody reads
        max(psutil.Process(stuck.pid).children(), key=lambda worker: worker.memory_info().rss).kill()
        stuck.send_signal(signal.SIGCONT)
        _, said = stuck.communicate(timeout=60)
    assert stuck.returncode == 1
    assert "a process that tokenizes was killed" in said.splitlines()[-1]


def test_processes_end_with_the_one_that_started_them(tokenizer, tmp_path):
    with stuck_process(tmp_path, tokenizer) as stuck:
        assert stuck.stdout.readline() == "waiting\n"
        started = psutil.Process(stuck.pid).children(recursive=True)
        stuck.kill()
    assert len(started) >= 2
    _, alive = psutil.wait_procs(started, timeout=30)
    for process in alive:
        process.kill()
    assert not alive


def test_ctrl_c_is_for_the_first_process_alone(tokenizer, tmp_path):
    with stuck_process(tmp_path, tokenizer) as stuck:
        deadline = time.monotonic() + 60
        while len(psutil.Process(stuck.pid).children()) < 3:  # two that encode and the tracker of multiprocessing
            assert time.monotonic() < deadline
        time.sleep(0.2)  # they import by now
        os.killpg(stuck.pid, signal.SIGINT)
        _, said = stuck.communicate(timeout=60)
    assert said.count("Traceback") == 1, said
    assert said.endswith("KeyboardInterrupt\n")
