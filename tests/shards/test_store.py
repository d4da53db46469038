import errno
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST
from maskline.shards import store
from maskline.shards.store import ShardWriter, TokenShards, id_dtype

DOCUMENTS = [("one", [[5, 6, 7]]), ("zwei", [[8], [9, 10]]), ("ثلاثة", [[11, 12], [13], [14, 15, 96]])]


def write(directory, documents, vocab_size=97, shard_tokens=4):
    directory.mkdir(parents=True, exist_ok=True)
    with ShardWriter(directory, vocab_size, shard_tokens, {"language": "en"}) as writer:
        for document, sentences in documents:
            tokens = np.array([token for sentence in sentences for token in sentence], np.uint32)
            writer.add(document, tokens, np.array([len(sentence) for sentence in sentences], np.int32))
    return directory


def read(directory):
    documents = []
    for shard in TokenShards(directory):
        sentences = [tokens.tolist() for tokens in np.split(shard.tokens, shard.sentence_offsets[1:-1])]
        bounds = shard.document_offsets.tolist()
        documents += [sentences[start:end] for start, end in pairwise(bounds)]
    return documents


def test_documents_come_back_from_shards_of_about_the_given_size(tmp_path):
    write(tmp_path, DOCUMENTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, "tokens-00000.arrow", "tokens-00001.arrow"]
    assert read(tmp_path) == [sentences for _, sentences in DOCUMENTS]
    manifest = TokenShards(tmp_path).manifest
    expected = {"language": "en", "documents": 3, "sentences": 6, "tokens": 12, "one_sentence_documents": 1}
    assert expected.items() <= manifest.items()


def test_a_shard_is_one_batch_that_other_tools_read(tmp_path):
    write(tmp_path, DOCUMENTS, shard_tokens=100)
    with pa.memory_map(str(tmp_path / "tokens-00000.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.schema.field("sentences").type == pa.list_(pa.list_(pa.uint8()))
    assert table.to_pydict() == {"id": [i for i, _ in DOCUMENTS], "sentences": [s for _, s in DOCUMENTS]}


def test_reading_copies_nothing(tmp_path):
    write(tmp_path, DOCUMENTS, shard_tokens=100)
    (shard,) = TokenShards(tmp_path)
    assert not any(view.flags.owndata or view.flags.writeable for view in vars(shard).values())


@pytest.mark.parametrize(
    ("vocab_size", "name"), [(256, "uint8"), (257, "uint16"), (65_536, "uint16"), (65_537, "uint32")]
)
def test_ids_take_the_smallest_type_that_holds_them(vocab_size, name, tmp_path):
    assert id_dtype(vocab_size).name == name
    write(tmp_path, [("a", [[vocab_size - 1]])], vocab_size)
    assert next(iter(TokenShards(tmp_path))).tokens.dtype == name
    assert read(tmp_path) == [[[vocab_size - 1]]]


SENTENCES = st.lists(st.lists(st.integers(0, 299), min_size=1, max_size=9), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(documents=st.lists(SENTENCES, min_size=1, max_size=12), shard_tokens=st.integers(1, 60))
def test_odd_documents_survive(documents, shard_tokens, tmp_path_factory):
    directory = write(
        tmp_path_factory.mktemp("shards"), [(str(n), d) for n, d in enumerate(documents)], 300, shard_tokens
    )
    assert read(directory) == documents
    flat = [token for document in documents for sentence in document for token in sentence]
    counts = TokenShards(directory).token_counts()
    assert counts.tolist() == np.bincount(flat, minlength=300).tolist()


def test_the_same_documents_are_the_same_bytes(tmp_path):
    first, second = write(tmp_path / "a", DOCUMENTS), write(tmp_path / "b", DOCUMENTS)
    assert [p.read_bytes() for p in sorted(first.iterdir())] == [p.read_bytes() for p in sorted(second.iterdir())]


def test_an_interrupted_split_is_incomplete(tmp_path):
    def interrupted():
        yield from DOCUMENTS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, interrupted())
    with pytest.raises(UserError, match=r"incomplete .*dvc repro tokenize"):
        TokenShards(tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-100], lambda content: content[:200] + b"x" + content[201:]]
)
def test_a_damaged_shard_is_one_clear_line(damage, tmp_path):
    write(tmp_path, DOCUMENTS)
    path = tmp_path / "tokens-00001.arrow"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UserError, match=r"tokens-00001.arrow is not what tokenize wrote.*dvc repro tokenize"):
        TokenShards(tmp_path)


def test_no_tokens_at_all_is_one_clear_line(tmp_path):
    write(tmp_path, [])
    with pytest.raises(UserError, match="holds no tokens"):
        TokenShards(tmp_path)


def test_a_full_disk_leaves_nothing_that_looks_complete(tmp_path, monkeypatch):
    real = pa.OSFile
    monkeypatch.setattr(store.pa, "OSFile", lambda _path, mode: real("/dev/full", mode))
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write(tmp_path, DOCUMENTS)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
