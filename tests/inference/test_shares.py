"""Vectors by several processes: the bytes of one, whatever order they end in and whoever is killed."""

import os
import subprocess
import sys

import pytest

from maskline.core.errors import UserError
from maskline.inference import documents
from maskline.inference.growing import Growing
from maskline.inference.shares import Share
from maskline.inference.vectors import VectorSettings, write_vectors
from tests.inference.test_vectors import contents, open_encoder, torch, write
from tests.project import ENVIRONMENT, ROOT

SETTINGS = VectorSettings()


@pytest.fixture(name="model", scope="module")
def _model(tiny_project):
    return open_encoder(tiny_project / "data" / "models" / "pretrained", torch.device("cpu"))


@pytest.fixture(name="small_chunks", autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(documents, "CHUNK_DOCUMENTS", 3)  # three chunks of seven texts


def embed(model, folder, share=Share(), file_format="npy"):  # noqa: B008
    return write_vectors([folder / "a.txt"], folder / "out", model, SETTINGS, file_format, share=share)


@pytest.mark.parametrize("file_format", ["npy", "parquet"])
@pytest.mark.parametrize("order", [[0, 1], [1, 0], [2, 0, 1], [4, 3, 1, 0, 2]])
def test_the_last_of_several_writes_what_one_writes(model, tmp_path, order, file_format):
    write(tmp_path / "a.txt")
    alone = embed(model, tmp_path, file_format=file_format)
    expected = contents(tmp_path / "out")
    for number in order:
        manifest = embed(model, tmp_path, Share(number, len(order)), file_format)
        assert (manifest is None) == (number != order[-1])
    assert contents(tmp_path / "out") == expected
    assert manifest == alone
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "out"}


def test_shares_divide_the_work():
    assert [list(Share(number, 3).of(7)) for number in range(3)] == [[0, 1], [2, 3], [4, 5, 6]]
    assert [len(Share(number, 4).of(2)) for number in range(4)] == [0, 1, 0, 1]


def test_a_share_that_is_whole_is_not_computed_again(model, tmp_path, monkeypatch):
    write(tmp_path / "a.txt")
    embed(model, tmp_path)
    expected = contents(tmp_path / "out")
    embed(model, tmp_path, Share(0, 2))
    with monkeypatch.context() as patched:
        patched.setattr("maskline.inference.vectors.embed_by", None)  # nothing can be computed
        with pytest.raises(TypeError):
            embed(model, tmp_path, Share(1, 2))
        assert embed(model, tmp_path, Share(0, 2)) is None
    assert embed(model, tmp_path, Share(1, 2))
    assert contents(tmp_path / "out") == expected


@pytest.mark.parametrize("change", ["other texts", "damaged"])
def test_a_share_of_other_work_is_written_again(model, tmp_path, change):
    write(tmp_path / "a.txt", ["a", "b", "c", "d"])
    embed(model, tmp_path, Share(0, 2))
    if change == "other texts":
        write(tmp_path / "a.txt")
        embed(model, tmp_path, Share(0, 2))
    else:
        (tmp_path / "out.share-0-of-2" / "vectors.npy").write_bytes(b"")
        assert embed(model, tmp_path, Share(1, 2)) is None  # which does not take it
        embed(model, tmp_path, Share(0, 2))
        assert not (tmp_path / "out.share-0-of-2").exists()
        return
    assert embed(model, tmp_path, Share(1, 2))["texts"] == 7


@pytest.mark.parametrize("file_format", ["npy", "parquet"])
def test_what_one_process_has_left_is_no_part_of_what_several_write(model, tmp_path, monkeypatch, file_format):
    write(tmp_path / "a.txt")
    embed(model, tmp_path, file_format=file_format)
    expected = contents(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(Growing, "finish", None)  # it ends after its last chunk
        with pytest.raises(TypeError):
            embed(model, tmp_path, file_format=file_format)
    assert (tmp_path / "out.partial" / "state.json").exists()
    for number in range(2):
        embed(model, tmp_path, Share(number, 2), file_format)
    assert contents(tmp_path / "out") == expected


@pytest.mark.parametrize(
    ("rank", "world_size", "expected"),
    [(None, None, Share(0, 1)), ("0", "1", Share(0, 1)), ("2", "3", Share(2, 3))],
)
def test_torchrun_tells_the_share(monkeypatch, rank, world_size, expected):
    tell(monkeypatch, rank, world_size)
    assert Share.of_this_process() == expected


@pytest.mark.parametrize(
    ("rank", "world_size"), [("3", None), (None, "4"), ("3", "3"), ("0", "0"), ("x", "2"), ("-1", "2"), ("", "")]
)
def test_what_torchrun_does_not_tell_is_refused(monkeypatch, rank, world_size):
    tell(monkeypatch, rank, world_size)
    with pytest.raises(
        UserError, match=rf"^no process of torchrun has RANK={rank or ''}, WORLD_SIZE={world_size or ''}:"
    ):
        Share.of_this_process()


def tell(monkeypatch, rank, world_size):
    for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


def test_what_would_be_lost_is_named_before_anything_is_computed(model, tmp_path):
    write(tmp_path / "a.txt")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(UserError, match=r"files that no stage wrote \(mine.txt\)"):
        embed(model, tmp_path, Share(1, 2))
    assert not list(tmp_path.glob("out.share*"))


def test_torchrun_gives_each_process_its_share(model, tiny_project, tmp_path):
    (tmp_path / "a.txt").write_text("a river\n" * 20_000)  # three chunks of the real size
    command = ["-m", "pipeline.embed", str(tiny_project / "data" / "models" / "pretrained"), "a.txt", "--out"]
    environment = ENVIRONMENT | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    said = []
    for start, out in (([], "one"), (["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"], "two")):
        done = subprocess.run(
            [sys.executable, *start, *command, out],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        said.append(done.stdout)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert said == ["20,000 vectors of 16 numbers in one\n", "20,000 vectors of 16 numbers in two\n"]
