"""From what is typed, or from NumPy, to the device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding
from torch import Tensor

from maskline.errors import UserError
from maskline.examples.batches import Batch
from maskline.model.attention import Layout
from maskline.model.heads import Inputs
from maskline.tokenization.load import LoadedTokenizer


def encode_typed(tokenizer: LoadedTokenizer, longest: int, text: str, second: str | None = None) -> Encoding:
    """Return [CLS] text [SEP], or [CLS] text [SEP] second [SEP], as typed on a command line; [MASK] in it is the token.

    Raises:
        UserError: there are more than `longest` tokens, or a text came as bytes that are not UTF-8.
    """
    if any("\ud800" <= character <= "\udfff" for character in text + (second or "")):
        raise UserError("the text is not UTF-8: check the encoding of the terminal")
    encoding = tokenizer.backend.encode(text, second)
    if len(encoding.ids) > longest:
        subject = "text has" if second is None else "pair has"
        raise UserError(f"the {subject} {len(encoding.ids)} tokens and the model reads at most {longest}: shorten it")
    return encoding


def move(values: NDArray[Any] | Tensor, device: torch.device) -> Tensor:
    """Return an array or a tensor on `device`, copied while the device works on where that is possible."""
    tensor = torch.as_tensor(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def layout_of(lengths: NDArray[np.int64], device: torch.device) -> Layout:
    """Return where sequences of `lengths`, (B,), lie on `device` when they stand one after the other."""
    return Layout.of(torch.from_numpy(lengths)).map(lambda tensor: move(tensor, device))


def to_inputs(batch: Batch, device: torch.device) -> Inputs:
    """Return a batch on `device` without its padding."""
    real = batch.attention_mask
    place = np.cumsum(real.ravel()) - 1  # of each real token among all of them
    return Inputs(
        input_ids=move(batch.input_ids[real], device),
        token_type_ids=move(batch.token_type_ids[real], device),
        layout=layout_of(real.sum(1), device),
        masked_positions=move(place[batch.masked_positions], device),
        masked_labels=move(batch.masked_labels, device),
        next_sentence_label=move(batch.next_sentence_label, device),
    )
