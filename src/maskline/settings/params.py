"""The whole of params.yaml, with the settings file of each task that it switches on.

Sections that shape a number are listed under a stage's `params:` in dvc.yaml. `compute` is not, because nothing in it
may change what a stage means to compute. What relates one section to another is checked here, before any work.
"""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

import maskline.tasks
from maskline.core.errors import UserError, quoted
from maskline.core.section import Language, Section, Seed
from maskline.distillation.settings import DistillationSettings, DistillParams
from maskline.evaluation.settings import EvaluateParams
from maskline.examples.settings import MaskingParams, PremaskParams
from maskline.finetuning.settings import EncoderParams, FinetuneParams, FinetuningSettings
from maskline.imports.settings import ImportParams
from maskline.model.settings import AnyModel
from maskline.multitask.settings import MultitaskParams, MultitaskSettings
from maskline.pretraining.settings import PretrainingSettings, PretrainParams
from maskline.settings.files import merge, read_yaml, validate
from maskline.shards.settings import TokenizeParams
from maskline.sources.settings import CorpusParams
from maskline.tasks.settings import TaskSettings
from maskline.training.settings import ComputeParams
from maskline.vocabulary.settings import TokenizerParams

PARAMS = Path("params.yaml")
TASKS = "tasks"
"""The folder of the tasks' settings files, beside params.yaml."""
OWN = {"task_settings"}
"""Fields of `Params` that come from other files."""
TASK_NAME = re.compile(r"(?!pretrained$)[a-z][a-z0-9_]*")
"""`pretrained` is a folder of data/models already."""


class Params(Section):
    """All of params.yaml, and under `task_settings` the file of each task that is switched on."""

    seed: Seed
    corpus: CorpusParams
    tasks: dict[str, str]
    """Name -> kind of each task that is switched on."""
    task_settings: dict[str, TaskSettings]
    tokenizer: TokenizerParams
    tokenize: TokenizeParams
    premask: PremaskParams
    masking: MaskingParams
    model: AnyModel
    pretrain: PretrainParams
    imports: list[Literal["encoder"]]
    """[encoder]: the stage `import` runs, which fetches an encoder of others."""
    imported: ImportParams
    encoder: EncoderParams
    finetune: FinetuneParams
    multitask: MultitaskParams
    distill: DistillParams
    evaluate: EvaluateParams
    compute: ComputeParams

    @property
    def language(self) -> Language:
        """Return the language of the corpus."""
        return self.corpus.language

    def pretraining(self) -> PretrainingSettings:
        """Return what the stage `pretrain` reads."""
        return PretrainingSettings(
            seed=self.seed,
            language=self.language,
            masking=self.masking,
            model=self.model,
            pretrain=self.pretrain,
            compute=self.compute,
        )

    def finetuning(self, task: str) -> FinetuningSettings:
        """Return what the stages that train and score `task` read.

        Raises:
            UserError: it is not switched on.
        """
        return FinetuningSettings(
            seed=self.seed,
            language=self.language,
            encoder=self.encoder,
            model=self.model,
            recipe=self.task(task).finetune,
            compute=self.compute,
        )

    def multitasking(self) -> MultitaskSettings:
        """Return what the command `multitask` reads.

        Raises:
            UserError: no tasks are named for it.
        """
        if not self.multitask.tasks:
            raise UserError(
                "multitask.tasks is []: name two or more of the tasks that are switched on, "
                f"{', '.join(self.tasks) or 'none now'}"
            )
        return MultitaskSettings(
            seed=self.seed,
            language=self.language,
            multitask=self.multitask,
            recipe=self.finetune,
            tasks={name: self.finetuning(name) for name in self.multitask.tasks},
            encoder=self.encoder,
            compute=self.compute,
        )

    def distilling(self) -> DistillationSettings:
        """Return what the command `distill` reads."""
        return DistillationSettings(
            seed=self.seed,
            language=self.language,
            model=self.model,
            distill=self.distill,
            recipe=self.distill.recipe(self.pretrain),
            compute=self.compute,
        )

    def task(self, name: str) -> TaskSettings:
        """Return the settings of the task `name`.

        Raises:
            UserError: it is not switched on.
        """
        if name not in self.task_settings:
            raise UserError(
                f"no task {name} is switched on: `tasks` in params.yaml has {', '.join(self.task_settings) or 'none'}"
            )
        return self.task_settings[name]

    @model_validator(mode="after")
    def _check(self) -> Self:
        lengths = {
            "premask.max_seq_length": self.premask.max_seq_length,
            "pretrain.max_seq_length": self.pretrain.max_seq_length,
            "pretrain.final_seq_length": self.pretrain.final_seq_length or 0,
        }
        going_on = self.pretrain.init_from is not None  # what that model reads is known once it is there
        if self.pretrain.nsp and not self.model.next_sentence and not going_on:
            raise ValueError(
                f"pretrain.nsp is true, and the architecture {self.model.architecture} has no segments to tell the "
                "sentences of a pair apart: set it to false"
            )
        if self.encoder.imported != (self.encoder.tokenizer == "data/imported/tokenizer"):
            raise ValueError(
                f"encoder.model {self.encoder.model} was trained with another tokenizer than {self.encoder.tokenizer}: "
                "change both"
            )
        if self.encoder.imported and not self.imports:
            raise ValueError(f"encoder.model is {self.encoder.model}, which no stage writes: set imports to [encoder]")
        if not self.encoder.imported:  # what another encoder reads is known once it is there
            recipes = {"finetune": self.finetune}
            recipes |= {f"{TASKS}/{name}.yaml: finetune": task.finetune for name, task in self.task_settings.items()}
            for name, recipe in ({} if going_on else recipes).items():
                if error := recipe.size_error(self.model.hidden):
                    raise ValueError(f"{name}.{error}")
            lengths["finetune.max_seq_length"] = self.finetune.max_seq_length
            lengths |= {
                f"{TASKS}/{name}.yaml: finetune.max_seq_length": t.finetune.max_seq_length
                for name, t in self.task_settings.items()
            }
        if unknown := [name for name in self.multitask.tasks if name not in self.tasks]:
            raise ValueError(
                f"multitask.tasks has {unknown[0]}, which is not switched on: `tasks` has "
                f"{', '.join(self.tasks) or 'none'}"
            )
        for name, length in ({} if going_on else lengths).items():
            if length > self.model.max_positions:
                raise ValueError(
                    f"{name} {length} is longer than model.max_positions {self.model.max_positions}: "
                    "shorten the one or raise the other"
                )
        return self


def load(path: Path = PARAMS) -> Params:
    """Return the parameters in `path`, and those of the tasks in the folder beside it, checked.

    Raises:
        UserError: a file is missing or no YAML, a key is unknown or missing, or a value is not acceptable; the message
            names file, key, value and what would be accepted.
    """
    content = read_yaml(path)
    return parse(content, task_files(content, path), path)


def task_files(content: Any, path: Path = PARAMS) -> dict[str, Any]:
    """Return name -> content of the settings file of each task that `content`, that of params.yaml, switches on.

    Raises:
        UserError: the tasks are not named as they should be, or a file is missing.
    """
    tasks = content.get("tasks") if isinstance(content, dict) else None
    if not isinstance(tasks, dict):
        return {}
    for name, kind in tasks.items():
        if not isinstance(name, str) or not TASK_NAME.fullmatch(name):
            raise UserError(
                f"{path}: tasks has {quoted(name)}: a name has small letters, digits and _, begins with a letter, "
                "and is not pretrained"
            )
        if isinstance(kind, dict):
            raise UserError(
                f"{path}: tasks.{name} holds settings, which stand in {TASKS}/{name}.yaml now: give its kind here, "
                f"{_alternatives()}"
            )
    return {name: read_yaml(path.parent / TASKS / f"{name}.yaml") for name in tasks}


def parse(content: Any, files: Mapping[str, Any], path: Path = PARAMS) -> Params:
    """Return contents that were read as parameters: `content` of `path`, `files` by the name of their task."""
    if not isinstance(content, dict):
        return validate(Params, content, path)
    if OWN & content.keys():
        raise UserError(f"{path}: unknown key {', '.join(OWN & content.keys())}: remove it")
    finetune = content.get("finetune")
    for name, value in finetune.items() if isinstance(finetune, dict) else ():
        if isinstance(value, dict):
            raise UserError(
                f"{path}: finetune.{name} is no key any more: finetune holds what all tasks share, and `finetune` in "
                f"{TASKS}/{name}.yaml what differs"
            )
    switched_on = content.get("tasks")
    for name, kind in switched_on.items() if isinstance(switched_on, dict) else ():
        if kind not in kinds():
            raise UserError(f"{path}: tasks.{name} is {quoted(kind)}, no kind of task: give {_alternatives()}")
    params = validate(Params, {**content, "task_settings": {}}, path)  # so that its own faults are told as its own
    tasks = {name: _task(name, kind, files.get(name), finetune, path) for name, kind in params.tasks.items()}
    return validate(Params, {**content, "task_settings": tasks}, path)


def _task(name: str, kind: str, content: Any, recipe: Any, path: Path) -> TaskSettings:
    file = path.parent / TASKS / f"{name}.yaml"
    schema: type[TaskSettings] = importlib.import_module(f"{maskline.tasks.__name__}.{kind}.settings").Settings
    if isinstance(content, dict):
        content = {"kind": kind, **content, "finetune": merge(recipe, content.get("finetune") or {})}
    return validate(schema, content, file)


def kinds() -> list[str]:
    """Return the kinds of task: the rooms in the folder of tasks."""
    return sorted(module.name for module in pkgutil.iter_modules(maskline.tasks.__path__) if module.ispkg)


def _alternatives() -> str:
    return " or ".join(kinds())


def settings_files(folder: Path) -> dict[str, Any]:
    """Return name -> content of params.yaml in `folder`, and of the file of each task that it switches on.

    Raises:
        UserError: a file is missing or no YAML, or params.yaml has no parameters.
    """
    path = folder / PARAMS
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise UserError(f"{path} has no parameters: `git restore {path}`")
    return {PARAMS.name: content} | {f"{TASKS}/{name}.yaml": file for name, file in task_files(content, path).items()}
