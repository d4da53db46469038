import copy

import pytest
import torch
from torch import nn

from maskline.model.bert.encoder import SelfAttention
from maskline.model.heads import PretrainingModel
from maskline.tasks.classification.model import ClassificationModel
from maskline.training.optimizers import Muon, build_optimizers, orthogonalize, parameter_groups
from tests.tiny import VOCAB_SIZE, tiny_params


def recipe(optimizer="muon", **changes):
    return tiny_params(
        {f"pretrain.{key}": value for key, value in {"optimizer": optimizer, **changes}.items()}
    ).pretrain


def build(kind=PretrainingModel):
    arguments = (tiny_params().model, VOCAB_SIZE)
    model = kind(*arguments) if kind is PretrainingModel else kind(*arguments, 3, dropout=0.0)
    model.reset(torch.Generator().manual_seed(0))
    return model


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def give_gradients(model, seed):
    for number, parameter in enumerate(model.parameters()):
        parameter.grad = random(*parameter.shape, seed=seed * 1000 + number)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("kind", [PretrainingModel, ClassificationModel])
def test_every_trainable_parameter_is_in_exactly_one_group(optimizer, kind):
    model = build(kind)
    frozen = model.encoder.embeddings.position.weight
    frozen.requires_grad_(False)
    muon, adamw = parameter_groups(model, recipe(optimizer))
    grouped = [id(parameter) for group in muon + adamw for parameter in group["params"]]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {id(parameter) for parameter in model.parameters() if parameter is not frozen}
    assert bool(muon) == (optimizer == "muon")


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_what_decays_is_what_has_rows_and_columns(optimizer):
    model = build()
    params = recipe(optimizer, weight_decay=0.25)
    decay = {
        id(parameter): group["weight_decay"]
        for built in build_optimizers(model, params)
        for group in built.param_groups
        for parameter in group["params"]
    }
    spared = set()
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            spared |= {id(module.weight), id(module.bias)}
        elif isinstance(module, nn.Linear):
            spared.add(id(module.bias))
    for name, parameter in model.named_parameters():
        assert decay[id(parameter)] == (0 if id(parameter) in spared else 0.25), name


def test_muon_takes_the_matrices_of_the_layers_and_nothing_else():
    model = build()
    muon, _ = parameter_groups(model, recipe())
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    taken = {names[id(parameter)]: group["parts"] for group in muon for parameter in group["params"]}
    assert taken == {
        f"encoder.layers.{layer}.{part}.weight": parts
        for layer in range(2)
        for part, parts in (("attention.qkv", 3), ("attention.out", 1), ("up", 1), ("down", 1))
    }


def test_peaks_are_those_of_the_recipe():
    muon, adamw = build_optimizers(build(), recipe(peak_lr=0.003, matrix_lr=0.07, beta1=0.8, beta2=0.95, eps=1e-6))
    assert {group["peak_lr"] for group in muon.param_groups} == {0.07}
    assert {(g["peak_lr"], g["betas"], g["eps"]) for g in adamw.param_groups} == {(0.003, (0.8, 0.95), 1e-6)}


def test_adamw_is_that_of_torch_with_two_groups():
    ours, theirs = build(), build()
    (optimizer,) = build_optimizers(ours, recipe("adamw", peak_lr=0.01, weight_decay=0.1, beta2=0.9))
    expected = torch.optim.AdamW(
        [
            {"params": [p for p in theirs.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in theirs.parameters() if p.ndim == 1], "weight_decay": 0.0},
        ],
        lr=0.01,
        betas=(0.9, 0.9),
        fused=False,
        foreach=False,
    )
    for step in range(4):
        give_gradients(ours, step)
        give_gradients(theirs, step)
        optimizer.step()
        expected.step()
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter, theirs.get_parameter(name), atol=1e-6, rtol=1e-5)


def test_the_first_update_of_adamw_is_the_learning_rate():
    """Bias correction: without it the first update would be a tenth to a third of it."""
    model = build()
    before = copy.deepcopy(model)
    optimizers = build_optimizers(model, recipe("adamw", peak_lr=0.01, weight_decay=0.0))
    give_gradients(model, 0)
    for optimizer in optimizers:
        optimizer.step()
    steps = torch.cat([(a - b).flatten() for a, b in zip(model.parameters(), before.parameters(), strict=True)])
    assert steps.abs().median().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("shape", [(16, 16), (16, 40), (1, 8)])
def test_orthogonalizing_leaves_singular_values_near_one_and_keeps_directions(shape):
    matrices = random(3, *shape) * torch.tensor([1e-3, 1, 1e3])[:, None, None]
    values = torch.linalg.svdvals(orthogonalize(matrices))
    assert values.shape == (3, min(shape))
    conditioned = torch.linalg.svdvals(matrices) / torch.linalg.norm(matrices, dim=(1, 2))[:, None] > 0.02
    assert ((values > 0.6) & (values < 1.25))[conditioned].all()
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    diagonal = u.mT @ orthogonalize(matrices) @ v.mT
    torch.testing.assert_close(diagonal, torch.diag_embed(torch.diagonal(diagonal, dim1=1, dim2=2)), atol=1e-4, rtol=0)


def test_no_gradient_is_no_direction():
    assert torch.equal(orthogonalize(torch.zeros(2, 4, 6)), torch.zeros(2, 4, 6))


def muon_by_hand(weight, gradients, lr, momentum, decay):
    """Update one matrix: momentum, Nesterov, orthogonalize, scale by the square root of tallness, decay."""
    buffer = torch.zeros_like(weight)
    for gradient in gradients:
        buffer = momentum * buffer + (1 - momentum) * gradient
        update = (1 - momentum) * gradient + momentum * buffer
        scale = max(1, weight.shape[0] / weight.shape[1]) ** 0.5
        tall = weight.shape[0] > weight.shape[1]
        update = orthogonalize((update.mT if tall else update)[None])[0]
        weight = weight * (1 - lr * decay) - lr * scale * (update.mT if tall else update)
    return weight


def test_a_stack_of_query_key_and_value_is_updated_as_three_matrices():
    attention = SelfAttention(tiny_params().model)
    start = attention.qkv.weight.detach().clone()
    gradients = [random(48, 16, seed=seed) for seed in range(3)]
    optimizer = Muon([{"params": [attention.qkv.weight], "parts": 3}], 0.1, 0.95, 0.2, torch.float32)
    for gradient in gradients:
        attention.qkv.weight.grad = gradient.clone()
        optimizer.step()
    parts = [
        muon_by_hand(part, [gradient.chunk(3)[number] for gradient in gradients], 0.1, 0.95, 0.2)
        for number, part in enumerate(start.chunk(3))
    ]
    torch.testing.assert_close(attention.qkv.weight.detach(), torch.cat(parts), atol=1e-5, rtol=0)


@pytest.mark.parametrize("shapes", [[(24, 16)] * 3, [(24, 16), (16, 16), (16, 24)]])
def test_matrices_that_are_updated_together_do_not_mix(shapes):
    weights = [nn.Parameter(random(*shape, seed=seed)) for seed, shape in enumerate(shapes)]
    starts = [weight.detach().clone() for weight in weights]
    optimizer = Muon([{"params": weights}], 0.1, 0.9, 0.0, torch.float32)
    gradients = [[random(*shape, seed=10 * step + number) for number, shape in enumerate(shapes)] for step in range(2)]
    for step in gradients:
        for weight, gradient in zip(weights, step, strict=True):
            weight.grad = gradient.clone()
        weights[1].grad = None  # takes no part, and loses nothing
        optimizer.step()
    assert torch.equal(weights[1].detach(), starts[1])
    for number in (0, 2):
        expected = muon_by_hand(starts[number], [step[number] for step in gradients], 0.1, 0.9, 0.0)
        torch.testing.assert_close(weights[number].detach(), expected, atol=1e-5, rtol=0)


def test_bfloat16_turns_an_update_little_and_leaves_weights_and_momenta_in_float32():
    updates = []
    for precision in (torch.float32, torch.bfloat16):
        weight = nn.Parameter(torch.zeros(16, 40))
        optimizer = Muon([{"params": [weight]}], 1.0, 0.9, 0.0, precision)
        weight.grad = random(16, 40, seed=1)
        optimizer.step()
        assert weight.dtype == optimizer.state[weight]["momentum"].dtype == torch.float32
        updates.append(weight.detach())
    exact, low = updates
    assert (low - exact).norm() < 0.02 * exact.norm()
    assert not torch.equal(low, exact)
