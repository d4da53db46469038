"""What a GPU would be asked to do, checked by shape, precision and device: no machine with one is needed."""

import pytest
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional

from maskline.model import attention as module
from maskline.model.attention import Layout, attention
from maskline.model.bert.convert import config
from maskline.model.bert.settings import Settings
from maskline.model.convert import to_hugging_face
from maskline.model.heads import Inputs, PretrainingModel
from maskline.settings.files import read_yaml
from tests.project import ROOT
from tests.tiny import REFERENCE, VOCAB_SIZE, tiny_params

PRESET = read_yaml(ROOT / "presets" / "bert-base.yaml")
BERT_BASE = Settings(**(REFERENCE["model"] | PRESET["model"]))
BERT_VOCAB_SIZE = PRESET["tokenizer"]["vocab_size"]


def meta(tensor):
    return tensor.to("meta")


def inputs(lengths, masked):
    """Return a batch without content."""
    count = sum(lengths)
    integers = [
        torch.zeros(size, dtype=torch.long, device="meta") for size in (count, count, masked, masked, len(lengths))
    ]
    return Inputs(integers[0], integers[1], Layout.of(torch.tensor(lengths)).map(meta), *integers[2:])


def test_a_gpu_in_bfloat16_gets_flash_attention_over_sequences_of_different_lengths(monkeypatch):
    mode = FakeTensorMode()

    def on_gpu(tensor):
        return FakeTensor(mode, meta(tensor), torch.device("cuda:0"))

    seen = []
    real = module.varlen_attn
    monkeypatch.setattr(module, "varlen_attn", lambda *arguments: seen.append(arguments) or real(*arguments))
    layout = Layout.of(torch.tensor([7, 5, 3])).map(on_gpu)
    y = attention(on_gpu(torch.empty(15, 3, 4, 32, dtype=torch.bfloat16)), layout, 0.0)
    assert (y.shape, y.dtype, str(y.device)) == ((15, 4, 32), torch.bfloat16, "cuda:0")
    ((q, k, v, of_queries, of_keys, longest_query, longest_key),) = seen
    assert q.shape == k.shape == v.shape == (15, 4, 32)
    assert of_queries is of_keys is layout.bounds
    assert (of_keys.shape, of_keys.dtype, longest_query, longest_key) == ((4,), torch.int32, 7, 7)


@pytest.mark.parametrize(("dtype", "dropout"), [(torch.bfloat16, 0.1), (torch.float32, 0.0)])
def test_elsewhere_and_with_dropout_it_is_fused_attention_with_a_mask(dtype, dropout, monkeypatch):
    seen = []
    real = functional.scaled_dot_product_attention
    monkeypatch.setattr(functional, "scaled_dot_product_attention", lambda *a, **k: seen.append(k) or real(*a, **k))
    layout = Layout.of(torch.tensor([7, 5, 3])).map(meta)
    y = attention(torch.empty(15, 3, 4, 32, dtype=dtype, device="meta"), layout, dropout)
    assert (y.shape, y.dtype, y.device.type) == ((15, 4, 32), dtype, "meta")
    (arguments,) = seen
    assert arguments["attn_mask"].shape == (3, 1, 1, 7)
    assert arguments["dropout_p"] == dropout


def test_a_step_stays_on_its_device():
    with torch.device("meta"):
        model = PretrainingModel(tiny_params().model, VOCAB_SIZE)
    losses = model.losses(inputs([7, 5, 3], masked=4))
    assert {(loss.dtype, tuple(loss.shape), loss.device.type) for loss in losses} == {(torch.float32, (), "meta")}
    sum(losses).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad.shape, parameter.grad.device.type) == (parameter.shape, "meta"), name


def test_bert_base_at_full_length_has_the_shapes_and_the_size_of_the_paper():
    with torch.device("meta"):
        model = PretrainingModel(BERT_BASE, BERT_VOCAB_SIZE)
    assert sum(parameter.numel() for parameter in model.parameters()) == 110_106_428
    assert sum(parameter.numel() for parameter in model.encoder.parameters()) == 109_482_240
    batch = inputs([512] * 16, masked=16 * 77)
    mlm_logits, nsp_logits = model(batch)
    assert mlm_logits.shape == (16 * 77, 30522)
    assert nsp_logits.shape == (16, 2)
    assert model.encoder(batch.input_ids, batch.token_type_ids, batch.layout).shape == (16 * 512, 768)


def test_bert_base_is_that_of_transformers_by_name_and_shape():
    theirs_config = transformers.BertConfig()
    content = config(BERT_BASE, BERT_VOCAB_SIZE, "BertForPreTraining")
    del content["architectures"]
    assert {name: getattr(theirs_config, name) for name in content} == content
    with torch.device("meta"):
        theirs = transformers.BertForPreTraining(theirs_config).state_dict()
    with FakeTensorMode():
        ours = to_hugging_face(PretrainingModel(BERT_BASE, BERT_VOCAB_SIZE))
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    assert {name: tensor.shape for name, tensor in ours.items()} == {
        name: tensor.shape for name, tensor in theirs.items() if name not in tied
    }
