import json

import torch

from maskline.model.attention import Layout
from maskline.tasks.similarity.model import SimilarityModel
from tests.tasks.similarity.scored import params
from tests.tiny import VOCAB_SIZE

PARAMS = params({"model.initializer_range": 0.2}).model


def model():
    made = SimilarityModel(PARAMS, VOCAB_SIZE)
    made.reset(torch.Generator().manual_seed(0))
    return made.eval()


def test_a_vector_is_the_mean_over_all_tokens_of_a_text_alone():
    made, texts = model(), [[2, 7, 8, 9, 3], [2, 3], [2, 11, 3]]
    with torch.no_grad():
        together = made(torch.tensor([*texts[0], *texts[1], *texts[2]]), Layout.of(torch.tensor([5, 2, 3])))
        for row, ids in zip(together, texts, strict=True):
            tokens = torch.tensor(ids)
            encoded = made.encoder(tokens, torch.zeros_like(tokens), Layout.of(torch.tensor([len(ids)])))
            torch.testing.assert_close(row, encoded.mean(0), atol=1e-6, rtol=0)


def test_all_but_the_pooler_is_trained():
    made = model()
    made(torch.tensor([2, 7, 3]), Layout.of(torch.tensor([3]))).sum().backward()
    without = {name for name, weight in made.named_parameters() if weight.grad is None}
    assert without == {"encoder.pooler.weight", "encoder.pooler.bias"}


def test_the_files_say_how_texts_are_pooled():
    files = {name: json.loads(text) for name, text in model().files().items()}
    assert files["1_Pooling/config.json"] == {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    assert files["sentence_bert_config.json"]["max_seq_length"] == 32
    assert [module["path"] for module in files["modules.json"]] == ["", "1_Pooling"]
