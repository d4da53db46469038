import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.storage import read_json, write_json, write_manifest
from maskline.model.convert import Fit, from_hugging_face, to_hugging_face
from maskline.model.directory import CONFIG, TokenizerFiles, export, load_encoder, load_pretraining_model, read_model
from maskline.model.heads import Inputs, PretrainingModel
from maskline.model.modernbert.architecture import ARCHITECTURE
from maskline.model.modernbert.convert import config, model_params
from maskline.tokenization.model_files import files_for_model
from tests.model.bert.test_convert import close, randomize, randomized
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, unpadded, write_tokenizer

PARAMS = tiny_params(MODERNBERT | {"model.dropout": 0.1, "model.layer_norm_eps": 1e-7, "model.rope_theta": 30.0}).model


def padded_batch():
    """Return input_ids and attention_mask of three sequences, two of them padded."""
    mask = torch.arange(9) < torch.tensor([9, 7, 4])[:, None]
    input_ids = torch.randint(5, VOCAB_SIZE, (3, 9), generator=torch.Generator().manual_seed(2))
    return input_ids * mask, mask


def theirs():
    with torch.random.fork_rng():  # it draws from the global generator
        torch.manual_seed(0)
        content = config(PARAMS, VOCAB_SIZE, "ModernBertForMaskedLM")
        return randomize(transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**content)), seed=0)


def compare(ours, theirs):
    """Check that both compute the same, at every layer."""
    input_ids, mask = padded_batch()
    arguments = unpadded(input_ids, torch.zeros_like(input_ids), mask)
    with torch.no_grad():
        output = theirs(input_ids, mask.long(), output_hidden_states=True)
        x, layout = ours.encoder.embeddings(arguments[0]), arguments[2]
        rotation = ours.encoder.rotation(layout)
        close(x, output.hidden_states[0][mask])
        for layer, hidden in zip(ours.encoder.layers[:-1], output.hidden_states[1:-1], strict=True):
            x = layer(x, layout, rotation)
            close(x, hidden[mask])
        x = ours.encoder(*arguments)
        nothing = torch.zeros(0, dtype=torch.long)
        mlm, nsp = ours(Inputs(*arguments, torch.arange(len(x)), nothing, nothing))
    assert nsp is None
    assert output.logits[mask].std(0).mean() > 0.2  # else the comparison would say little
    close(x, output.hidden_states[-1][mask])
    close(mlm, output.logits[mask])


def test_masked_tokens_are_scored_as_transformers_does_with_its_weights():
    peer, ours = theirs(), randomized(PretrainingModel(PARAMS, VOCAB_SIZE))
    assert from_hugging_face(ours, peer.state_dict()) == Fit(missing=[], left_over=["decoder.weight"])
    compare(ours, peer)


def test_an_exported_model_is_scored_as_transformers_does(tmp_path):
    ours = randomized(PretrainingModel(PARAMS, VOCAB_SIZE))
    tokenizer = write_tokenizer(tmp_path / "tokenizer")
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, segments=False))
    export(tmp_path / "model", ours, "ModernBertForMaskedLM", files, "# card", {})
    peer, info = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert type(peer) is transformers.ModernBertForMaskedLM
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert peer.config.layer_types == ["full_attention"] * PARAMS.layers
    compare(ours, peer.eval())
    again = load_pretraining_model(tmp_path / "model").eval()
    compare(again, peer)
    assert again.mlm.decoder.weight is again.encoder.token_embedding.weight
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    assert set(read("w5 w6", "w7")) == {"input_ids", "attention_mask"}
    bare = transformers.AutoModel.from_pretrained(tmp_path / "model").eval()
    input_ids, mask = padded_batch()
    with torch.no_grad():
        x = load_encoder(tmp_path / "model").eval()(*unpadded(input_ids, input_ids, mask))
        close(x, bare(input_ids, mask.long()).last_hidden_state[mask])


def test_there_and_back_is_the_same_model():
    ours = randomized(PretrainingModel(PARAMS, VOCAB_SIZE))
    weights = to_hugging_face(ours)
    assert not [name for name in weights if name.startswith(("mlm", "encoder")) or name == "decoder.weight"]
    copy = PretrainingModel(PARAMS, VOCAB_SIZE)
    assert from_hugging_face(copy, weights) == Fit([], [])
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, copy.state_dict()[name]), name


def test_config_and_parameters_say_the_same():
    start = {"neighbour_heads": 0, "neighbour_score": 1.0}  # how weights start is no part of what they are
    content = config(PARAMS, VOCAB_SIZE, "ModernBertModel")
    for one in (content, transformers.ModernBertConfig(**content).to_dict()):
        assert model_params(one) == PARAMS.model_copy(update=start)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("attention_bias", True, "attention_bias is True, and ours has False"),
        ("global_attn_every_n_layers", 3, "global_attn_every_n_layers is 3, and ours has 1"),
        ("model_type", "roberta", "model_type roberta is none of bert, modernbert"),
        ("num_hidden_layers", 4, "its weights have 3 layers, its config 4"),
        ("intermediate_size", 15, r"layers.0.mlp.Wi is \(28, 20\), and by its config \(30, 20\)"),
        ("vocab_size", 98, "embeddings.tok_embeddings is"),
    ],
)
def test_a_directory_that_holds_something_else_is_told(tmp_path, key, value, expected):
    files = TokenizerFiles(*files_for_model(write_tokenizer(tmp_path / "tokenizer"), PARAMS.max_positions))
    model = PretrainingModel(PARAMS, VOCAB_SIZE)
    export(tmp_path / "model", model, "ModernBertForMaskedLM", files, "# card", {})
    write_json(tmp_path / "model" / CONFIG, read_json(tmp_path / "model" / CONFIG) | {key: value})
    write_manifest(tmp_path / "model", {})
    with pytest.raises(UserError, match=f"holds no model of this pipeline .*{expected}"):
        read_model(tmp_path / "model", "pretrain")


def test_the_weights_that_are_counted_are_those_of_the_encoder():
    encoder = ARCHITECTURE.encoder(PARAMS, VOCAB_SIZE)
    assert PARAMS.matrix_weights(VOCAB_SIZE) == sum(p.numel() for p in encoder.parameters() if p.dim() == 2)
