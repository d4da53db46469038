import os
import subprocess
import sys

from tests.project import ROOT


def plot(folder):
    command = [sys.executable, "-m", "pipeline.plot"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_plot_writes_the_figures_of_the_run_here(tmp_path, write_reports, write_params):
    write_params(tmp_path / "params.yaml")
    write_reports(tmp_path, tasks=("sentiment", "gone"))
    done = plot(tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "reports" / "figures").glob("*.[sp][vn]g"))) == 8
    assert not (tmp_path / "reports" / "tasks" / "gone").exists()


def test_a_missing_report_is_one_line(tmp_path, write_params, write_reports):
    write_params(tmp_path / "params.yaml")
    (write_reports(tmp_path) / "evaluate" / "metrics.json").unlink()
    done = plot(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error: reports/evaluate/metrics.json is missing: run `dvc repro` to make it\n"
