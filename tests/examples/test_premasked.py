import numpy as np
import pyarrow as pa
import pytest

from maskline.core.errors import UserError
from maskline.core.labels import IGNORE_INDEX
from maskline.core.storage import MANIFEST, read_json, sha256
from maskline.examples import premasked
from maskline.examples.batches import PretrainingBatches
from maskline.examples.masking import Masker
from maskline.examples.pairs import PairSource
from maskline.examples.premasked import PREMASKED, premask, read_premasked, write_premasked
from maskline.examples.settings import MaskingRates
from maskline.shards.store import TokenShards
from tests.tiny import SPECIAL, VOCAB_SIZE, random_documents, tiny_params, write_shards, write_tokenizer

RATE = 0.15
FIELDS = ("input_ids", "token_type_ids", "masked_positions", "masked_labels")


def batches(directory, documents, vocab_size=VOCAB_SIZE):
    source = PairSource(TokenShards(write_shards(directory, documents, vocab_size=vocab_size)), 24, nsp=True)
    masker = Masker(MaskingRates(rate=RATE, mask=0.8, random=0.1), SPECIAL, vocab_size)
    return PretrainingBatches(source, masker, SPECIAL, seed=0, global_batch=32)


@pytest.fixture(name="drawn")
def _drawn(tmp_path):
    return batches(tmp_path / "tokens", random_documents(150))


def segments_of(drawn):
    places = np.arange(len(drawn.source))
    return drawn.source.segments_at(drawn.order, 0, places, places % 2 == 1)


def test_what_was_drawn_comes_back(drawn, tmp_path):
    counts = write_premasked(drawn, RATE, tmp_path / "out", {"inputs": {}})
    read = read_premasked(tmp_path / "out")
    assert len(read) == len(drawn.source)
    segments = segments_of(drawn)
    whole = drawn.batch(segments, drawn.mask_keys(0, segments), RATE)
    width = whole.input_ids.shape[1]
    for row in range(len(read)):
        real = whole.attention_mask[row]
        assert read.input_ids[row].tolist() == whole.input_ids[row][real].tolist()
        assert read.token_type_ids[row].tolist() == whole.token_type_ids[row][real].tolist()
        of_row = whole.masked_positions // width == row
        assert read.masked_positions[row].tolist() == (whole.masked_positions[of_row] % width).tolist()
        assert read.masked_labels[row].tolist() == whole.masked_labels[of_row].tolist()
    assert read.next_sentence_label.tolist() == whole.next_sentence_label.tolist()
    assert counts == {
        "examples": len(read),
        "tokens": whole.tokens,
        "masked": len(whole.masked_labels),
        "is_next": int((whole.next_sentence_label == 0).sum()),
        "random": int((whole.next_sentence_label == 1).sum()),
        "no_pair": int((whole.next_sentence_label == IGNORE_INDEX).sum()),
    }
    assert counts.items() <= read.manifest.items()


def test_pairs_are_half_and_half(drawn, tmp_path):
    counts = write_premasked(drawn, RATE, tmp_path / "out", {})
    windows, without_pair = (drawn.source.counts[name] for name in ("windows", "windows_without_pair"))
    assert counts["is_next"] == counts["random"] == (windows - without_pair) // 2 > 0
    assert counts["no_pair"] == windows - 2 * counts["random"] >= without_pair > 0  # one may be left over


def test_batches_hold_every_example_once_whatever_their_size(drawn, tmp_path):
    write_premasked(drawn, RATE, tmp_path / "out", {})
    read = read_premasked(tmp_path / "out")
    for size in (1, 70, 10_000):
        seen = []
        for rows, batch in read.batches(size, SPECIAL):
            seen += rows.tolist()
            original = batch.input_ids.copy()
            original.ravel()[batch.masked_positions] = batch.masked_labels
            for place, row in enumerate(rows.tolist()):
                real = batch.attention_mask[place]
                assert original[place][real].tolist() == read.original(row).tolist()
                assert batch.token_type_ids[place][real].tolist() == read.token_type_ids[row].tolist()
                assert not original[place][~real].any()
            assert batch.next_sentence_label.tolist() == read.next_sentence_label[rows].tolist()
        assert sorted(seen) == list(range(len(read)))


def test_the_original_is_what_the_shards_hold(drawn, tmp_path):
    write_premasked(drawn, RATE, tmp_path / "out", {})
    read = read_premasked(tmp_path / "out")
    before = [ids.tolist() for ids in read.input_ids]
    segments = segments_of(drawn)
    for row in range(len(read)):
        a, b = drawn.source.tokens_of(segments.starts[row], segments.lengths[row])
        assert read.original(row).tolist() == [2, *a, 3, *b, 3][: segments.sizes[row]]
    assert [ids.tolist() for ids in read.input_ids] == before


@pytest.mark.parametrize(
    ("vocab_size", "dtype"), [(256, "uint8"), (257, "uint16"), (65536, "uint16"), (65537, "uint32")]
)
def test_ids_take_the_smallest_type_that_holds_the_vocabulary(tmp_path, vocab_size, dtype):
    documents = [[[vocab_size - 1] * 3, [5, 6]], [[7], [vocab_size - 1]]]
    write_premasked(batches(tmp_path / "tokens", documents, vocab_size), RATE, tmp_path / "out", {})
    read = read_premasked(tmp_path / "out")
    assert {array.dtype for name in ("input_ids", "masked_labels") for array in getattr(read, name)} == {
        np.dtype(dtype)
    }
    ids = {int(token) for row in range(len(read)) for token in read.original(row)}
    assert max(ids) == vocab_size - 1


def test_examples_are_cut_into_record_batches_of_a_fixed_size(drawn, tmp_path, monkeypatch):
    write_premasked(drawn, RATE, tmp_path / "out", {})
    whole = read_premasked(tmp_path / "out")
    monkeypatch.setattr(premasked, "ROWS", 50)
    write_premasked(drawn, RATE, tmp_path / "cut", {})
    with pa.memory_map(str(tmp_path / "cut" / PREMASKED)) as source:
        file = pa.ipc.open_file(source)
        rows = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
    assert rows[:-1] == [50] * (len(whole) // 50)
    cut = read_premasked(tmp_path / "cut")
    assert all(
        [row.tolist() for row in getattr(cut, name)] == [row.tolist() for row in getattr(whole, name)]
        for name in FIELDS
    )


@pytest.mark.parametrize("documents", [[[[5, 6, 7], [8, 9]]], [[[5]], [[6, 7]], [[8] * 40]]])
def test_a_corpus_without_pairs_gives_single_segments(tmp_path, documents):
    counts = write_premasked(batches(tmp_path / "tokens", documents), RATE, tmp_path / "out", {})
    assert (counts["is_next"], counts["random"]) == (0, 0)
    assert counts["no_pair"] == counts["examples"] == len(read_premasked(tmp_path / "out")) > 0


@pytest.fixture(name="data")
def _data(tmp_path):
    tokenizer = write_tokenizer(tmp_path / "tokenizer")
    write_shards(tmp_path / "tokens", random_documents(30), tokenizer=tokenizer)
    return tmp_path


def test_the_manifest_says_what_the_set_was_made_of(data):
    params = tiny_params().premask
    premask(params, data / "tokens", data / "tokenizer", data / "out")
    manifest = read_json(data / "out" / MANIFEST)
    assert manifest["params"] == params.model_dump()
    assert manifest["inputs"] == {
        "tokens": sha256(data / "tokens" / MANIFEST),
        "tokenizer": sha256(data / "tokenizer" / MANIFEST),
    }
    assert max(len(ids) for ids in read_premasked(data / "out").input_ids) <= params.max_seq_length


def test_the_same_input_gives_the_same_bytes_and_another_seed_others(data):
    hashes = []
    for seed in (0, 0, 1):
        params = tiny_params({"premask.seed": seed}).premask
        premask(params, data / "tokens", data / "tokenizer", data / "out")
        hashes.append(sha256(data / "out" / PREMASKED))
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_set_that_is_damaged_or_incomplete_is_told(data):
    with pytest.raises(UserError, match=r"out is incomplete .*run `dvc repro premask`"):
        read_premasked(data / "out")
    premask(tiny_params().premask, data / "tokens", data / "tokenizer", data / "out")
    path = data / "out" / PREMASKED
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"premasked.arrow is not what premask wrote .*run `dvc repro premask`"):
        read_premasked(data / "out")
