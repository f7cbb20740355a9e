"""A language model behind a chat API: each row fills a prompt, and a label is read from each answer.

Any server that speaks OpenAI's chat completions will do. Requests are sent, paced and repeated as for any other service
(:mod:`isonomia.models.http`). What is an answer is decided here: one that cannot be read, or that was refused, is a
prediction of its own and never asked for again, since asking until an answer suits would change the rates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeAlias, TypeGuard
from urllib.parse import urlsplit

from isonomia.errors import ModelError, UsageError, nearest
from isonomia.models.checked import check_number, option_error
from isonomia.models.client import HttpSender, shown_address
from isonomia.models.http import checked_sender, in_parallel
from isonomia.models.meter import current_meter
from isonomia.models.payloads import AnswerPath, RequestTemplate, json_value, plain_rows
from isonomia.models.protocol import Answer, ModelFacts
from isonomia.populations.fingerprint import fingerprint_of, identity_of
from isonomia.populations.prompts import TextTemplate
from isonomia.populations.table import Table, column_from
from isonomia.spec.tree import Value
from isonomia.wording import listed

UNREADABLE, REFUSED = "unreadable", "refused"
"""The predictions for an answer that does not have exactly one label, and for a refusal."""

_LEAST_BATCH = 8
"""The fewest rows of a batch of a check: a request takes long, and several at once as long as one. It does not depend
on how many are sent at once, so that no answer does."""

Answers: TypeAlias = Mapping[str, str] | str | Callable[[str], Value | None]

_OWN_FIELDS = ("model", "messages", "temperature", "max_tokens", "stream", "n")
_PRICES = ("input", "output")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChatModel:
    """A language model behind a chat API, as a classifier of rows.

    An answer from which exactly one label cannot be read is the prediction ``"unreadable"``: one without a label, with
    two, cut off at ``max_tokens``, or without text. One that the model or a content filter refuses is ``"refused"``. A
    verdict says how many there were. Lost connections, time-outs, 429 (after the time that it asks to wait), 5xx and
    replies that are not a chat completion are sent again, up to ``retries`` times; then the check ends with an error.

    Parameters
    ----------
    url
        The address of the API, ``"http://localhost:8000/v1"``; ``/chat/completions`` is added if it is not there.
    model
        The name of the model there.
    answers
        How a label is read from the text of an answer. A mapping from label to a word or a regular expression, found
        as whole words in any case, ``{"yes": "yes|yeah", "no": "no"}``; a path to a field of the answer, which is then
        JSON, ``"verdict.label"``; or a function of the text, which gives ``None`` for one that it cannot read.
    prompt, system
        What the user and the system say. ``{name}`` stands for the value of a column, ``{{`` for a brace. Only the
        columns that are named here are sent.
    temperature
        0 for the likeliest answer; above 0, or with ``None`` for the default of the service, the model answers at
        random, unless ``parameters`` has a ``seed``.
    repeats
        How often each row of a sample is queried: its answers are then a cluster, one draw together.
    max_tokens
        The maximum number of tokens of an answer; ``None`` to send no limit.
    prices
        What tokens cost, in US dollars for each, ``{"input": 2.5e-6, "output": 1e-5}``, for a budget in dollars.
    parameters
        Further fields of the request, such as ``{"top_p": 0.9, "response_format": {"type": "json_object"}}``.
    token_env, token_header, headers, timeout, retries, backoff, rate, version
        As for :class:`~isonomia.HttpModel`.
    parallel
        How many requests are under way at once. It changes neither which answers are used nor their order.

    Raises
    ------
    UsageError
        When an option makes no sense; before anything is sent.
    """

    url: str = field(kw_only=False)
    model: str
    answers: Answers
    prompt: str = "{prompt}"
    system: str | None = None
    temperature: float | None = 0.0
    repeats: int = 1
    max_tokens: int | None = 256
    prices: Mapping[str, float] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    token_env: str | None = None
    token_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parallel: int = 8
    timeout: float = 60.0
    retries: int = 5
    backoff: float = 0.5
    rate: float | None = None
    version: str = ""
    _template: RequestTemplate = field(init=False, repr=False)
    _sender: HttpSender = field(init=False, repr=False)
    _read_label: Callable[[str], Value | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sender = checked_sender(self, _endpoint(self.url), garbled=self.retries, is_refusal=_is_refusal)
        _check_options(self)
        object.__setattr__(self, "_sender", sender)
        object.__setattr__(self, "_read_label", _reader(self.answers))
        prompt = TextTemplate.of(self.prompt, "prompt")
        system = None if self.system is None else TextTemplate.of(self.system, "system")
        columns = tuple(dict.fromkeys((*prompt.columns, *(() if system is None else system.columns))))
        if not columns:
            raise option_error("prompt", "text with the name of a column in braces, 'Is {name} suited?'", self.prompt)
        request = {
            "model": self.model,
            "messages": [
                *([] if system is None else [{"role": "system", "content": system}]),
                {"role": "user", "content": prompt},
            ],
            **({} if self.temperature is None else {"temperature": self.temperature}),
            **({} if self.max_tokens is None else {"max_tokens": self.max_tokens}),
            **self.parameters,
        }
        object.__setattr__(self, "_template", RequestTemplate(request, True, columns))

    score_range = None

    @property
    def name(self) -> str:
        """The model, and the address without what may be secret in it."""
        return f"{self.model} at {shown_address(self.url)}"

    @property
    def classes(self) -> tuple[Value, ...]:
        """The labels, and the predictions without one; empty where labels are read by a function or from a field."""
        if not isinstance(self.answers, Mapping):
            return ()
        return tuple(dict.fromkeys((*self.answers, UNREADABLE, REFUSED)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the prompts name."""
        return self._template.columns

    @property
    def facts(self) -> ModelFacts:
        """Whether it answers at random, how often each row is queried, and what a budget can limit."""
        random = self.repeats > 1 or (self.temperature != 0 and "seed" not in self.parameters)
        costs = () if self._most_output is None else ("tokens",) if self.prices is None else ("tokens", "USD")
        return ModelFacts(random, self.repeats, (UNREADABLE, REFUSED), costs, _LEAST_BATCH)

    def answer(self, table: Table, *, want_score: bool, want_prediction: bool) -> Answer:
        """Send a request for every row, and read a label from each answer; it gives no score.

        Raises
        ------
        BudgetSpentError
            Before a request that could cost more than is left.
        """
        del want_score
        if not want_prediction:
            return Answer()
        rows = plain_rows(table, self.reads, self.name)
        bodies = [self._template.body(rows.slice(row, row + 1)) for row in range(rows.rows)]
        meter, late = current_meter(), self._sender.late
        bounds = [self._cost(len(body), self._most_output or 0) for body in bodies]
        replies: list[_Reply] = []
        while len(replies) < len(bodies):
            begin = len(replies)
            end = begin + meter.reserve(bounds[begin:])
            replies += in_parallel(self._ask, bodies[begin:end], self.parallel)
            for reply in replies[begin:]:
                meter.note(reply.counts)
        meter.note({"timed_out": self._sender.late - late})
        return Answer(column_from([reply.label for reply in replies], "prediction"))

    def fingerprint(self) -> str:
        """Tell this model from others by its description; change ``version`` when the model behind it changes."""
        answers = identity_of(self.answers) if callable(self.answers) else repr(self.answers)
        sent = json.dumps(dict(self.parameters), sort_keys=True, default=repr)
        texts = (self.url, self.model, self.prompt, repr(self.system), answers, sent)
        numbers = repr((self.temperature, self.max_tokens))
        return fingerprint_of("chat", *texts, numbers, repr(sorted(self.headers.items())), self.version)

    def describe(self) -> str:
        """Say in one line what it is."""
        about = f", version {self.version}" if self.version else ""
        labels = listed([repr(label) for label in self.classes]) if self.classes else "a label"
        return f"the language model {self.name}{about}: {labels}, read from its answer to a prompt for each row"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        self._sender.close()

    @property
    def _most_output(self) -> int | None:
        """The maximum number of tokens of an answer; ``None`` where nothing limits them."""
        max_tokens = self.parameters.get("max_completion_tokens", self.max_tokens)
        return max_tokens if _is_count(max_tokens) else None

    def _cost(self, inputs: int, outputs: int) -> dict[str, float]:
        cost: dict[str, float] = {"tokens": inputs + outputs}
        if self.prices is not None:
            cost["USD"] = inputs * self.prices["input"] + outputs * self.prices["output"]
        return cost

    def _ask(self, body: bytes, stop: Event) -> _Reply:
        return self._sender.post(body, lambda reply: self._read(reply, len(body)), self.name, stop)

    def _read(self, reply: Any, sent: int) -> _Reply:
        """The label of a reply and what it cost; a reply that is neither an answer nor a refusal is an error."""
        if isinstance(reply, dict) and "choices" not in reply and _is_refusal(reply):
            return _Reply(REFUSED, {})
        if not isinstance(reply, dict) or not isinstance(reply.get("choices"), list):
            raise ModelError("expected a chat completion, an object with a list of choices")
        choices = reply["choices"]
        choice = _object(choices[0] if choices else None)
        message = _object(choice.get("message"))
        cut = choice.get("finish_reason") == "length"
        if choice.get("finish_reason") == "content_filter" or message.get("refusal"):
            label: Value = REFUSED
        else:
            read = None if cut else self._labelled(_text_of(message.get("content")))
            label = UNREADABLE if read is None else read
        return _Reply(label, {**self._counts(reply.get("usage"), sent), "cut_off": int(cut)})

    def _labelled(self, text: str) -> Value | None:
        """The label in a text, behind the thoughts that some servers leave in it; ``None`` without one."""
        return self._read_label(re.sub(r"\A\s*<think>.*?</think>", "", text, flags=re.DOTALL).strip())

    def _counts(self, usage: Any, sent: int) -> dict[str, float]:
        """The tokens that a reply reports; without a report, the most that there can have been."""
        inputs, outputs = (_object(usage).get(f"{what}_tokens") for what in ("prompt", "completion"))
        if _is_count(inputs) and _is_count(outputs):
            known, unknown = (inputs, outputs), 0
        else:
            known, unknown = (sent, self._most_output or 0), 1
        return {"input_tokens": known[0], "output_tokens": known[1], **self._cost(*known), "without_usage": unknown}


@dataclass(frozen=True, slots=True)
class _Reply:
    """The prediction for one row, and what is counted of its answer."""

    label: Value
    counts: Mapping[str, float]


def _endpoint(url: str) -> str:
    """The address that completions are posted to."""
    if not isinstance(url, str) or "/chat/completions" in url:
        return url
    path, mark, query = url.partition("?")
    return f"{path.rstrip('/')}/chat/completions{mark}{query}" if urlsplit(path).scheme else url


def _is_refusal(reply: str | Mapping[str, Any]) -> bool:
    """Whether an error says that a content filter refused the request, as Azure and OpenAI say it."""
    try:
        tree = json.loads(reply) if isinstance(reply, str) else reply
    except (ValueError, RecursionError):
        return False
    error = tree.get("error") if isinstance(tree, dict) else None
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return any(code in {"content_filter", "content_policy_violation"} for code in codes)


def _object(value: Any) -> dict[str, Any]:
    """An object of JSON; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _text_of(content: Any) -> str:
    """The text of a message, which some servers give in parts; empty where there is no text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _reader(answers: Answers) -> Callable[[str], Value | None]:
    """The function that reads a label from a text; it returns ``None`` unless the text has exactly one label."""
    if isinstance(answers, str):
        return _FieldReader(AnswerPath.of(answers))
    if callable(answers):
        return _FunctionReader(answers)
    if not isinstance(answers, Mapping) or not answers or not all(isinstance(label, str) for label in answers):
        raise option_error("answers", "labels with words, {'yes': 'yes'}, a field of JSON or a function", answers)
    if UNREADABLE in answers:
        raise option_error("answers", f"without {UNREADABLE!r}, which stands for an answer without a label", answers)
    return _WordReader({label: _words(label, pattern) for label, pattern in answers.items()})


def _words(label: str, pattern: object) -> re.Pattern[str]:
    try:
        if isinstance(pattern, str) and not re.search(pattern, ""):
            return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"answers has {pattern!r} for {label!r}: {error}.", name="answers") from error
    raise option_error("answers", f"a word or a regular expression for {label!r} that matches some text", pattern)


@dataclass(frozen=True, slots=True)
class _WordReader:
    """The one label whose words occur."""

    patterns: Mapping[str, re.Pattern[str]]

    def __call__(self, text: str) -> Value | None:
        matches = [label for label, pattern in self.patterns.items() if pattern.search(text)]
        return matches[0] if len(matches) == 1 else None


@dataclass(frozen=True, slots=True)
class _FieldReader:
    """The value of a field of JSON, which may stand in a fence or between other words."""

    path: AnswerPath

    def __call__(self, text: str) -> Value | None:
        start, end = text.find("{"), text.rfind("}")
        try:
            value = self.path.find(json_value(text[start : end + 1] if start >= 0 else text))
        except ModelError:
            return None
        return value if isinstance(value, str | bool | int | float) else None


@dataclass(frozen=True, slots=True)
class _FunctionReader:
    """What a function of the user reads."""

    function: Callable[[str], Value | None]

    def __call__(self, text: str) -> Value | None:
        value = self.function(text)
        if value is not None and not isinstance(value, str | bool | int | float):
            raise UsageError(
                f"answers should give a label or None, but gave {value!r} for {text[:80]!r}", name="answers"
            )
        return value


def _check_options(model: ChatModel) -> None:
    """Refuse what makes no sense, besides the options of every service."""
    if not isinstance(model.model, str) or not model.model.strip():
        raise option_error("model", "the name of the model at the service", model.model)
    if model.temperature is not None:
        check_number("temperature", model.temperature, 0)
    if model.max_tokens is not None:
        check_number("max_tokens", model.max_tokens, 1, whole=True)
    check_number("repeats", model.repeats, 1, whole=True)
    given = model.parameters
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise option_error("parameters", "further fields of the request, {'top_p': 0.9}", given)
    for name in (*_OWN_FIELDS, *(("seed",) if model.repeats > 1 else ())):
        if name in given:
            why = "with repeats it would make every answer the same" if name == "seed" else "it is not a further field"
            raise UsageError(f"parameters should not have {name!r}: {why}.", name="parameters")
    try:
        json.dumps(dict(given), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"parameters should be values that JSON can hold: {error}.", name="parameters") from error
    if model.prices is None:
        return
    if not isinstance(model.prices, Mapping) or set(model.prices) != set(_PRICES):
        hint = "".join(nearest(str(name), _PRICES) for name in list(model.prices)[:1]) if model.prices else ""
        raise option_error("prices", "dollars for a token, {'input': 2.5e-6, 'output': 1e-5}", model.prices, hint)
    for name, price in model.prices.items():
        check_number(f"prices[{name!r}]", price, 0)
