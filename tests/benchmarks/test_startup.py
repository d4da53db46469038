from pathlib import Path

from benchmarks import startup
from benchmarks.measure import Child


def test_a_copy_in_which_all_is_done_has_nothing_to_do(tmp_path):
    folder = startup.up_to_date(tmp_path / "ours")
    assert (folder / "dvc.lock").is_file()
    assert (folder / "data" / "models" / "pretrained").is_dir()
    assert (folder / "reports" / "evaluate" / "metrics.json").is_file()
    assert (folder / "reports" / "tasks" / "sentiment" / "metrics.json").is_file()
    assert "up to date" in startup.child([*startup.DVC, "repro"], folder).output
    (folder / "src" / "maskline" / "core" / "errors.py").write_text("# changed\n")
    assert "fetch" in startup.child([*startup.DVC, "status"], folder).output


def test_a_project_without_stages_is_one_for_dvc(tmp_path):
    output = startup.child([*startup.DVC, "repro"], startup.without_stages(tmp_path / "bare")).output
    assert "up to date" in output or "no stages" in output.lower(), output


def test_the_slowest_command_counts_beyond_python(monkeypatch):
    def child(command, cwd=None):
        slow = {"-c": 1.0, "pipeline.pretrain": 1.4}
        return Child(slow.get(command[1], slow.get(command[2], 1.1)), 0.0, 0, 0, "")

    monkeypatch.setattr(startup, "child", child)
    row = startup.help_row()
    assert "pipeline.pretrain, the slowest of" in row.note
    assert round(row.ratio, 6) == 0.4
    assert row.met
    assert startup.commands() == sorted(
        path.stem for path in Path("pipeline").glob("*.py") if "main" in path.read_text() and path.stem != "cli"
    )
