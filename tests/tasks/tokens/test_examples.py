import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskline.core.errors import UserError
from maskline.dataset.read import read_dataset
from maskline.tasks.tokens import examples
from maskline.tasks.tokens.entities import SCHEMES, read_entities, spell
from maskline.tasks.tokens.examples import read_tagged_lines, tag_names
from tests.tasks.tokens.tagged import LABELS, params, write, write_sentences

NER, ANER = Path("../shared/data/ner_en"), Path("../shared/data/ner_ar")
SENTENCES = [([f"word{n}", "in", "Paris"], ["B-PER", "O", "B-LOC"]) for n in range(30)]


def everything(directory):
    """Return all sentences, with the names of their tags."""
    read = read_dataset(directory, "ner")
    labels = read.manifest["labels"]
    return [
        (words, [labels[tag] for tag in tags])
        for split in read.splits.values()
        for words, tags in zip(split["words"], split["tags"], strict=True)
    ]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.conll", "a.bio"])
@pytest.mark.parametrize(
    "content",
    [
        "Ann\tB-PER\nLee\tI-PER\n\nin\tO\nParis\tB-LOC\n\n",
        "Ann B-PER\nLee I-PER\n\nin O\nParis B-LOC\n",
        "\n\nAnn  B-PER\nLee  I-PER\n \n\t\n\nin O\nParis B-LOC",  # no end of line, and blanks in blank lines
        "Ann\tNNP\tx\tB-PER\nLee\tNNP\tx\tI-PER\n\nin\tIN\tx\tO\nParis\tNNP\tx\tB-LOC\n",
        "Ann NNP B-PER\r\nLee NNP I-PER\r\n\r\nin IN O\r\nParis NNP B-LOC\r\n",
        "\ufeffAnn\tB-PER \r\nLee\tI-PER\r\n\r\nin\tO\r\nParis\tB-LOC",
    ],
)
def test_lines_are_words_with_tags(tmp_path, name, content):
    expected = [
        {"words": ["Ann", "Lee"], "tags": ["B-PER", "I-PER"]},
        {"words": ["in", "Paris"], "tags": ["O", "B-LOC"]},
    ]
    (tmp_path / name).write_text(content, newline="")
    assert list(read_tagged_lines(tmp_path / name)) == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    assert list(read_tagged_lines(tmp_path / f"{name}.gz")) == expected


def test_between_tabs_a_word_may_have_spaces(tmp_path):
    (tmp_path / "a.tsv").write_text("New York\tB-LOC\n")
    assert list(read_tagged_lines(tmp_path / "a.tsv")) == [{"words": ["New York"], "tags": ["B-LOC"]}]


def test_a_file_without_blank_lines_is_no_endless_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(examples, "LONGEST_SENTENCE", 100)
    path = tmp_path / "a.tsv"
    path.write_text(("a\tO\n" * 24 + "\n") * 9)
    assert len(list(read_tagged_lines(path))) == 9
    path.write_text("a\tO\n" * 60 + "\n")
    with pytest.raises(
        UserError, match=r"a\.tsv, line 26: a sentence has more than 100 characters by here; put a blank"
    ):
        list(read_tagged_lines(path))


def test_an_empty_file_has_no_sentences(tmp_path):
    (tmp_path / "a.tsv").write_text("")
    assert list(read_tagged_lines(tmp_path / "a.tsv")) == []


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_of_one_column_is_named(tmp_path, suffix):
    content = b"Ann\tB-PER\n\nParis\n"
    path = tmp_path / f"a.tsv{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(UserError, match=rf"a.tsv{suffix}, line 3 has one column: a word and its tag are needed$") as e:
        write(tmp_path / "ner", path)
    assert "\n" not in str(e.value)
    assert not (tmp_path / "ner").exists()


def test_the_encoding_is_the_one_asked_for(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"caf\xe9\tO\n")
    assert list(read_tagged_lines(tmp_path / "a.tsv", "latin-1")) == [{"words": ["café"], "tags": ["O"]}]
    with pytest.raises(UserError, match=r"a.tsv is not utf-8"):
        write(tmp_path / "ner", tmp_path / "a.tsv")


def test_sentences_come_back_with_the_numbers_of_their_tags(tmp_path):
    manifest = write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", SENTENCES))
    assert manifest["labels"] == LABELS == tag_names(["LOC", "PER"])
    assert sorted(everything(tmp_path / "ner")) == sorted(SENTENCES)
    train = read_dataset(tmp_path / "ner", "ner").splits["train"]
    assert train["tags"] == [[3, 0, 1]] * len(train["words"])
    count = manifest["splits"]["train"]["examples"]
    assert manifest["splits"]["train"]["labels"] == {"O": count, "B-LOC": count, "I-LOC": 0, "B-PER": count, "I-PER": 0}
    assert manifest["dropped"] == {"missing": 0, "unknown_tag": 0, "empty": 0, "duplicate": 0, "conflicting_label": 0}
    assert manifest["unknown_tags"] == manifest["off_scheme_tags"] == {}
    assert (manifest["scheme"], manifest["first_off_scheme"]) == ("bio", None)
    assert manifest["read"] == manifest["examples"] == 30


def test_every_format_gives_the_same_sentences(tmp_path):
    write(tmp_path / "jsonl", write_sentences(tmp_path / "a.jsonl", SENTENCES))
    lines = ["".join(f"{word}\t{tag}\n" for word, tag in zip(*pair, strict=True)) for pair in SENTENCES]
    (tmp_path / "a.tsv").write_text("\n".join(lines))
    table = pa.Table.from_pylist([{"tokens": words, "ner_tags": tags} for words, tags in SENTENCES])
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    for name in ("a.tsv", "a.parquet", "b.jsonl.gz"):
        write(tmp_path / "ner", tmp_path / name)
        assert everything(tmp_path / "ner") == everything(tmp_path / "jsonl"), name


def test_the_columns_are_those_that_are_named(tmp_path):
    rows = [{"w": words, "t": tags, "tokens": 1} for words, tags in SENTENCES]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write(tmp_path / "ner", tmp_path / "a.jsonl", words_column="w", tags_column="t")
    assert sorted(everything(tmp_path / "ner")) == sorted(SENTENCES)


def test_the_prefix_is_no_part_of_a_word(tmp_path):
    lines = [f"en:Ann{n}\tB-PER\nen:en:x\tO\nplain\tO\nen:Paris\tB-LOC\n" for n in range(30)]
    (tmp_path / "a.tsv").write_text("\n".join(lines))
    write(tmp_path / "ner", tmp_path / "a.tsv", word_prefix="en:")
    assert sorted(words for words, _ in everything(tmp_path / "ner")) == sorted(
        [f"Ann{n}", "en:x", "plain", "Paris"] for n in range(30)
    )
    write(tmp_path / "ner", tmp_path / "a.tsv")
    assert all(words[0].startswith("en:Ann") for words, _ in everything(tmp_path / "ner"))


def test_words_are_cleaned_and_none_is_lost(tmp_path):
    odd = (["a\u200bb", "\u200b", "c\nd", "Paris"], ["O", "O", "O", "B-LOC"])
    write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", [*SENTENCES, odd]))
    assert (["a b", "", "c d", "Paris"], odd[1]) in everything(tmp_path / "ner")


def test_sentences_with_unknown_tags_are_left_out_and_all_is_counted(tmp_path):
    extra = [
        (["a", "b", "c"], ["B-MISC", "B-MISC", "I-MISC"]),
        (["d"], ["B-MISC"]),
        (["e", "f"], ["O", "X"]),
        (["word1", "in", "Paris"], ["B-PER", "O", "B-LOC"]),  # a copy
        (["word2", "in", "Paris"], ["B-PER", "O", "B-PER"]),  # a copy with other tags
        (["Word3", "in", "Paris"], ["O", "O", "B-LOC"]),  # no copy: case tells names
        ([], []),
        (["\u200b", ""], ["O", "O"]),
    ]
    manifest = write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", SENTENCES + extra))
    assert manifest["dropped"] == {"missing": 0, "unknown_tag": 3, "empty": 2, "duplicate": 1, "conflicting_label": 2}
    assert manifest["unknown_tags"] == {"B-MISC": 3, "I-MISC": 1, "X": 1}
    assert manifest["read"] == 38
    assert manifest["examples"] == 30
    found = [words for words, _ in everything(tmp_path / "ner")]
    assert ["Word3", "in", "Paris"] in found
    assert ["word2", "in", "Paris"] not in found


def test_a_split_of_the_source_is_held_out_whole(tmp_path):
    path = write_sentences(tmp_path / "a.jsonl", SENTENCES)
    held = [SENTENCES[4], SENTENCES[4], (["x", "y"], ["O", "O"])]
    test = str(write_sentences(tmp_path / "b.jsonl", held))
    manifest = write(tmp_path / "ner", path, **{"files.test_paths": [test]})
    split = read_dataset(tmp_path / "ner", "ner").splits["test"]
    assert split["words"] == [words for words, _ in held]
    assert manifest["dropped"]["duplicate"] == 1
    assert SENTENCES[4][0] not in read_dataset(tmp_path / "ner", "ner").splits["train"]["words"]
    assert manifest["test_fraction"] is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"tokens": ["a", "b"], "ner_tags": ["O"]}, r"a.jsonl, sentence 31 has 2 words and 1 tags: correct it$"),
        ({"tokens": [], "ner_tags": ["O"]}, r"a.jsonl, sentence 31 has 0 words and 1 tags"),
        ({"words": ["a"], "ner_tags": ["O"]}, r"a.jsonl has no column tokens: it has words, ner_tags$"),
        ({"tokens": ["a"], "tags": ["O"]}, r"a.jsonl has no column ner_tags: it has tokens, tags$"),
        ({"tokens": "a b", "ner_tags": ["O", "O"]}, r"a.jsonl: column tokens holds str, no list: name another$"),
        ({"tokens": ["a"], "ner_tags": None}, r"a.jsonl: column ner_tags holds NoneType, no list: name another$"),
    ],
)
def test_a_record_that_is_not_what_it_should_be_names_the_file(tmp_path, row, message):
    path = write_sentences(tmp_path / "a.jsonl", SENTENCES)
    path.write_text(path.read_text() + json.dumps(row) + "\n")
    with pytest.raises(UserError, match=message) as error:
        write(tmp_path / "ner", path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "ner").exists()


def test_a_type_that_never_occurs_lists_the_unknown_tags(tmp_path):
    path = write_sentences(tmp_path / "a.jsonl", [*SENTENCES, (["a"], ["B-MISC"]), (["b"], ["ORG"])])
    never = r"^tasks/ner.yaml: dataset.types: nothing is tagged as ORG; unknown tags are B-MISC, ORG$"
    with pytest.raises(UserError, match=never):
        write(tmp_path / "ner", path, types=["LOC", "PER", "ORG"])
    path = write_sentences(tmp_path / "a.jsonl", SENTENCES)
    with pytest.raises(UserError, match=r"nothing is tagged as ORG; unknown tags are none$"):
        write(tmp_path / "ner", path, types=["LOC", "PER", "ORG"])
    assert not (tmp_path / "ner").exists()


def test_a_split_of_too_few_sentences_is_named(tmp_path):
    path = write_sentences(tmp_path / "a.jsonl", SENTENCES[:1])
    with pytest.raises(UserError, match=r"^tasks/ner.yaml: dataset: the \w+ split is empty, of 1 examples in all"):
        write(tmp_path / "ner", path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ner:dataset.types": ["LOC", "LOC"]}, "dataset: types must differ from one another"),
        ({"ner:dataset.scheme": "iob"}, "dataset.scheme is 'iob'"),
        ({"ner:dataset.types": []}, r"dataset.types is \[\]"),
        ({"ner:dataset.types": [f"T{n}" for n in range(64)]}, r"dataset.types is \["),
        ({"ner:dataset.text_column": "text"}, "unknown key dataset.text_column"),
        ({"ner:finetune.class_weights": "none"}, "unknown key finetune.class_weights"),
    ],
)
def test_a_mistake_in_the_settings_names_the_file_and_the_key(changes, message):
    with pytest.raises(UserError, match=f"^tasks/ner.yaml: {message}") as error:
        params(changes)
    assert "\n" not in str(error.value)


def test_the_files_have_to_be_named(tmp_path):
    with pytest.raises(UserError, match=r"^tasks/ner.yaml: dataset.files.paths is empty: .* \.tsv, .*\.jsonl"):
        write(tmp_path / "ner")
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(UserError, match=r"a.csv is none of .tsv, .txt, .conll, .bio, .jsonl, .parquet"):
        write(tmp_path / "ner", tmp_path / "a.csv")


def test_as_many_types_as_there_may_be_have_numbers(tmp_path):
    types = [f"T{n}" for n in range(63)]
    sentences = [([f"w{n}", "x"], [f"B-T{n % 63}", f"I-T{n % 63}"]) for n in range(300)]
    write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", sentences), types=types)
    assert sorted(everything(tmp_path / "ner")) == sorted(sentences)


# Two names of several words, side by side and of one type, so that each scheme spells them in its own way.
NAMES = ["B-PER", "I-PER", "B-PER", "I-PER", "I-PER", "O", "B-LOC"]


def spelled(scheme, count=30):
    """Return sentences with the tags of `NAMES` in a scheme."""
    tags = spell(read_entities(NAMES), len(NAMES), scheme)
    return [([f"word{n}", "Lee", "Ann", "van", "Dyck", "in", "Paris"], tags) for n in range(count)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_becomes_iob2(tmp_path, scheme):
    manifest = write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", spelled(scheme)), scheme=scheme)
    assert sorted(everything(tmp_path / "ner")) == sorted(spelled("bio"))
    assert manifest["labels"] == LABELS
    assert (manifest["scheme"], manifest["off_scheme_tags"], manifest["first_off_scheme"]) == (scheme, {}, None)


@pytest.mark.parametrize("named", SCHEMES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_that_is_not_what_it_is_called_is_told(tmp_path, scheme, named):
    if scheme == named:
        return
    path = write_sentences(tmp_path / "a.jsonl", [(["in"], ["O"]), *spelled(scheme)])
    told = (
        rf"^tasks/ner.yaml: dataset.scheme is {named}, and \d+ tags are not as it has them, the first of them a.jsonl, "
        rf"sentence 2, word \d, [BIESLU]-(PER|LOC); {scheme} fits all: set scheme to {scheme}, or correct the tags$"
    )
    with pytest.raises(UserError, match=told):
        write(tmp_path / "ner", path, scheme=named)
    assert not (tmp_path / "ner").exists()


def test_where_no_scheme_fits_all_the_best_is_told_with_what_is_left(tmp_path):
    path = write_sentences(tmp_path / "a.jsonl", [*spelled("bioes"), (["a"], ["I-PER"])])
    with pytest.raises(UserError, match=r"sentence 1, word 2, E-PER; bioes fits all but 1: set scheme to bioes, or"):
        write(tmp_path / "ner", path)


def test_a_few_tags_that_break_the_scheme_are_counted_and_read_as_what_they_begin(tmp_path):
    broken = [
        (["a", "Ann", "b"], ["O", "I-PER", "O"]),
        (["c", "Ann", "Rome"], ["O", "B-PER", "I-LOC"]),
        (["d", "Ann", "Lee"], ["S-PER", "O", "E-PER"]),
        (["e"], ["I-MISC"]),  # of a type that is not asked for
    ]
    manifest = write(tmp_path / "ner", write_sentences(tmp_path / "a.jsonl", [*SENTENCES, *broken]))
    assert manifest["off_scheme_tags"] == {"E-PER": 1, "I-LOC": 1, "I-PER": 1, "S-PER": 1}
    assert manifest["first_off_scheme"] == "a.jsonl, sentence 31, word 2, I-PER"
    assert (manifest["dropped"]["unknown_tag"], manifest["unknown_tags"]) == (1, {"I-MISC": 1})
    found = {words[0]: tags for words, tags in everything(tmp_path / "ner")}
    assert [found[name] for name in "acd"] == [["O", "B-PER", "O"], ["O", "B-PER", "B-LOC"], ["B-PER", "O", "B-PER"]]


def test_one_bad_row_is_named_by_its_sentence(tmp_path):
    lines = ["".join(f"{word}\t{tag}\n" for word, tag in zip(*pair, strict=True)) for pair in SENTENCES]
    lines[7] = "Ann\tB-PER\nParis\n"
    (tmp_path / "a.tsv").write_text("\n".join(lines))
    with pytest.raises(UserError, match=r"a.tsv, line 30 has one column: a word and its tag are needed$"):
        write(tmp_path / "ner", tmp_path / "a.tsv")


def test_the_beginning_of_a_document_is_no_word(tmp_path):
    (tmp_path / "a.conll").write_text("-DOCSTART- -X- O O\n\nAnn NNP I-NP B-PER\n-DOCSTART- -X- O O\nin IN O O\n")
    assert list(read_tagged_lines(tmp_path / "a.conll")) == [
        {"words": ["Ann"], "tags": ["B-PER"]}, {"words": ["in"], "tags": ["O"]},
    ]  # fmt: skip


def test_records_of_one_word_become_sentences(tmp_path):
    expected = [([*words, "."], [*tags, "O"]) for words, tags in SENTENCES]
    rows = [{"word": word, "tag": tag} for pair in expected for word, tag in zip(*pair, strict=True)]
    rows += [{"word": "no", "tag": "O"}, {"word": None, "tag": "O"}, {"word": 7, "tag": "O"}]  # no end; and odd words
    path = tmp_path / "hub" / "train.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"words_column": "word", "tags_column": "tag", "sentence_end": [".", "!"]}
    expected.append((["no", "", "7"], ["O", "O", "O"]))
    manifest = write(tmp_path / "ner", path, **columns)
    assert sorted(everything(tmp_path / "ner")) == sorted(expected)
    assert manifest["examples"] == 31
    write(
        tmp_path / "ner",
        source="hub",
        hub={"dataset": str(tmp_path / "hub"), "config": None, "revision": "main"},
        **columns,
    )
    assert sorted(everything(tmp_path / "ner")) == sorted(expected)


def test_a_type_may_be_missing_in_training(tmp_path):
    path = write_sentences(tmp_path / "a.jsonl", [(words, ["O", *tags[1:]]) for words, tags in SENTENCES])
    test = str(write_sentences(tmp_path / "b.jsonl", SENTENCES[:3]))
    manifest = write(tmp_path / "ner", path, **{"files.test_paths": [test]})
    assert manifest["splits"]["train"]["labels"]["B-PER"] == 0
    assert manifest["splits"]["test"]["labels"]["B-PER"] == 3


def test_hub_names_the_tags(tmp_path):
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    features = {"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": datasets.Sequence(names)}
    rows = [{"tokens": words, "ner_tags": [names.str2int(tag) for tag in tags]} for words, tags in SENTENCES]
    made = datasets.Dataset.from_list(rows, features=datasets.Features(features))
    made.to_parquet(tmp_path / "hub" / "train.parquet")
    hub = {"dataset": str(tmp_path / "hub"), "config": None, "revision": "main"}
    write(tmp_path / "ner", source="hub", hub=hub)
    assert sorted(everything(tmp_path / "ner")) == sorted(SENTENCES)


@pytest.mark.skipif(not NER.is_dir(), reason="the shared sentences of WikiANN are not here")
def test_wikiann(tmp_path):
    parts = {
        f"files.{key}": [str(NER / f"{name}.tsv.gz")]
        for key, name in (("validation_paths", "dev"), ("test_paths", "test"))
    }
    changes = {"types": ["LOC", "ORG", "PER"], "word_prefix": "en:"}
    manifest = write(tmp_path / "ner", NER / "train.tsv.gz", **parts, **changes)
    assert manifest["read"] == 40_000
    assert {split: counts["examples"] for split, counts in manifest["splits"].items()} == {
        "train": 20_000 - 782 - 2, "validation": 10_000, "test": 10_000,
    }  # fmt: skip
    assert manifest["dropped"] == {"missing": 0, "unknown_tag": 0, "empty": 0, "duplicate": 782, "conflicting_label": 2}
    assert manifest["splits"]["test"]["labels"] == {
        "O": 40_834, "B-LOC": 4_657, "I-LOC": 6_447, "B-ORG": 4_745, "I-ORG": 11_607, "B-PER": 4_556, "I-PER": 7_480,
    }  # fmt: skip
    assert manifest["off_scheme_tags"] == {}
    assert not any(word.startswith("en:") for words, _ in everything(tmp_path / "ner") for word in words)


@pytest.mark.skipif(not ANER.is_dir(), reason="the shared sentences of ANERcorp are not here")
def test_anercorp(tmp_path):
    parts = {
        f"files.{key}": [str(ANER / f"{name}.tsv.gz")]
        for key, name in (("validation_paths", "dev"), ("test_paths", "test"))
    }
    types = ["LOC", "MISC", "ORG", "PERS"]
    manifest = write(tmp_path / "ner", ANER / "train.tsv.gz", **parts, types=types)
    assert {split: counts["examples"] for split, counts in manifest["splits"].items()} == {
        "train": 3_753 - 35, "validation": 417, "test": 464,
    }  # fmt: skip
    # Names that something interrupts are tagged B-PERS I-PERS O I-PERS; each I-PERS after O is a beginning.
    assert manifest["off_scheme_tags"] == {"I-LOC": 7, "I-MISC": 15, "I-ORG": 6, "I-PERS": 21}
    assert manifest["splits"]["test"]["labels"] == {
        "O": 13_662, "B-LOC": 446, "I-LOC": 64, "B-MISC": 110 + 3, "I-MISC": 55, "B-ORG": 214, "I-ORG": 140,
        "B-PERS": 399 + 3, "I-PERS": 329,
    }  # fmt: skip


def test_a_tag_that_is_missing_is_no_tag_of_that_name(tmp_path):
    odd = [{"tokens": ["Ann", "x"], "ner_tags": ["B-PER", tag]} for tag in (None, float("nan"))]
    path = write_sentences(tmp_path / "a.jsonl", SENTENCES)
    with path.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in odd)
    assert write(tmp_path / "task", path)["dropped"]["missing"] == 2
