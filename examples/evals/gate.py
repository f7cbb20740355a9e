"""Compares two prompts on one language model, and ends with exit code 0 only if the new one is not worse."""

from __future__ import annotations

import sys

from server import questions, start

import isonomia as iso

PROMPTS = {
    "new": "Think first. Is {a} + {b} even or odd? Answer as JSON with the field answer.",
    "old": "Is {a} + {b} even or odd? Answer as JSON with the field answer.",
}

url = start()  # in place of the address of your model
models = {
    name: iso.ChatModel(url, model="tiny", prompt=prompt, answers="answer", parallel=16)
    for name, prompt in PROMPTS.items()
}
verdict = iso.check(
    iso.evals.not_worse("label", margin=0.02), models, iso.Sample(questions()), delta=0.05, budget="1e6 tokens", seed=1
)
print(verdict)
sys.exit({"holds": 0, "violated": 1}.get(verdict.answer, 3))
