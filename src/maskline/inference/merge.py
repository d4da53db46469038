"""A whole model of what was trained on an encoder that stayed as it is."""

from pathlib import Path

from maskline.adapters.directory import ALONE, MERGED, TunedModel, read
from maskline.core.errors import UserError
from maskline.core.storage import INCOMPLETE, read_manifest
from maskline.inference.predict import use_of
from maskline.model.directory import TokenizerFiles, export
from maskline.tokenization.model_files import files_for_model


def merge(directory: Path, out: Path, encoder: Path | None = None) -> None:
    """Write the whole model of what `directory` holds, and the encoder that it stands on, to `out`, a new directory.

    Low-rank changes are added to the matrices that they change, so nothing is computed beside these any more.

    Args:
        directory: that `finetune` wrote by lora or probe.
        out: where the model goes.
        encoder: what it stands on; None: where its directory says.

    Raises:
        UserError: the directory is incomplete, or holds nothing that can be merged, or stands on another encoder; or
            `out` is there already, and no rest of a run that was killed.
    """
    if out.exists() and not (out / INCOMPLETE).exists():
        raise UserError(f"{out} is there already: name another directory")
    saved = read(directory, f"finetune@{directory.name}", encoder)
    if not isinstance(saved, TunedModel):
        raise UserError(f"{directory} holds a whole model already: it can be used as it is")
    whole = saved.merged()
    model = use_of(whole.config, directory).load(whole)
    shape = model.encoder.params
    files = TokenizerFiles(
        *files_for_model(directory, shape.max_positions, segments=shape.next_sentence, fills_masks=False)
    )
    own = model.architecture.config(shape, model.encoder.vocab_size, model.exported_as).keys()
    settings = {key: value for key, value in saved.config.items() if key not in own}
    manifest = read_manifest(directory, f"finetune@{directory.name}")
    provenance = {key: value for key, value in manifest.items() if key != "files"}
    card = (directory / "README.md").read_text(encoding="utf-8").replace(ALONE, MERGED)
    untrained = () if model.pooled else model.architecture.names.pooler
    export(out, model, model.exported_as, files, card, provenance, settings, untrained=untrained)
