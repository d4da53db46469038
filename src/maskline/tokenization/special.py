"""The special tokens of BERT, and where they stand around a text."""

from tokenizers import Tokenizer, processors

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Their ids are their places here, 0 to 4, where maskline learns the vocabulary."""
KINDS = ("pad", "unk", "cls", "sep", "mask")
"""What `transformers` calls them."""


def add_special_tokens(tokenizer: Tokenizer) -> None:
    """Give `tokenizer`, whose vocabulary has SPECIAL_TOKENS, BERT's layout: [CLS] a [SEP] or [CLS] a [SEP] b [SEP]."""
    vocabulary = tokenizer.get_vocab()
    separator, classifier = ((token, vocabulary[token]) for token in ("[SEP]", "[CLS]"))
    tokenizer.post_processor = processors.BertProcessing(separator, classifier)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
