import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.dataset.read import read_dataset
from maskline.tasks.spans import squad as module
from maskline.tasks.spans.squad import read_squad
from tests.tasks.spans.asked import params, record, squad, write, write_records

SHARED = Path("../shared/data")
QUESTIONS = [
    record(f"The number of house {n} is {n * n}.", f"Which number has house {n}?", f"{n * n}") for n in range(40)
]


def everything(directory):
    """Return all questions with their contexts and answers, sorted."""
    splits = read_dataset(directory, "qa").splits.values()
    names = ("question", "context", "answers", "starts")
    return sorted(row for split in splits for row in zip(*(split[name] for name in names), strict=True))


def as_rows(records):
    return sorted(
        (one["question"], one["context"], one["answers"]["text"], one["answers"]["answer_start"]) for one in records
    )


def write_json(path, document):
    path.write_text(json.dumps(document))
    return path


def test_every_format_gives_the_same_questions(tmp_path):
    write_records(tmp_path / "a.jsonl", QUESTIONS)
    pq.write_table(pa.Table.from_pylist(QUESTIONS), tmp_path / "a.parquet")
    write_json(tmp_path / "a.json", squad(QUESTIONS))
    for name in ("json", "jsonl"):
        (tmp_path / f"b.{name}.gz").write_bytes(gzip.compress((tmp_path / f"a.{name}").read_bytes()))
    pairs = [
        one | {"answers": [{"text": one["answers"]["text"][0], "answer_start": one["answers"]["answer_start"][0]}]}
        for one in QUESTIONS
    ]
    write_records(tmp_path / "pairs.jsonl", pairs)
    for name in ("a.jsonl", "a.parquet", "a.json", "b.json.gz", "b.jsonl.gz", "pairs.jsonl"):
        manifest = write(tmp_path / "qa", tmp_path / name)
        assert everything(tmp_path / "qa") == as_rows(QUESTIONS), name
        assert manifest["read"] == manifest["examples"] == 40
    assert manifest["language"] == "en"
    assert manifest["dropped"] == {
        "other_id": 0, "empty": 0, "offset_mismatch": 0, "mismatched_answer": 0, "duplicate": 0, "conflicting_label": 0,
    }  # fmt: skip


def test_hub_has_these_columns(tmp_path):
    datasets = pytest.importorskip("datasets")
    answers = datasets.Sequence({"text": datasets.Value("string"), "answer_start": datasets.Value("int32")})
    features = {
        "id": datasets.Value("string"),
        "question": datasets.Value("string"),
        "context": datasets.Value("string"),
    }
    rows = [one | {"id": str(number)} for number, one in enumerate(QUESTIONS)]
    made = datasets.Dataset.from_list(rows, features=datasets.Features(features | {"answers": answers}))
    made.to_parquet(tmp_path / "hub" / "train.parquet")
    hub = {"dataset": str(tmp_path / "hub"), "config": None, "revision": "main"}
    write(tmp_path / "qa", source="hub", hub=hub)
    assert everything(tmp_path / "qa") == as_rows(QUESTIONS)


def test_questions_without_an_answer_are_kept_and_counted(tmp_path):
    none = [record(f"A garden {n}.", "Where?") for n in range(9)]
    impossible = record("A garden.", "When?", "garden", is_impossible=True)  # what is plausible is no answer
    possible = record("A garden.", "What?", "garden", is_impossible=False)
    for path in (
        write_records(tmp_path / "a.jsonl", [*QUESTIONS, *none, impossible, possible]),
        write_json(tmp_path / "a.json", squad([*QUESTIONS, *none, impossible, possible])),
    ):
        manifest = write(tmp_path / "qa", path)
        assert sum(split["no_answer"] for split in manifest["splits"].values()) == 10
        assert manifest["examples"] == 51
        rows = {row[0]: row[2:] for row in everything(tmp_path / "qa")}
        assert rows["When?"] == ([], [])
        assert rows["What?"] == (["garden"], [2])


def test_answers_stand_where_they_are_said_to_or_are_left_out_and_counted(tmp_path):
    context = "Ann saw Ann. مُحَمَّد 😀 Lee"
    kept = record(context, "who?", ("Ann", 8), ("Ann", 1), ("Lee", context.index("Lee")))
    wrong = [
        record(context, "a?", ("Ann", 1)),  # which stands elsewhere: not guessed
        record(context, "b?", ("Le", -3)),  # which Python would count from the end
        record(context, "c?", ("Ann", 10**12)),
        record(context, "d?", ("ann", 0)),
        record(context, "e?", ("Lee ", context.index("Lee"))),  # beyond the end
        record(context, "f?", ("محمد", context.index("م"))),  # without its marks
    ]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", [*QUESTIONS, kept, *wrong]))
    assert manifest["dropped"]["offset_mismatch"] == 6
    assert manifest["dropped"]["mismatched_answer"] == 1
    assert ("who?", context, ["Ann", "Lee"], [8, context.index("Lee")]) in everything(tmp_path / "qa")
    assert manifest["examples"] == 41


def test_what_is_empty_is_left_out_and_counted(tmp_path):
    empty = [
        record("", "why?"),
        record(" \n", "why?"),
        record("text", ""),
        record("text", "\u200b "),
        record("text", "why?", ("", 0)),
        record("a text", "why?", (" ", 1)),
        {"question": None, "context": "text", "answers": {"text": [], "answer_start": []}},
    ]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", [*QUESTIONS, *empty]))
    assert manifest["dropped"]["empty"] == 7
    assert manifest["examples"] == 40


def test_a_blank_answer_beside_another_goes(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [*QUESTIONS, record("a text", "why?", (" ", 1), "text")])
    write(tmp_path / "qa", path)
    assert ("why?", "a text", ["text"], [2]) in everything(tmp_path / "qa")


def test_copies_are_dropped_and_those_that_disagree(tmp_path):
    context = "Ann and Lee."
    extra = [
        record(context, "who?", "Ann"),
        record(context, "who?", "Ann"),
        record(context, "\u200bwho?  ", "Ann"),  # equal once it is cleaned
        record("Ann and  Lee.", "who?", "Ann"),
        record(context, "Who?", "Ann"),  # another one
        record(context, "and who?", "Ann"),
        record(context, "and who?", "Lee"),
    ]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", [*QUESTIONS, *extra]))
    assert manifest["dropped"]["duplicate"] == 3
    assert manifest["dropped"]["conflicting_label"] == 2
    assert manifest["examples"] == 42


def test_no_context_is_in_two_splits(tmp_path):
    records = [record(f"House {n} is red.", f"{q} {n}?", "red") for n in range(30) for q in ("Is", "What", "How")]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", records))
    contexts = {name: set(split["context"]) for name, split in read_dataset(tmp_path / "qa", "qa").splits.items()}
    assert sum(map(len, contexts.values())) == len(set.union(*contexts.values())) == 30
    assert {name: len(found) for name, found in contexts.items()} == {
        name: split["contexts"] for name, split in manifest["splits"].items()
    }
    assert all(split["examples"] == 3 * split["contexts"] for split in manifest["splits"].values())


def test_a_given_split_stays_whole_and_training_asks_nothing_about_its_contexts(tmp_path):
    test = [record(QUESTIONS[0]["context"], "another?", "house"), QUESTIONS[1], QUESTIONS[1]]
    held = str(write_records(tmp_path / "b.jsonl", test))
    train = [*QUESTIONS, record(QUESTIONS[1]["context"], "else?", "house")]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", train), **{"files.test_paths": [held]})
    splits = read_dataset(tmp_path / "qa", "qa").splits
    assert splits["test"]["question"] == [one["question"] for one in test]
    assert manifest["dropped"]["duplicate"] == 1
    assert manifest["dropped"]["near_held_out"] == 2
    assert not set(splits["test"]["context"]) & {*splits["train"]["context"], *splits["validation"]["context"]}


def test_ids_are_those_of_the_source_and_a_prefix_chooses(tmp_path):
    rows = [one | {"id": f"{'english' if n % 2 else 'finnish'}-{n}"} for n, one in enumerate(QUESTIONS)]
    manifest = write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", rows), id_prefix="english-")
    assert manifest["dropped"]["other_id"] == 20
    ids = {name for split in read_dataset(tmp_path / "qa", "qa").splits.values() for name in split["id"]}
    assert ids == {f"english-{n}" for n in range(1, 40, 2)}


def test_a_context_is_kept_as_it_is_and_a_question_is_cleaned(tmp_path):
    odd = "a\u200b\r\n ﬁ e\u0301 \ud800 مـ x"
    given = record(odd, " what\n is\u00a0it? ", "مـ", ("\ud800", odd.index("\ud800")))
    write(tmp_path / "qa", write_records(tmp_path / "a.jsonl", [*QUESTIONS, given]))
    kept = odd.replace("\ud800", "\ufffd")
    assert ("what is it?", kept, ["مـ", "\ufffd"], [kept.index("م"), kept.index("\ufffd")]) in everything(
        tmp_path / "qa"
    )


def without(key, **more):
    return {name: value for name, value in (QUESTIONS[0] | more).items() if name != key}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (without("question"), r"a.jsonl has no column question: it has context, answers$"),
        (without("context"), r"a.jsonl has no column context: it has question, answers$"),
        (without("answers"), r"a.jsonl has no column answers: it has question, context$"),
        (QUESTIONS[0] | {"context": ["x"]}, r"a.jsonl: column context holds list, not text: name another$"),
        (QUESTIONS[0] | {"answers": "x"}, r"a.jsonl: column answers holds str, no list of answers: correct it$"),
        (QUESTIONS[0] | {"answers": ["x"]}, r"a.jsonl: column answers holds list, no list of answers: correct it$"),
        (
            QUESTIONS[0] | {"answers": {"text": ["x"], "answer_start": []}},
            r"a.jsonl: answers are not a text and an answer_start each, but .*: correct it$",
        ),
        (QUESTIONS[0] | {"answers": {"text": "x"}}, r"a.jsonl: answers are not a text and an answer_start each, but "),
        (
            QUESTIONS[0] | {"answers": [{"text": "x", "answer_start": "1"}]},
            r"a.jsonl: an answer has the text 'x' and the answer_start '1': give a text and a whole number$",
        ),
        (QUESTIONS[0] | {"answers": [{"text": "x"}]}, r"the text 'x' and the answer_start None: "),
        (QUESTIONS[0] | {"answers": [{"answer_start": 3}]}, r"the text None and the answer_start 3: "),
    ],
)
def test_a_record_that_is_not_what_it_should_be_names_the_file(tmp_path, row, message):
    path = write_records(tmp_path / "a.jsonl", [*QUESTIONS, row])
    with pytest.raises(UserError, match=message) as error:
        write(tmp_path / "qa", path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "qa").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"a.json is not valid JSON \(.*\): correct it, or name it as what it is$"),
        ("[" * 100_000, r"a.json is not valid JSON \("),
        ("[]", r"a.json is not in the format of SQuAD: it begins with no object"),
        ("{}", r"a.json has no data: it has nothing$"),
        ('{"version": 1}', r"a.json has no data: it has version$"),
        ('{"data": 1}', r"a.json: data is int, no list: correct it$"),
        ('{"data": ["x"]}', r"a.json: data\[0\] is str, no object: correct it$"),
        ('{"data": [{"title": "x"}]}', r"a.json: data\[0\] has no paragraphs: it has title$"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"a.json: data\[0\].paragraphs\[0\] has no context: it has qas$"),
        (
            '{"data": [{"paragraphs": []}, {"paragraphs": [{"context": "x", "qas": [{"question": "y"}]}]}]}',
            r"a.json: data\[1\].paragraphs\[0\].qas\[0\] has no answers: it has question$",
        ),
        ('{"data": [{"paragraphs": [{"context": 1, "qas": {}}]}]}', r"paragraphs\[0\]: qas is dict, no list"),
        (
            '{"data": [{"paragraphs": [{"context": [1], "qas": [{"question": "y", "answers": []}]}]}]}',
            "context holds list",
        ),
    ],
)
def test_a_document_that_is_not_as_squad_names_the_place(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(UserError, match=message) as error:
        write(tmp_path / "qa", tmp_path / "a.json")
    assert "\n" not in str(error.value)


def test_a_document_has_a_largest_size_and_an_encoding(tmp_path, monkeypatch):
    path = write_json(tmp_path / "a.json", squad(QUESTIONS[:1]))
    size = path.stat().st_size
    monkeypatch.setattr(module, "LARGEST", size)
    assert len(list(read_squad(path))) == 1
    monkeypatch.setattr(module, "LARGEST", size - 1)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    for one in (path, tmp_path / "b.json.gz"):
        with pytest.raises(UserError, match=rf"has more than {size - 1} bytes: cut it into several files"):
            list(read_squad(one))
    monkeypatch.undo()
    path.write_bytes("\ufeff".encode() + path.read_bytes())
    assert len(list(read_squad(path))) == 1
    path.write_bytes(json.dumps(squad([record("café", "é?", "café")]), ensure_ascii=False).encode("latin-1"))
    assert next(read_squad(path, "latin-1"))["context"] == "café"
    with pytest.raises(UserError, match=r"a.json is not utf-8 \(.*\): convert it, or name its encoding$"):
        list(read_squad(path))
    with pytest.raises(UserError, match=r"a.json is not klingon"):
        list(read_squad(path, "klingon"))
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(UserError, match=r"c.json.gz is not a complete gzip file"):
        list(read_squad(tmp_path / "c.json.gz"))


def test_without_any_answer_there_is_nothing_to_learn(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [record(f"Text {n}.", "why?") for n in range(30)])
    with pytest.raises(UserError, match=r"^tasks/qa.yaml: dataset: no training question has an answer; add some"):
        write(tmp_path / "qa", path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"qa:finetune.max_question_tokens": 9},
            "finetune: finetune.max_question_tokens 9 leaves no room for a context in max_seq_length 12",
        ),
        ({"qa:finetune.stride": 0}, "finetune.stride is 0"),
        ({"qa:finetune.max_answer_tokens": 0}, "finetune.max_answer_tokens is 0"),
        ({"qa:dataset.language": "english!"}, "dataset.language is 'english!'"),
        ({"qa:dataset.text_column": "text"}, "unknown key dataset.text_column"),
    ],
)
def test_a_mistake_in_the_settings_names_the_file_and_the_key(changes, message):
    with pytest.raises(UserError, match=f"^tasks/qa.yaml: {message}") as error:
        params(changes)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared questions of TyDi QA and ARCD are not here")
@pytest.mark.parametrize(
    ("train", "test", "prefix", "counts"),
    [
        ("qa_tydi/en-train", "qa_tydi/en-dev", "english-", {"read": 4136, "test": 440, "mismatch": 0, "near": 0}),
        ("qa_ar/arcd-train", "qa_ar/arcd-test", "", {"read": 1395, "test": 699, "mismatch": 6, "near": 15}),
    ],
)
def test_tydiqa_and_arcd(tmp_path, train, test, prefix, counts):
    held = [str(SHARED / f"{test}.json.gz")]
    changes = {"files.test_paths": held, "id_prefix": prefix, "validation_fraction": 0.1}
    manifest = write(tmp_path / "qa", SHARED / f"{train}.json.gz", **changes)
    assert {
        "read": manifest["read"],
        "test": manifest["splits"]["test"]["examples"],
        "mismatch": manifest["dropped"]["offset_mismatch"],
        "near": manifest["dropped"].get("near_held_out", 0),
    } == counts
    assert manifest["examples"] == counts["read"] - counts["mismatch"] - counts["near"]
