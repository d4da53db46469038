import json
import subprocess
import sys


def test_results_end_with_times_and_the_paths_of_the_figures(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    (reports / "pretrain" / "timing.json").write_text(json.dumps({"seconds": 241.4}))
    timing = {"pretrained_seconds": 60, "scratch_seconds": 59.7}
    (reports / "finetune" / "sentiment" / "timing.json").write_text(json.dumps(timing))
    (reports / "figures").mkdir()
    (reports / "figures" / "pretraining.png").touch()
    command = [sys.executable, "-m", "pipeline.results", "--reports", reports]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[-3:] == ["finetune/sentiment: 120 s", "pretrain: 241 s", f"{reports}/figures/pretraining.png"]
    assert any("MLM loss (nats)" in line and "4.500" in line and "6.900" in line for line in lines)
