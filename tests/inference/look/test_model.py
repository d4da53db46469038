import numpy as np
import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.inference.look import model as look_model
from maskline.inference.look.inside import look_inside
from maskline.inference.look.model import look_at, open_model, principal_places, random_weights
from maskline.model.attention import Layout
from tests.adapters.test_directory import METHODS, SHAPES, write_pretrained, written

TEXT, SECOND = "w5 w6 w7 w6", "w8 w9"


def looked(models, kind, text=TEXT, second=None, top=5):
    (look,) = look_at([open_model(models / kind)], text, second, top)
    return look


def peer(models, kind, name):
    return getattr(transformers, name).from_pretrained(models / kind).eval()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("pretraining", "BertForMaskedLM"), ("mlm", "BertForMaskedLM"), ("modernbert", "ModernBertForMaskedLM")],
)
def test_each_place_has_the_guesses_that_transformers_makes_when_it_is_masked(models, kind, name):
    look = looked(models, kind)
    model = peer(models, kind, name)
    assert look.tokens == ["[CLS]", "w5", "w6", "w7", "w6", "[SEP]"]
    assert [filled.place for filled in look.filled] == [1, 2, 3, 4]
    for filled in look.filled:
        ids = torch.tensor(look.input_ids)[None]
        ids[0, filled.place] = 4
        with torch.no_grad():
            row = model(input_ids=ids).logits[0, filled.place].softmax(0)
        own = row[look.input_ids[filled.place]].item()
        assert filled.probability == pytest.approx(own, abs=1e-5)
        assert filled.rank == 1 + (row > own).sum()
        values, tokens = row.topk(5)
        assert [guess.score for guess in filled.guesses] == pytest.approx(values.tolist(), abs=1e-5)
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        names = [special[token] if token < 5 else f"w{token}" for token in tokens.tolist()]
        assert [guess.token for guess in filled.guesses] == names


def test_a_mask_that_was_typed_stays_and_has_no_probability_of_itself(models):
    look = looked(models, "pretraining", "w5 [MASK] w7")
    assert look.tokens[2] == "[MASK]"
    first, typed, _ = look.filled
    assert typed.probability is typed.rank is None
    ids = torch.tensor(look.input_ids)[None]
    ids[0, 1] = 4
    with torch.no_grad():
        row = peer(models, "pretraining", "BertForMaskedLM")(input_ids=ids).logits[0, 1].softmax(0)
    assert first.probability == pytest.approx(row[5].item(), abs=1e-5)


def test_a_pair_has_a_probability_where_a_head_was_trained_for_it(models):
    look = looked(models, "pretraining", TEXT, SECOND)
    assert look.token_type_ids.tolist() == [0] * 6 + [1] * 3
    with torch.no_grad():
        inputs = {
            "input_ids": torch.tensor(look.input_ids)[None],
            "token_type_ids": torch.tensor(look.token_type_ids)[None],
        }
        logits = peer(models, "pretraining", "BertForPreTraining")(**inputs).seq_relationship_logits
    assert look.is_next == pytest.approx(logits.softmax(1)[0, 0].item(), abs=1e-5)
    assert look.is_next != pytest.approx(0.5, abs=0.01)
    assert looked(models, "pretraining").is_next is None
    for kind in ("mlm", "encoder", "modernbert"):
        assert looked(models, kind, TEXT, SECOND).is_next is None


def test_a_model_without_a_head_for_masked_tokens_shows_the_rest(models, tiny_project):
    assert looked(models, "encoder").filled is None
    assert looked(models, "linear").filled is not None  # the head lies beside the encoder
    (look,) = look_at([open_model(tiny_project / "data" / "models" / "sentiment")], "the river", None, 5)
    assert look.filled is None
    assert look.attention.shape[-1] == len(look.tokens)


def test_neighbours_are_the_nearest_by_cosine_and_each_token_has_them_once(models):
    opened = open_model(models / "pretraining")
    look = looked(models, "pretraining")
    assert [one.token for one in look.neighbours] == ["[CLS]", "w5", "w6", "w7", "[SEP]"]
    embedding = opened.model.encoder.token_embedding.weight.detach().double()
    cosine = torch.nn.functional.cosine_similarity(embedding[5][None], embedding)
    cosine[5] = -2
    values, tokens = cosine.topk(5)
    nearest = look.neighbours[1].nearest
    assert [guess.score for guess in nearest] == pytest.approx(values.tolist(), abs=1e-5)
    assert [guess.token for guess in nearest] == [opened.tokenizer.pieces[token] for token in tokens.tolist()]


def test_random_weights_are_the_same_network_and_always_the_same(models):
    opened = open_model(models / "pretraining")
    first, again = random_weights(opened), random_weights(opened)
    for name, weight in opened.model.named_parameters():
        one = first.model.get_parameter(name)
        assert torch.equal(one, again.model.get_parameter(name))
        assert one.shape == weight.shape
    embedding = first.model.encoder.token_embedding.weight
    assert not torch.equal(embedding, opened.model.encoder.token_embedding.weight)
    pretrained, untrained = look_at([opened, first], TEXT, SECOND, 3)
    assert untrained.name == "random weights"
    assert untrained.tokens == pretrained.tokens
    assert untrained.filled is not None
    assert np.abs(untrained.attention - pretrained.attention).max() > 0.1


def test_components_of_points_on_a_line():
    """Of 0, 1 and 5 along (3, 4) the mean is 2, and all of the variance is on one component."""
    line = np.array([0.0, 1.0, 5.0])[:, None] * np.array([3.0, 4.0])
    places, variance = principal_places(np.stack([line, -line, 0 * line]).astype(np.float32))
    assert places[0, :, 0] == pytest.approx([-10, -5, 15])
    assert places[1] == pytest.approx(places[0])  # mirrored, they would move for nothing
    assert places[2] == pytest.approx(0 * line)
    assert places[:2, :, 1] == pytest.approx(np.zeros((2, 3)))
    assert variance[:2] == pytest.approx(np.array([[1, 0]] * 2))
    assert not variance[2].any()


def test_components_are_those_of_scikit_learn_and_keep_their_signs():
    from sklearn.decomposition import PCA

    draw = np.random.default_rng(0)
    first = draw.normal(size=(7, 5))
    vectors = np.stack([first, first + 0.01 * draw.normal(size=(7, 5)), draw.normal(size=(7, 5))])
    places, variance = principal_places(vectors.astype(np.float32))
    for place, share, layer in zip(places, variance, vectors, strict=True):
        pca = PCA(2).fit(layer)
        assert np.abs(place) == pytest.approx(np.abs(pca.transform(layer)), abs=1e-5)
        assert share == pytest.approx(pca.explained_variance_ratio_, abs=1e-5)
    assert (places[0, np.abs(places[0]).argmax(0), [0, 1]] > 0).all()
    assert np.abs(places[1] - places[0]).max() < 0.2
    assert ((places[1] * places[2]).sum(0) >= 0).all()


def test_one_number_a_vector_has_one_component():
    places, variance = principal_places(np.array([[[1.0], [3.0]]], np.float32))
    assert np.abs(places[0]) == pytest.approx(np.array([[1, 0], [1, 0]]))
    assert variance[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "second", "message"),
    [
        ("", None, "the text has no token"),
        (" \u200b", None, "the text has no token"),
        ("w5", "", "the second text has no token"),
        ("w5 " * 40, None, "the text has 42 tokens and the model reads at most 32: shorten it"),
        ("w5 " * 20, "w6 " * 20, "the pair has 43 tokens and the model reads at most 32: shorten it"),
        ("caf\udce9", None, "the text is not UTF-8"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(models, text, second, message):
    with pytest.raises(UserError, match=message):
        looked(models, "pretraining", text, second)


def test_more_attention_than_a_page_holds_is_refused_with_the_length_that_it_does(models, monkeypatch):
    opened = [open_model(models / "pretraining"), open_model(models / "encoder")]
    monkeypatch.setattr(look_model, "ATTENTION_BYTES", 2 * 2 * (2 * 2) * 8**2)  # of two models, two layers, two heads
    assert look_at(opened, "w5 w6 w7 w8 w9 w10", None, 5)[0].attention.shape[-1] == 8
    message = "the text has 9 tokens, and a page of 2 MB has room for the attention of these models to 8: shorten it"
    with pytest.raises(UserError, match=message):
        look_at(opened, "w5 w6 w7 w8 w9 w10 w11", None, 5)


def test_what_is_no_model_is_refused(models, tmp_path):
    with pytest.raises(UserError, match="is incomplete"):
        open_model(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"config\.json is missing"):
        open_model(models / "tokenizer")


@pytest.mark.parametrize("method", ["lora", "houlsby"])
@pytest.mark.parametrize("architecture", SHAPES)
def test_what_was_trained_on_an_encoder_is_shown_at_work_on_it(tmp_path, architecture, method):
    write_pretrained(tmp_path)
    model = written(tmp_path, tmp_path / "x", params=METHODS[method], architecture=architecture)
    opened = open_model(tmp_path / "x")
    look, untrained, base = look_at(
        [opened, random_weights(opened), open_model(tmp_path / architecture)], TEXT, None, 5
    )
    ids, types = torch.tensor(look.input_ids), torch.tensor(look.token_type_ids)
    last = look_inside(opened.model.encoder, look.input_ids, look.token_type_ids, torch.device("cpu")).vectors[-1]
    with torch.no_grad():
        expected = model.encoder(ids, types, Layout.of(torch.tensor([len(ids)])))
    assert np.abs(last - expected.numpy()).max() < 1e-5
    assert np.abs(look.attention.sum(-1) - 1).max() < 1e-5
    assert np.abs(look.attention - base.attention).max() > 0.01
    assert np.abs(look.attention - untrained.attention).max() > 0.01
    assert look.filled is None
    assert base.filled is not None
