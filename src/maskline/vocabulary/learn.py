"""The stage `tokenizer`: a vocabulary from the train split, or one that exists, measured on the validation split."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from maskline.core.storage import MANIFEST, read_manifest, sha256, write_json
from maskline.corpus.articles import read_articles
from maskline.corpus.excerpt import sample_lines
from maskline.vocabulary.build import build
from maskline.vocabulary.pretrained import check_segmented
from maskline.vocabulary.quality import check_quality, measure
from maskline.vocabulary.save import save, shape_file
from maskline.vocabulary.settings import TokenizerParams


def learn(
    settings: TokenizerParams, language: str, corpus: Path, tokenizer: Path, report: Path, init_from: Path | None = None
) -> dict[str, Any]:
    """Write the tokenizer of `settings` to a new directory `tokenizer`; return how the validation split looks in it.

    The same numbers go to `report`/metrics.json; where pieces were added, those of the tokenizer without them as well.
    Beside the tokenizer lies the config of the model to go on from, `init_from`, so that tasks know its shape.

    Raises:
        UserError: the corpus or the pretrained tokenizer does not serve, or the numbers are beyond their limits.
    """
    share = min(1.0, settings.sample_characters / read_manifest(corpus, "fetch")["splits"]["train"]["characters"])

    def texts() -> Iterator[str]:
        return sample_lines(read_articles(corpus, "train"), share)

    def held_out() -> Iterator[str]:
        return (article.text for article in read_articles(corpus, "validation"))

    built = build(texts, settings, language)
    if settings.kind == "pretrained" and settings.pretrained.segmented:
        check_segmented(held_out())
    metrics = measure(built.tokenizer, held_out())
    if settings.kind != "pretrained" or built.before:
        metrics["train_share"] = share
    if built.before:
        metrics |= {"added": built.provenance["extended"]["added"], "before": measure(built.before, held_out())}
    write_json(report / "metrics.json", metrics)
    check_quality(metrics, settings, language)
    provenance = {**built.provenance, "corpus": sha256(corpus / MANIFEST)}
    shape = shape_file(init_from, built.tokenizer.vocab_size) if init_from else {}
    save(built.tokenizer.backend, tokenizer, settings, provenance, built.settings, shape)
    return metrics
