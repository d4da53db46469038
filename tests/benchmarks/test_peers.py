"""A peer is a true one: with our weights in it, its loss is ours."""

import numpy as np
import pytest
import torch

from benchmarks.ours import Features, Ours, objective, real_tokens
from benchmarks.peers.hf import HuggingFace, LabelledHuggingFace, trainer_rate
from benchmarks.peers.peer import Recipe
from benchmarks.peers.plain import Labelled, Plain, begin_with, mask
from benchmarks.peers.plain import to_hugging_face as of_plain
from benchmarks.peers.positions import Positions
from maskline.model.convert import Fit, from_hugging_face, to_hugging_face
from tests.tiny import SPECIAL, VOCAB_SIZE, tiny_params, write_data

CPU = torch.device("cpu")
RECIPE = Recipe(peak_lr=1e-2)
PEERS = {
    "HF": lambda params, data: HuggingFace(params, data / "tokenizer", RECIPE, CPU),
    "plain": lambda params, _: Plain(params, VOCAB_SIZE, SPECIAL, RECIPE, CPU),
    "positions": lambda params, _: Positions(params, VOCAB_SIZE, SPECIAL, RECIPE, CPU),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def params():
    return tiny_params({"pretrain.precision": "fp32", "pretrain.micro_batch": 6})


@pytest.fixture(scope="module")
def judged(params, data):
    """Our objective, with biases and norms that are none of the initial ones."""
    made = objective(params, data, CPU)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return made


def plain_weights(theirs):
    """Return weights under Hugging Face's names under those of `plain.Bert`."""
    names = {
        "bert.embeddings.word_embeddings": "token",
        "bert.embeddings.position_embeddings": "position",
        "bert.embeddings.token_type_embeddings": "segment",
        "bert.embeddings.LayerNorm": "embedding_norm",
        "bert.encoder.layer": "blocks",
        "attention.output.dense": "attention.out_proj",
        "attention.output.LayerNorm": "attention_norm",
        "intermediate.dense": "up",
        "output.dense": "down",
        "output.LayerNorm": "output_norm",
        "bert.pooler.dense": "pooler",
        "cls.predictions.transform.dense": "transform",
        "cls.predictions.transform.LayerNorm": "transform_norm",
        "cls.predictions.bias": "decoder.bias",
        "cls.seq_relationship": "nsp",
    }
    found = {}
    for theirs_name, tensor in theirs.items():
        ours = theirs_name
        for hf, plain in names.items():
            ours = ours.replace(hf, plain)
        found[ours] = tensor
    for number in range(2):
        for kind in ("weight", "bias"):
            parts = [found.pop(f"blocks.{number}.attention.self.{part}.{kind}") for part in ("query", "key", "value")]
            found[f"blocks.{number}.attention.in_proj_{kind}"] = torch.cat(parts)
    return found | {"decoder.weight": found["token.weight"]}


def positions_weights(theirs):
    """Return weights under Hugging Face's names under those of the stepwise `Bert`."""
    found = {}
    for name, tensor in plain_weights(theirs).items():
        if "in_proj_" in name:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                found[name.replace("in_proj_", f"{part}.")] = piece
        else:
            found[name.replace("out_proj", "out")] = tensor
    return found


def copy_weights(peer, model):
    theirs = to_hugging_face(model)
    if isinstance(peer, HuggingFace):
        missing, unexpected = peer.model.load_state_dict(theirs, strict=False)
        assert not unexpected
        assert all("decoder" in name for name in missing)  # tied
    else:
        convert = positions_weights if isinstance(peer, Positions) else plain_weights
        peer.model.load_state_dict(convert(theirs))


def their_batch(peer, batch):
    """Return one of our batches as the peer's own `collate` lays it out."""
    ids, labels = torch.from_numpy(batch.input_ids), torch.full(batch.input_ids.shape, -100)
    labels.view(-1)[torch.from_numpy(batch.masked_positions)] = torch.from_numpy(batch.masked_labels)
    laid_out = {
        "input_ids": ids,
        "token_type_ids": torch.from_numpy(batch.token_type_ids),
        "attention_mask": torch.from_numpy(batch.attention_mask).long(),
        "labels": labels,
        "next_sentence_label": torch.from_numpy(batch.next_sentence_label),
    }
    if not isinstance(peer, Positions):
        return laid_out
    wider = peer.length - ids.shape[1]
    positions = torch.zeros(len(ids), peer.length, dtype=torch.long)
    weights, chosen = torch.zeros(positions.shape), torch.zeros_like(positions)
    for row, own in enumerate(labels):
        places = (own != -100).nonzero()[:, 0]
        positions[row, : len(places)], weights[row, : len(places)] = places, 1.0
        chosen[row, : len(places)] = own[places]
    return {
        "input_ids": torch.nn.functional.pad(ids, (0, wider)),
        "token_type_ids": torch.nn.functional.pad(laid_out["token_type_ids"], (0, wider)),
        "valid_lengths": laid_out["attention_mask"].sum(1),
        "positions": positions,
        "weights": weights,
        "labels": chosen,
        "next_sentence_label": laid_out["next_sentence_label"],
    }


@pytest.mark.parametrize("name", PEERS)
def test_with_our_weights_the_loss_and_its_gradient_are_ours(name, params, data, judged):
    peer = PEERS[name](params, data)
    copy_weights(peer, judged.model)
    padded = 0
    for step in range(4):
        (batch,) = judged.microbatches(step)
        padded += int((~batch.attention_mask).sum())
        targets, losses = judged.targets(batch), judged.losses(batch)
        ours = sum(loss / targets[part] for part, loss in losses.items())
        theirs = peer.loss(their_batch(peer, batch))
        assert theirs.item() == pytest.approx(ours.item(), abs=1e-5)
        judged.model.zero_grad()
        peer.model.zero_grad()
        ours.backward()
        theirs.backward()
        norms = [
            torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
            for model in (judged.model, peer.model)
        ]
        torch.testing.assert_close(*norms, rtol=1e-4, atol=1e-6)
    assert padded > 0


LINEAR = {"pretrain.precision": "fp32", "model.mlm_head": "linear", "model.activation": "relu", "pretrain.nsp": False}


@pytest.mark.parametrize("changes", [{"pretrain.precision": "fp32"}, LINEAR])
def test_the_weights_of_the_textbook_make_ours_give_its_loss(changes, data):
    params = tiny_params(changes)
    made, peer = objective(params, data, CPU), Plain(params, VOCAB_SIZE, SPECIAL, RECIPE, CPU)
    begun, other = Plain(params, VOCAB_SIZE, SPECIAL, RECIPE, CPU), objective(params, data, CPU)
    begin_with(begun.bert, to_hugging_face(made.model))
    assert from_hugging_face(other.model, of_plain(begun.bert)) == Fit([], [])
    for one, two in zip(other.model.parameters(), made.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert from_hugging_face(made.model, of_plain(peer.bert)) == Fit([], [])
    batch = made.microbatches(0)[0]
    targets, losses = made.targets(batch), made.losses(batch)
    mean = sum(loss / targets[part] for part, loss in losses.items())
    assert peer.loss(their_batch(peer, batch)).item() == pytest.approx(mean.item(), abs=1e-5)


@pytest.mark.parametrize("nsp", [True, False])
@pytest.mark.parametrize("kinds", [(Plain, Labelled), (HuggingFace, LabelledHuggingFace)])
def test_leaving_out_ignored_logits_changes_neither_loss_nor_gradient(kinds, nsp, data):
    changes = {"model.mlm_head": "linear"} if kinds[0] is Plain else {}
    params = tiny_params(LINEAR | {"model.mlm_head": "bert", "pretrain.nsp": nsp} | changes)
    (batch, *_) = objective(params, data, CPU).microbatches(0)
    gradients = []
    for kind in kinds:
        torch.manual_seed(0)
        of_vocabulary = (VOCAB_SIZE, SPECIAL) if kinds[0] is Plain else (data / "tokenizer",)
        peer = kind(params, *of_vocabulary, RECIPE, CPU)
        laid_out = their_batch(peer, batch)
        if not nsp:
            del laid_out["next_sentence_label"]
        loss = peer.loss(laid_out)
        loss.backward()
        gradients.append([loss, *(p.grad for p in peer.model.parameters() if p.grad is not None)])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_learns(name, params, data, judged):
    torch.manual_seed(0)
    peer = PEERS[name](params, data)
    batch = Features(judged.batches).epoch(0)[:24]
    before = np.mean([peer.update(batch) for _ in range(5)])
    for _ in range(60):
        peer.update(batch)
    assert np.mean([peer.update(batch) for _ in range(5)]) < 0.8 * before


@pytest.mark.parametrize("name", PEERS)
def test_a_batch_masks_ordinary_tokens_at_the_rate_and_keeps_the_rest(name, params, data, judged):
    torch.manual_seed(0)
    peer = PEERS[name](params, data)
    features = Features(judged.batches).epoch(0)[:60]
    batch = peer.collate(features)
    shown, ids = batch["input_ids"], [feature["input_ids"] for feature in features]
    original = torch.zeros(len(ids), shown.shape[1], dtype=torch.long)
    for row, own in enumerate(ids):
        original[row, : len(own)] = torch.tensor(own)
    if isinstance(peer, Positions):
        labels = torch.full(shown.shape, -100)
        weighted = batch["weights"] == 1
        rows = torch.arange(len(ids))[:, None].expand(weighted.shape)[weighted]
        labels[rows, batch["positions"][weighted]] = batch["labels"][weighted]
    else:
        labels = batch["labels"]
    masked = labels != -100
    assert torch.equal(labels[masked], original[masked])
    assert torch.equal(shown[~masked], original[~masked])
    assert not torch.isin(labels[masked], torch.tensor(list(SPECIAL))).any()
    ordinary = sum(len(own) - sum(feature["special_tokens_mask"]) for own, feature in zip(ids, features, strict=True))
    assert 0.09 < masked.sum() / ordinary < 0.25
    assert 0.6 < (shown[masked] == SPECIAL.mask).float().mean() < 0.95


def test_masks_of_the_textbook():
    torch.manual_seed(0)
    ids = torch.full((200, 50), 9)
    keep = torch.zeros_like(ids, dtype=torch.bool)
    keep[:, ::2] = True
    shown, labels = mask(ids, keep, tiny_params().masking, 4, VOCAB_SIZE)
    picked = labels == 9
    assert not picked[:, ::2].any()
    assert picked[:, 1::2].float().mean() == pytest.approx(0.15, abs=0.01)
    assert (shown[picked] == 4).float().mean() == pytest.approx(0.8, abs=0.03)
    assert (shown[picked] == 9).float().mean() == pytest.approx(0.1, abs=0.03)


def test_all_are_fed_with_the_same_examples(params, judged):
    features = Features(judged.batches)
    first = features.epoch(0)
    assert len(first) == judged.batches.order.count
    steps = range(judged.batches.updates(1))
    ours = sorted(
        ids[:size].tolist()
        for step in steps
        for batch in judged.microbatches(step)
        for ids, size in zip(original(batch), batch.attention_mask.sum(1), strict=True)
    )
    assert sorted(feature["input_ids"] for feature in first) == ours
    assert first != features.epoch(1)
    assert first == Features(judged.batches).epoch(0)
    batch = next(features.batched(6))
    assert real_tokens(batch) == sum(len(feature["input_ids"]) for feature in first[:6])


def original(batch):
    ids = batch.input_ids.copy()
    ids.ravel()[batch.masked_positions] = batch.masked_labels
    return ids


def test_ours_is_the_update_of_the_loop(params, data):
    contender = Ours(params, data, CPU)
    before = [parameter.detach().clone() for parameter in contender.objective.model.parameters()]
    expected = sum(batch.tokens for step in range(2) for batch in contender.objective.microbatches(step))
    assert contender.update() + contender.update() == expected
    assert not any(map(torch.equal, before[:3], contender.objective.model.parameters()))


def test_the_real_trainer_runs(params, data, judged):
    pytest.importorskip("accelerate")
    peer = PEERS["HF"](params, data)
    before = peer.model.cls.predictions.bias.detach().clone()
    assert trainer_rate(peer, Features(judged.batches).epoch(0), batch=6, updates=3, warmup=1) > 0
    assert not torch.equal(before, peer.model.cls.predictions.bias)
