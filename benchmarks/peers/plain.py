"""plain: the training loop that a reader of the paper writes (Devlin et al. 2019).

It has `nn.MultiheadAttention`, logits over the whole vocabulary at every position, padded batches, and AdamW with
PyTorch's defaults. The reader knows that attention weights need not be returned, and that BERT's decoder is tied. The
head `linear` is a single matrix, as at the end of a textbook Transformer.
"""

# Dimensions: B batch, T sequence, D hidden, V vocabulary.

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from benchmarks.peers.peer import Batch, Feature, Peer, Recipe
from maskline.core.labels import IGNORE_INDEX
from maskline.examples.settings import MaskingRates
from maskline.model.bert.settings import Settings
from maskline.settings.params import Params
from maskline.tokenization.load import SpecialIds

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu}
# (name here, Hugging Face's name), longer names first.
_NAMES = (
    ("embedding_norm", "bert.embeddings.LayerNorm"),
    ("token.", "bert.embeddings.word_embeddings."),
    ("position.", "bert.embeddings.position_embeddings."),
    ("segment.", "bert.embeddings.token_type_embeddings."),
    ("blocks.", "bert.encoder.layer."),
    ("attention.out_proj", "attention.output.dense"),
    ("attention_norm", "attention.output.LayerNorm"),
    ("output_norm", "output.LayerNorm"),
    (".up.", ".intermediate.dense."),
    (".down.", ".output.dense."),
    ("pooler", "bert.pooler.dense"),
    ("transform_norm", "cls.predictions.transform.LayerNorm"),
    ("transform.weight", "cls.predictions.transform.dense.weight"),
    ("transform.bias", "cls.predictions.transform.dense.bias"),
    ("decoder.bias", "cls.predictions.bias"),
    ("decoder.weight", "cls.predictions.decoder.weight"),
    ("nsp.", "cls.seq_relationship."),
)


class Block(nn.Module):
    """One layer of the encoder, with LayerNorm after each residual sum."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(params.hidden, params.heads, params.dropout, batch_first=True)
        self.attention_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.up = nn.Linear(params.hidden, params.intermediate)
        self.down = nn.Linear(params.intermediate, params.hidden)
        self.output_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.dropout = nn.Dropout(params.dropout)
        self.activation = ACTIVATIONS[params.activation]

    def attend(self, x: Tensor, padding: Tensor) -> Tensor:
        """Mix tokens: x (B, T, D), padding (B, T) bool, True = padding -> (B, T, D)."""
        mixed: Tensor = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)[0]
        return mixed

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        """Transform x (B, T, D) -> (B, T, D)."""
        x = self.attention_norm(x + self.dropout(self.attend(x, padding)))
        return self.output_norm(x + self.dropout(self.down(self.activation(self.up(x)))))  # type: ignore[no-any-return]


class Bert(nn.Module):
    """Embeddings, blocks, and both heads."""

    def __init__(self, params: Settings, vocab_size: int, block: type[Block] = Block) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, params.hidden)
        self.position = nn.Embedding(params.max_positions, params.hidden)
        self.segment = nn.Embedding(2, params.hidden)
        self.embedding_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.dropout = nn.Dropout(params.dropout)
        self.blocks = nn.ModuleList(block(params) for _ in range(params.layers))
        self.linear = params.mlm_head == "linear"
        if not self.linear:
            self.transform = nn.Linear(params.hidden, params.hidden)
            self.transform_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
            self.activation = ACTIVATIONS[params.activation]
        self.decoder = nn.Linear(params.hidden, vocab_size)
        self.pooler = nn.Linear(params.hidden, params.hidden)
        self.nsp = nn.Linear(params.hidden, 2)
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Embedding):
                nn.init.normal_(part.weight, std=params.initializer_range)
        if not self.linear:
            self.decoder.weight = self.token.weight

    def hidden_states(self, input_ids: Tensor, token_type_ids: Tensor, padding: Tensor) -> Tensor:
        """Encode input_ids (B, T) -> (B, T, D); padding is (B, T) bool, True = padding."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.token(input_ids) + self.position(positions) + self.segment(token_type_ids)
        x = self.dropout(self.embedding_norm(x))
        for block in self.blocks:
            x = block(x, padding)
        return x  # type: ignore[no-any-return]

    def predict(self, x: Tensor) -> Tensor:
        """Score the vocabulary for encoded tokens: (..., D) -> (..., V) logits."""
        if not self.linear:
            x = self.transform_norm(self.activation(self.transform(x)))
        return self.decoder(x)  # type: ignore[no-any-return]

    def classify(self, x: Tensor) -> Tensor:
        """Score the sentence pairs by their [CLS]: (B, T, D) -> (B, 2) logits."""
        return self.nsp(torch.tanh(self.pooler(x[:, 0])))  # type: ignore[no-any-return]


class Plain(Peer):
    """The textbook loop."""

    def __init__(
        self, params: Params, vocab_size: int, special: SpecialIds, recipe: Recipe, device: torch.device
    ) -> None:
        assert isinstance(params.model, Settings), "the peers are BERT"
        self.bert = Bert(params.model, vocab_size)
        self.masking = params.masking
        self.nsp = params.pretrain.nsp
        self.vocab_size = vocab_size
        self.special = special
        super().__init__(self.bert, recipe, device, fused=None)

    def collate(self, features: Sequence[Feature]) -> Batch:
        """Mask a batch and pad it to its longest example; the label of what is not to be predicted is -100."""
        ids, types, special_tokens = (
            pad_sequence([torch.tensor(feature[name]) for feature in features], True, value)
            for name, value in (("input_ids", self.special.pad), ("token_type_ids", 0), ("special_tokens_mask", 1))
        )
        shown, labels = mask(ids, special_tokens == 1, self.masking, self.special.mask, self.vocab_size)
        return {
            "input_ids": shown,
            "token_type_ids": types,
            "attention_mask": ids != self.special.pad,
            "labels": labels,
            "next_sentence_label": torch.tensor([feature["next_sentence_label"] for feature in features]),
        }

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy over all positions that have a label, plus that of the sentence pairs."""
        x = self.bert.hidden_states(batch["input_ids"], batch["token_type_ids"], ~batch["attention_mask"].bool())
        mlm = self.mlm_loss(x, batch["labels"])
        if not self.nsp:
            return mlm
        nsp = F.cross_entropy(self.bert.classify(x), batch["next_sentence_label"], ignore_index=IGNORE_INDEX)
        return mlm + nsp

    def mlm_loss(self, x: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of labels (B, T), without those of -100, for encoded tokens x (B, T, D)."""
        return F.cross_entropy(self.bert.predict(x).flatten(0, 1), labels.flatten(), ignore_index=IGNORE_INDEX)


class Labelled(Plain):
    """The textbook's loop without the logits that its loss ignores: the same loss in a fraction of the time."""

    def mlm_loss(self, x: Tensor, labels: Tensor) -> Tensor:
        """Return the same mean."""
        labelled = labels != IGNORE_INDEX
        return F.cross_entropy(self.bert.predict(x[labelled]), labels[labelled])


def to_hugging_face(bert: Bert) -> dict[str, Tensor]:
    """Return the weights of `bert` under Hugging Face's names, for `maskline.model.convert`."""
    found: dict[str, Tensor] = {}
    for name, tensor in bert.named_parameters():
        theirs = name
        for own, other in _NAMES:
            theirs = theirs.replace(own, other)
        if "in_proj_" in theirs:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                found[theirs.replace("attention.in_proj_", f"attention.self.{part}.")] = piece
        else:
            found[theirs] = tensor
    return found


def begin_with(bert: Bert, theirs: Mapping[str, Tensor]) -> None:
    """Copy weights under Hugging Face's names into `bert`."""
    with torch.no_grad():
        for name, tensor in to_hugging_face(bert).items():
            tensor.copy_(theirs[name])  # the parts of a stacked matrix are views


def mask(ids: Tensor, keep: Tensor, rates: MaskingRates, mask_id: int, vocab_size: int) -> tuple[Tensor, Tensor]:
    """Mask ids (B, T), but not where `keep` (B, T) is True; return the masked ids and the labels, -100 elsewhere."""
    picked = (torch.rand(ids.shape) < rates.rate) & ~keep
    choice = torch.rand(ids.shape)
    replaced = torch.where(choice < rates.mask + rates.random, torch.randint(vocab_size, ids.shape), ids)
    shown = torch.where(picked, torch.where(choice < rates.mask, mask_id, replaced), ids)
    return shown, torch.where(picked, ids, IGNORE_INDEX)
