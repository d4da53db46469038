from maskline.tasks.classification import encode_texts
from maskline.tokenization.load import load_tokenizer
from tests.tiny import SPECIAL, write_tokenizer


def test_what_is_cut_and_what_is_unknown_is_counted(tmp_path):
    encoded = encode_texts(
        ["w5 @ w6", "w7", "w8 w9 w10 @ @"], load_tokenizer(write_tokenizer(tmp_path / "tokenizer")), 5
    )
    cls, sep, unk = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk
    assert [ids.tolist() for ids in encoded.input_ids] == [
        [cls, 5, unk, 6, sep], [cls, 7, sep], [cls, 8, 9, 10, sep],
    ]  # fmt: skip
    assert encoded.cut == 1
    assert encoded.unk_rate == 1 / 7  # of what is read
    assert encode_texts([], load_tokenizer(tmp_path / "tokenizer"), 5).unk_rate == 0
