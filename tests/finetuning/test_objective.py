import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from maskline.core.scores import finite
from maskline.dataset.read import read_dataset
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.run import new_model
from maskline.model.attention import Layout
from maskline.tasks.classification.task import Classification
from maskline.tokenization.load import load_tokenizer
from maskline.training.loop import _accumulate
from tests.finetuning.conftest import LABELS
from tests.tiny import VOCAB_SIZE, tiny_params
from tests.training.runs import CPU


def objective(data, changes=None, weights=(1.0, 1.0)):
    settings = tiny_params(changes).finetuning("sentiment")
    task = Classification(LABELS, np.array(weights, np.float32))
    splits, tokenizer = read_dataset(data / "task", "sentiment").splits, load_tokenizer(data / "tokenizer")
    training, validation = (
        task.encode(splits[split], tokenizer, settings.recipe.max_seq_length) for split in ("train", "validation")
    )
    model = new_model(task, settings.model, settings.recipe, VOCAB_SIZE, settings.seed)
    return FinetuningObjective(task, model, training, validation, settings.recipe, settings.seed, CPU)


def logits_of(tuned, ids):
    tokens = torch.from_numpy(ids)
    return tuned.model(tokens, torch.zeros_like(tokens), Layout.of(torch.tensor([len(ids)])))


@pytest.mark.parametrize("micro_batch", [1, 3, 8])
def test_the_loss_is_the_weighted_mean_over_the_step(pretrained, micro_batch):
    changes = {"finetune.micro_batch": micro_batch, "finetune.dropout": 0.0}
    weights = [0.3, 2.5]
    tuned = objective(pretrained, changes, weights)
    recipe = tiny_params(changes).finetuning("sentiment").recipe
    targets, sums = _accumulate(tuned, tuned.microbatches(0), 0, recipe, 0)
    rows = np.array(tuned.examples(0))
    assert len(rows) == 8
    with torch.no_grad():
        logits = [logits_of(tuned, tuned.training.texts.input_ids[row]) for row in rows]
    labels = torch.from_numpy(tuned.training.labels[rows])
    expected = cross_entropy(torch.cat(logits), labels, torch.tensor(weights))
    assert sums["loss"] / targets["loss"] == pytest.approx(expected.item(), abs=1e-5)


def test_an_epoch_reads_every_text_once(pretrained):
    tuned = objective(pretrained)
    for epoch in range(2):
        steps = range(epoch * tuned.steps_per_epoch, (epoch + 1) * tuned.steps_per_epoch)
        assert sorted(row for step in steps for row in tuned.examples(step)) == list(range(len(tuned.training.labels)))
    for step in range(tuned.steps_per_epoch):
        parts, rows = tuned.microbatches(step), tuned.examples(step)
        assert max(len(part.labels) for part in parts) <= 3
        assert np.concatenate([part.labels for part in parts]).tolist() == tuned.training.labels[rows].tolist()
        ids = [ids.tolist() for part in parts for ids in np.split(part.texts.input_ids, part.texts.lengths.cumsum())]
        assert [one for one in ids if one] == [tuned.training.texts.input_ids[row].tolist() for row in rows]
    assert tuned.updates(3) == 3 * tuned.steps_per_epoch
    assert tuned.epochs(2 * tuned.steps_per_epoch) == 2
    assert tuned.update_ranges(4, 9) == [range(4, 9)]


def test_a_score_that_is_no_number_is_never_best(pretrained):
    tuned = objective(pretrained)
    with torch.no_grad():
        tuned.model.classifier.weight.fill_(torch.nan)
    metrics = finite(tuned.evaluate())
    assert metrics["loss"] is None
    assert tuned.criterion(metrics) is None
    assert tuned.criterion({"loss": 0.5, "accuracy": 0.9, "macro_f1": 0.75}) == -0.75
    assert tuned.criterion({"loss": 0.5, "accuracy": 0.9, "macro_f1": None}) is None


def test_the_validation_loss_is_the_mean_over_texts(pretrained):
    tuned = objective(pretrained)
    tuned.model.eval()
    with torch.no_grad():
        losses = [
            cross_entropy(logits_of(tuned, ids), torch.tensor([label])).item()
            for ids, label in zip(tuned.validation.texts.input_ids, tuned.validation.labels, strict=True)
        ]
    tuned.model.train()
    metrics = tuned.evaluate()
    assert metrics["loss"] == pytest.approx(np.mean(losses), abs=1e-5)
    assert tuple(metrics) == tuned.validation_columns[2:] == ("loss", "accuracy", "macro_f1")


def test_each_epoch_has_batches_of_its_own(pretrained):
    tuned = objective(pretrained)
    epochs = [
        [tuned.examples(epoch * tuned.steps_per_epoch + step) for step in range(tuned.steps_per_epoch)]
        for epoch in range(3)
    ]
    batches = [{frozenset(rows) for rows in epoch} for epoch in epochs]
    assert len(batches[0] & batches[1]) < 2
    assert len(batches[1] & batches[2]) < 2
