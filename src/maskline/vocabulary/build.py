"""Build the tokenizer that params.yaml describes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.special import KINDS
from maskline.vocabulary import word, wordpiece
from maskline.vocabulary.extend import extended
from maskline.vocabulary.pretrained import load_pretrained
from maskline.vocabulary.settings import TokenizerParams


@dataclass(frozen=True)
class Built:
    """A tokenizer, and what is saved with it."""

    tokenizer: LoadedTokenizer
    provenance: Mapping[str, Any]
    settings: Mapping[str, Any] | None
    """Settings of a pretrained tokenizer for tokenizer_config.json; None for one that was learned here."""
    before: LoadedTokenizer | None = None
    """The tokenizer that pieces were added to; None: none were."""


def build(texts: Callable[[], Iterable[str]], params: TokenizerParams, language: str) -> Built:
    """Return the tokenizer of kind `params.kind`; a vocabulary is learned from `texts()`, which may be called twice.

    To a pretrained one, pieces of the texts are added where `params.extend` says so.

    Raises:
        UserError: a vocabulary cannot be learned from the texts, or the pretrained tokenizer cannot be used.
    """
    if params.kind == "pretrained":
        backend, settings = load_pretrained(params.pretrained)
        special = [settings[f"{kind}_token"] for kind in KINDS]
        given = {"pretrained": params.pretrained.model_dump()}
        if not params.extend.pieces:
            return Built(LoadedTokenizer(backend, special), given, settings)
        longer, added = extended(backend, texts(), params.extend)
        provenance = given | {"extended": {**params.extend.model_dump(), "added": len(added)}}
        return Built(LoadedTokenizer(longer, special), provenance, settings, LoadedTokenizer(backend, special))
    train = {"wordpiece": wordpiece.train, "word": word.train}[params.kind]
    return Built(LoadedTokenizer(train(texts, params, language)), {"language": language}, None)
