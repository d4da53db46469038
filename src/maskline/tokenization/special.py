"""The special tokens of BERT, and their places around a text."""

from tokenizers import Tokenizer, processors

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""In a vocabulary that maskline learns, their ids are 0 to 4, in this order."""
KINDS = ("pad", "unk", "cls", "sep", "mask")
"""Their names in `transformers`, in the same order."""


def add_special_tokens(tokenizer: Tokenizer) -> None:
    """Make `tokenizer` add special tokens as BERT does: [CLS] a [SEP], or [CLS] a [SEP] b [SEP].

    Its vocabulary must contain SPECIAL_TOKENS.
    """
    vocabulary = tokenizer.get_vocab()
    separator, classifier = ((token, vocabulary[token]) for token in ("[SEP]", "[CLS]"))
    tokenizer.post_processor = processors.BertProcessing(separator, classifier)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
