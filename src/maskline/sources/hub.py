"""Articles of a dataset on the Hugging Face hub, or of a local directory laid out as one."""

from collections.abc import Iterator
from itertools import islice

from maskline.core.errors import UserError
from maskline.corpus.articles import Article, Source
from maskline.records.hub import open_dataset, stream
from maskline.sources.files import articles_of
from maskline.sources.settings import CorpusParams


def read(params: CorpusParams) -> Source:
    """Return the first `max_articles` articles of the train split, and all of `validation_split`, which is held out.

    Raises:
        UserError: the hub cannot be reached, has no such dataset or split, or (while the articles are read) it breaks
            off.
    """
    hub = params.hub
    dataset = open_dataset(hub, "corpus")
    if "train" not in dataset.splits:
        raise UserError(f"{hub.dataset} has no split train, only {', '.join(dataset.splits)}: choose another dataset")
    others = sorted(dataset.splits.keys() - {"train"})
    if hub.validation_split is not None and hub.validation_split not in others:
        raise UserError(
            f"corpus.hub.validation_split is {hub.validation_split}: beside train, {hub.dataset} has "
            f"{', '.join(others) or 'no split'}; choose one of them, or null to hold out a part of train"
        )

    def articles(split: str) -> Iterator[Article]:
        return articles_of(stream(dataset.splits[split], hub.dataset, "corpus"), hub.dataset, params.layout)

    return Source(
        islice(articles("train"), hub.max_articles),
        provenance={
            "language": params.language,
            **dataset.provenance,
            "layout": params.layout,
            "validation_split": hub.validation_split,
            "max_articles": hub.max_articles,
        },
        licence=dataset.licence,
        held_out=articles(hub.validation_split) if hub.validation_split else None,
    )
