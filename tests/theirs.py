"""A tokenizer as others write them: a cased WordPiece whose special tokens stand amid its pieces and at the end."""

import json

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

ODD = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
USUAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


def write_theirs(directory, tokens=USUAL, extra=(), never_split=(), **config):
    """Write a small one to a new `directory`, with `extra` pieces, and settings of tokenizer_config.json."""
    pieces = ["play", "##s", tokens["sep_token"], "the", tokens["unk_token"], "of", *extra, "games", "##ful", "!", "P"]
    pieces += ["##lay", tokens["cls_token"], tokens["pad_token"], tokens["mask_token"], "中", "文"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=tokens["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(tokens[name], vocabulary[tokens[name]]) for name in ("sep_token", "cls_token")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.add_special_tokens(list(tokens.values()))
    tokenizer.enable_truncation(7)
    tokenizer.enable_padding()
    directory.mkdir()
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 60, **tokens, **config}
    settings |= {"never_split": list(never_split)} if never_split else {}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    return directory
