"""From articles to token shards, on all cores and in bounded memory."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.processes import in_order
from maskline.core.storage import fresh_directory
from maskline.corpus.articles import Article
from maskline.sentences.splitter import split_sentences
from maskline.shards.store import ShardWriter, TokenShards, id_dtype
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import load_tokenizer

BATCH_CHARACTERS = 1 << 18
"""Characters of the articles that a process is given at once."""


@dataclass(frozen=True)
class TokenizedArticles:
    """A articles, in order, as S sentences of N tokens in all."""

    ids: list[str]
    tokens: NDArray[np.unsignedinteger]
    """(N,) token ids of all sentences."""
    lengths: NDArray[np.int32]
    """(S,) tokens of each sentence, none of them 0."""
    sentences: NDArray[np.int64]
    """(A,) sentences of each article; may be 0."""
    dropped_sentences: int
    """Sentences left out because they hold no token."""

    def documents(self) -> Iterator[tuple[str, NDArray[np.unsignedinteger], NDArray[np.int32]]]:
        """Return the id, the tokens and the sentence lengths of each article; the last two may be empty."""
        sentence_ends = np.cumsum(self.sentences)
        token_ends = np.cumsum([0, *self.lengths])[sentence_ends]
        lengths = np.split(self.lengths, sentence_ends[:-1])
        return zip(self.ids, np.split(self.tokens, token_ends[:-1]), lengths, strict=True)


class ArticleTokenizer:
    """Cut articles into sentences of token ids."""

    def __init__(self, tokenizer: Path, language: str) -> None:
        loaded = load_tokenizer(tokenizer)
        self._chunks = ChunkEncoder(loaded.backend, id_dtype(loaded.vocab_size))
        self._language = language

    def tokenize(self, articles: list[Article]) -> TokenizedArticles:
        """Return `articles` as sentences of ids, without special tokens."""
        split = [split_sentences(article.text, self._language) for article in articles]
        tokens, lengths = self._chunks.encode([sentence for sentences in split for sentence in sentences])
        article = np.repeat(np.arange(len(articles)), [len(sentences) for sentences in split])
        full = lengths > 0
        return TokenizedArticles(
            ids=[article.id for article in articles],
            tokens=tokens,
            lengths=lengths[full],
            sentences=np.bincount(article[full], minlength=len(articles)),
            dropped_sentences=int(np.count_nonzero(~full)),
        )


def write_tokens(
    directory: Path,
    articles: Iterable[Article],
    tokenizer: Path,
    *,
    language: str,
    shard_tokens: int,
    workers: int,
    provenance: dict[str, Any],
) -> dict[str, Any]:
    """Write the tokens of `articles` as shards to a new `directory`; return counts and rates of them.

    The files are the same for any number of `workers` (processes; 0: one per core). Sentences without a token and
    documents without a sentence are left out and counted.

    Raises:
        UserError: the tokenizer is incomplete, or a process was killed.
    """
    loaded = load_tokenizer(tokenizer)
    vocab_size, unknown = loaded.vocab_size, loaded.special.unk
    del loaded  # frees memory: the processes that tokenize load their own
    fresh_directory(directory)
    with ShardWriter(directory, vocab_size, shard_tokens, {"language": language, **provenance}) as writer:
        counts = writer.counts
        counts.update(unknown=0, dropped_documents=0, dropped_sentences=0)
        for batch in _tokenized(_batches(articles), tokenizer, language, workers or os.cpu_count() or 1):
            for document, tokens, lengths in batch.documents():
                if len(lengths):
                    writer.add(document, tokens, lengths)
                else:
                    counts["dropped_documents"] += 1
            counts["dropped_sentences"] += batch.dropped_sentences
            counts["unknown"] += int(np.count_nonzero(batch.tokens == unknown))
    return counts | {
        "sentences_per_document": counts["sentences"] / max(counts["documents"], 1),
        "one_sentence_share": counts["one_sentence_documents"] / max(counts["documents"], 1),
        "tokens_per_sentence": counts["tokens"] / max(counts["sentences"], 1),
        "unk_rate": counts["unknown"] / max(counts["tokens"], 1),
    }


def sentence_histogram(directory: Path) -> list[int]:
    """Return how many documents in `directory` have 1 sentence, 2 to 3, 4 to 7, and so on.

    Raises:
        UserError: `directory` is not what `write_tokens` wrote, or is empty.
    """
    sentences = np.concatenate([np.diff(shard.document_offsets) for shard in TokenShards(directory)])
    histogram: list[int] = np.bincount(np.frexp(sentences)[1] - 1).tolist()
    return histogram


def _batches(articles: Iterable[Article]) -> Iterator[list[Article]]:
    """Yield the articles in batches that do not depend on the number of processes."""
    batch: list[Article] = []
    characters = 0
    for article in articles:
        batch.append(article)
        characters += len(article.text)
        if characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _tokenized(
    batches: Iterable[list[Article]], tokenizer: Path, language: str, workers: int
) -> Iterator[TokenizedArticles]:
    """Yield the tokenized batches in order; at most two for each process are in memory.

    Raises:
        UserError: a process was killed.
    """
    if workers == 1:
        yield from map(ArticleTokenizer(tokenizer, language).tokenize, batches)
        return
    work = partial(_tokenize, tokenizer, language)
    with closing(in_order(work, ([batch] for batch in batches), workers, ahead=2)) as results:
        for _, tokenized in results:
            if tokenized is None:
                raise UserError(
                    "a process that tokenizes was killed, most likely for want of memory: lower compute.workers"
                )
            yield tokenized


def _tokenize(tokenizer: Path, language: str, batch: list[Article]) -> TokenizedArticles:
    return _article_tokenizer(tokenizer, language).tokenize(batch)


@cache
def _article_tokenizer(tokenizer: Path, language: str) -> ArticleTokenizer:
    """Return the tokenizer of this process."""
    return ArticleTokenizer(tokenizer, language)
