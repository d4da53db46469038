"""One encoder under the heads of several tasks."""

from collections.abc import Mapping
from typing import Self

from torch import nn

from maskline.model.heads import EncoderModel


class SharedModel(nn.Module):
    """The networks of several tasks, of which all have the encoder of the first: it is trained and saved once."""

    def __init__(self, networks: Mapping[str, EncoderModel]) -> None:
        """Give each of `networks`, by the name of its task, the encoder of the first."""
        super().__init__()
        self._networks = tuple(networks.values())
        self.encoder = self._networks[0].encoder
        for network in self._networks:
            network.encoder = self.encoder
        self.heads = nn.ModuleList(
            nn.ModuleDict({name: part for name, part in network.named_children() if part is not self.encoder})
            for network in self._networks
        )

    def train(self, mode: bool = True) -> Self:
        """Put the networks in training mode, or in evaluation mode."""
        for network in self._networks:
            network.train(mode)
        return super().train(mode)
