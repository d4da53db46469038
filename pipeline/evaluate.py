"""Score the models and what they are read against."""

from pathlib import Path

from maskline.errors import UserError
from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    tokens: InputDirectory = Path("data/tokens/train"),
    validation: InputDirectory = Path("data/validation"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    tasks: InputDirectory = Path("data/tasks"),
    models: InputDirectory = Path("data/models"),
    reports: OutputDirectory = Path("reports/evaluate"),
) -> None:
    """Score the pretrained model on the fixed validation set, and the fine-tuned ones on the test split of their task.

    Beside each score stands what makes it readable: token frequencies; word overlap and lengths of sentence pairs; the
    majority class, TF-IDF with logistic regression, and the same network without pretraining. samples.md shows what the
    model puts in place of masked tokens.
    """
    import time

    import typer

    from maskline.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once

    from maskline.evaluation.report import (
        CLASS_COLUMNS,
        CONFUSION_COLUMNS,
        pretraining_report,
        task_report,
    )
    from maskline.evaluation.samples import sample_page
    from maskline.examples.premasked import read_premasked
    from maskline.examples.shards import TokenShards
    from maskline.storage import write_csv, write_json, write_text
    from maskline.tasks.examples import SPLITS, Examples, read_task
    from maskline.tokenization.load import load_tokenizer
    from maskline.training.devices import choose_device
    from maskline.training.export import check_tokenizer, load_classifier, load_pretraining_model

    started = time.monotonic()
    device = choose_device(settings.compute)
    loaded = load_tokenizer(tokenizer)
    examples = read_premasked(validation)
    model = load_pretraining_model(models / "pretrained").to(device)
    check_tokenizer(models / "pretrained", tokenizer, "pretrain")
    metrics = pretraining_report(
        model, examples, TokenShards(tokens), loaded.special, device, nsp=settings.pretrain.nsp
    )
    write_text(reports / "samples.md", sample_page(model, examples, loaded, device, settings.evaluate.samples))
    for task, finetune in settings.finetune.items():
        splits: dict[str, Examples] = {split: read_task(tasks / task, split) for split in SPLITS}
        classifiers = {}
        for start, directory in (("pretrained", models / task), ("scratch", models / f"{task}-scratch")):
            classifier, labels = load_classifier(directory)
            check_tokenizer(directory, tokenizer, f"finetune@{task}")
            if labels != splits["test"].label_names:
                raise UserError(
                    f"{directory} tells {', '.join(labels)} apart, {tasks / task} has "
                    f"{', '.join(splits['test'].label_names)}: run `dvc repro finetune@{task}`"
                )
            classifiers[start] = classifier.to(device)
        report = task_report(task, classifiers, splits, loaded, finetune.max_seq_length, device)
        metrics[task] = report.metrics
        write_csv(reports / f"{task}-confusion.csv", report.confusion, CONFUSION_COLUMNS)
        write_csv(reports / f"{task}-classes.csv", report.classes, CLASS_COLUMNS)
        for warning in report.warnings:
            typer.echo(f"warning: {warning}", err=True)
    write_json(reports / "metrics.json", metrics)
    write_json(reports / "timing.json", {"seconds": round(time.monotonic() - started, 1)})
    for section, values in metrics.items():
        numbers = (f"{name} {'-' if value is None else f'{value:.4g}'}" for name, value in values.items())
        typer.echo(f"{section}: {', '.join(numbers)}")


if __name__ == "__main__":
    run(main)
