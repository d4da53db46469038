import subprocess
import sys


def test_plot_writes_the_figures_of_the_run_here(tmp_path, write_reports):
    write_reports(tmp_path)
    command = [sys.executable, "-m", "pipeline.plot", "--reports", tmp_path / "reports", "--out", tmp_path / "figures"]
    subprocess.run(command, check=True)
    assert len(list((tmp_path / "figures").glob("*.[sp][vn]g"))) == 8


def test_a_missing_report_is_one_line(tmp_path):
    command = [sys.executable, "-m", "pipeline.plot", "--reports", tmp_path, "--out", tmp_path / "figures"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"error: {tmp_path}/evaluate/metrics.json is missing: run `dvc repro` to make it\n"
