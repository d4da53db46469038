"""Questions about texts, and a tokenizer that reads letters and knows some words."""

import json
import string

from maskline.dataset.write import write_dataset
from maskline.settings.files import read_yaml
from maskline.tasks.spans.examples import Examples
from maskline.tasks.spans.windows import encode_windows
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import from_vocabulary
from tests.project import ROOT
from tests.tasks.small import parameters
from tests.tiny import tokenizer_params

FILE = read_yaml(ROOT / "tasks" / "tydiqa.yaml")
RECIPE = {
    "qa:finetune.text_epochs": 0,
    "qa:finetune.max_question_tokens": 4,
    "qa:finetune.stride": 3,
    "qa:finetune.max_answer_tokens": 5,
}
LETTERS = (
    string.ascii_lowercase + string.digits + ".,()é" + "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةآأإ" + "\u064b\u064e\u064f\u0651"
)
PIECES = list(dict.fromkeys([*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))


def params(changes=None):
    """Return parameters with one task, `qa`; a key such as `qa:dataset.language` is one of its file."""
    return parameters("qa", "spans", FILE, {"qa:dataset.id_prefix": "", **RECIPE, **(changes or {})})


def dataset(**changes):
    """Return the section `dataset` of the task."""
    return params({f"qa:dataset.{key}": value for key, value in changes.items()}).task("qa").dataset


def write(directory, *paths, **changes):
    """Write the task `qa` of the files `paths` to `directory`; return its manifest."""
    fractions = {"validation_fraction": 0.3, "test_fraction": 0.3}
    files = {"source": "files", "files.paths": [str(path) for path in paths]}
    return write_dataset(directory, "qa", dataset(**(files | fractions | changes)), Examples())


def record(context, question, *answers, **more):
    """Return a question with the columns of the hub; each of `answers` is a text, or a text and where it begins."""
    pairs = [(one, context.index(one)) if isinstance(one, str) else one for one in answers]
    texts, starts = ([pair[n] for pair in pairs] for n in (0, 1))
    return {"question": question, "context": context, "answers": {"text": texts, "answer_start": starts}, **more}


def write_records(path, records):
    """Write records as JSON lines; return the path."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def squad(records):
    """Return records as a document in SQuAD's format, a paragraph for each."""
    articles = []
    for one in records:
        answers = [
            {"text": text, "answer_start": start}
            for text, start in zip(one["answers"]["text"], one["answers"]["answer_start"], strict=True)
        ]
        more = {key: value for key, value in one.items() if key in {"id", "is_impossible"}}
        question = {"question": one["question"], "answers": answers, **more}
        articles.append({"title": "T", "paragraphs": [{"context": one["context"], "qas": [question]}]})
    return {"version": "1.1", "data": articles}


def columns(*records):
    """Return records as the columns of a split."""
    return {
        "question": [one["question"] for one in records],
        "context": [one["context"] for one in records],
        "answers": [one["answers"]["text"] for one in records],
        "starts": [one["answers"]["answer_start"] for one in records],
    }


def write_letters(directory, language="en"):
    """Write a tokenizer of PIECES, whose ids their places are."""
    chosen = tokenizer_params()
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    save(from_vocabulary(vocabulary, normalizer(chosen, language)), directory, chosen, {})
    return directory


def windows(questions, contexts, tokenizer, max_seq_length=12, max_question_tokens=4, stride=3):
    """Return questions in windows."""
    return encode_windows(
        questions,
        contexts,
        tokenizer,
        max_seq_length=max_seq_length,
        max_question_tokens=max_question_tokens,
        stride=stride,
    )
