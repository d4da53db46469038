"""Where sentences end, against sentencex and ICU alone: F1 of whole sentences on texts that people have split.

A line of the gold is `1 or 0 TAB sentence`, where 1 says that a space follows; a blank line ends a paragraph. That of
Indonesian joins sentences behind short names, as whoever made it took those for abbreviations (LOG.md).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Row, Series
from maskline.sentences.splitter import split_sentences

GOLD = Path("../shared/data/sentences")
SUBJECT = "sentences"
ABSENT = f"not measured: {GOLD} is not there"

Splitter = Callable[[str, str], Sequence[str]]
"""Text, language -> its sentences."""


def rows() -> list[Row]:
    """Score each splitter on the gold of each language; ours should be at least as good as any."""
    paths = sorted(GOLD.glob("*.tsv"))
    if not paths:
        return [Row(SUBJECT, peer, None, 1.0, note=ABSENT) for peer in ("sentencex", "ICU")]
    found = []
    for path in paths:
        paragraphs = list(read_gold(path))
        scores = {name: sentence_f1(paragraphs, split, path.stem) for name, split in splitters().items()}
        ours = Series("ours", "F1", (scores.pop("ours"),))
        for peer, score in scores.items():
            theirs = Series(peer, "F1", (score,))
            found.append(Row(f"{SUBJECT}: {path.stem}", peer, ours.median / score, 1.0, series=(ours, theirs)))
    return found


def splitters() -> dict[str, Splitter]:
    """Return maskline's splitter and its peers by name."""
    import sentencex
    from icu4py.breakers import SentenceBreaker

    return {
        "ours": split_sentences,
        "sentencex": lambda text, language: list(sentencex.segment(language, text)),
        "ICU": lambda text, language: list(SentenceBreaker(text, language)),
    }


def read_gold(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each paragraph of a file, and its sentences."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        pairs = [line.split("\t", 1) for line in block.split("\n") if line]
        if pairs:
            text = "".join(sentence + " " * (space == "1") for space, sentence in pairs)
            yield text.strip(), [sentence for _, sentence in pairs]


def sentence_f1(paragraphs: Sequence[tuple[str, list[str]]], split: Splitter, language: str) -> float:
    """Return the F1 of whole sentences; one is found where both of its ends are, whitespace aside."""
    both = expected = got = 0
    for text, sentences in paragraphs:
        gold, found = spans(sentences), spans(split(text, language))
        both += len(gold & found)
        expected += len(gold)
        got += len(found)
    return 2 * both / (expected + got)


def spans(sentences: Sequence[str]) -> set[tuple[int, int]]:
    """Return the first character and the end of each sentence, counted without whitespace."""
    found = set()
    end = 0
    for sentence in sentences:
        start, end = end, end + len("".join(sentence.split()))
        if end > start:
            found.add((start, end))
    return found
