"""What is sent and answered, as JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from maskline.inference.typed import has_half_character


def _whole(text: str) -> str:
    if has_half_character(text):
        raise PydanticCustomError("half_character", "there is half a character (a surrogate): remove it")
    return text


def _no_token_ids(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(one, int | list) for one in value):
        raise PydanticCustomError("token_ids", "token ids are of another tokenizer: send texts")
    return value


Text = Annotated[str, AfterValidator(_whole)]
Texts = Annotated[list[Text], Field(min_length=1)]
Truncate = Annotated[bool, Field(description="Read the beginning of what is too long, in place of refusing it.")]
MOST_HITS = 1_000
MOST_FILLS = 100


class Question(BaseModel):
    """What is sent: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmbedRequest(Question):
    """Texts that get vectors."""

    texts: Texts
    pooling: Annotated[
        Literal["mean", "cls"], Field(description="What stands for a text: the mean of its tokens, or [CLS].")
    ] = "mean"
    normalize: Annotated[bool, Field(description="Give each vector the length 1.")] = False
    truncate: Truncate = False


class Answer(BaseModel):
    """What all answers about texts say."""

    model: str
    tokens: Annotated[list[int], Field(description="Of each input, as it was sent, with [CLS] and [SEP].")]
    truncated: Annotated[list[int], Field(description="Which inputs were cut, counted from 0.")]


class EmbedAnswer(Answer):
    """Vectors, in the order of the texts."""

    vectors: list[list[float]]


class PredictRequest(Question):
    """Inputs of the task that the model was fine-tuned for; /info says under `fields` what one consists of."""

    inputs: Annotated[
        list[Text | dict[str, Text]],
        Field(min_length=1, description="Each a text, or an object with the fields of an input."),
    ]
    truncate: Truncate = False


class PredictAnswer(Answer):
    """What the model says of each input, as `pipeline.predict` prints it."""

    predictions: list[dict[str, Any]]


class FillRequest(Question):
    """Texts with one or more [MASK]."""

    texts: Texts
    top: Annotated[int, Field(ge=1, le=MOST_FILLS, description="How many tokens to name for each mask.")] = 5


class Filled(BaseModel):
    """A token in place of a mask."""

    token: str
    probability: float
    text: Annotated[str, Field(description="The whole text with it; other masks stay.")]


class FillAnswer(BaseModel):
    """For each text, for each of its masks, the most probable tokens."""

    model: str
    tokens: list[int]
    fills: list[list[list[Filled]]]


class SearchRequest(Question):
    """A query."""

    query: Text
    k: Annotated[int, Field(ge=1, le=MOST_HITS, description="How many documents.")] = 10
    method: Literal["fused", "bm25", "flat", "ivf", "hnsw"] = "fused"
    truncate: Truncate = False


class Found(BaseModel):
    """A document."""

    id: str
    title: str
    snippet: str
    score: float


class SearchAnswer(BaseModel):
    """The documents that fit best, with scores that only those of one method compare with."""

    model: str
    truncated: bool
    hits: list[Found]


class OpenAIRequest(Question):
    """What clients of OpenAI send; `truncate` is ours (`extra_body`)."""

    input: Annotated[
        Text | Texts, BeforeValidator(_no_token_ids), Field(description="A text or several; no token ids.")
    ]
    model: str
    encoding_format: Annotated[Literal["float", "base64"], Field(description="base64: of little-endian float32.")] = (
        "float"
    )
    dimensions: Annotated[int | None, Field(description="Those that the model has.")] = None
    user: Annotated[str | None, Field(description="Not used.")] = None
    truncate: Truncate = False


class OpenAIVector(BaseModel):
    """The vector of a text, of length 1."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """Tokens of all texts, as they were sent."""

    prompt_tokens: int
    total_tokens: int


class OpenAIAnswer(BaseModel):
    """Vectors in OpenAI's shape."""

    object: Literal["list"]
    model: str
    data: list[OpenAIVector]
    usage: Usage


class Fault(BaseModel):
    """What went wrong."""

    message: Annotated[str, Field(description="One line.")]
    type: str
    param: None = None
    code: str | None = None


class ErrorAnswer(BaseModel):
    """Every error has this shape, which is OpenAI's."""

    error: Fault
