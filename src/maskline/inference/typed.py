"""From what is typed on a command line to tokens."""

from tokenizers import Encoding

from maskline.core.errors import UserError
from maskline.tokenization.load import LoadedTokenizer


def has_half_character(text: str) -> bool:
    """Return whether a text has half of a surrogate pair, which no encoding can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def encode_typed(tokenizer: LoadedTokenizer, longest: int, text: str, second: str | None = None) -> Encoding:
    """Return [CLS] text [SEP], or [CLS] text [SEP] second [SEP], as typed on a command line; [MASK] in it is the token.

    Raises:
        UserError: a text has no token, they are more than `longest`, or a text came as bytes that are not UTF-8.
    """
    if has_half_character(text + (second or "")):
        raise UserError("the text is not UTF-8: check the encoding of the terminal")
    encoding = tokenizer.backend.encode(text, second)
    if len(encoding.ids) > longest:
        subject = "text has" if second is None else "pair has"
        raise UserError(f"the {subject} {len(encoding.ids)} tokens and the model reads at most {longest}: shorten it")
    for number, name in enumerate(["text"] if second is None else ["first text", "second text"]):
        if number not in encoding.sequence_ids:
            raise UserError(f'the {name} has no token: give one, as in "a crane is flying"')
    return encoding
