"""A first set of inputs for a profile: its own example, or one made up from the schema of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.model.inputs import Example, Inputs
from rageval_batch.model.profile import Profile
from rageval_batch.model.schemas import QUESTION, QUESTION_ID

RUN, ID = "baseline", "q1"
_TEXT = "Paris"  # every text that is made up, so that answers equal what is expected


@dataclass(frozen=True)
class ExampleRows:
    """Rows of the three inputs; no contexts where the profile's example needs none."""

    questions: tuple[dict[str, Any], ...]
    outputs: tuple[dict[str, Any], ...]
    contexts: tuple[dict[str, Any], ...]


def example_rows(profile: Profile) -> ExampleRows:
    """A question, an output with all that a run's record must name, and contexts."""
    example = profile.inputs.example or _made_up(profile.inputs)
    key = {"question_id": ID} if profile.inputs.questions_required else {}
    provenance = dict.fromkeys(profile.summary.provenance, "example")
    return ExampleRows(
        ({**key, **example.question, **_absent(profile.inputs.questions.schema, {**key, **example.question})},),
        ({"run_id": RUN, **key, **example.output, **provenance},),
        tuple({**key, **chunk} for chunk in example.contexts),
    )


def _absent(schema: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
    """Required fields that a question lacks, as where a profile file adds some to those of the profile it extends."""
    rules = schema.get("properties", {})
    out = {name: _example_value(rules.get(name, {})) for name in schema.get("required", ()) if name not in question}
    for part in schema.get("allOf", ()):
        out |= _absent(part, {**question, **out})
    return out


def _made_up(inputs: Inputs) -> Example:
    """What the schema asks for, with one text for all texts."""
    question = _example_value({**inputs.questions.schema, "type": "object"})
    text = next((name for name in QUESTION if name in question), QUESTION[0])
    question = {text: "What is the capital of France?", **{k: v for k, v in question.items() if k != text}}
    question = {name: value for name, value in question.items() if name not in QUESTION_ID}
    if inputs.output_fields:
        return Example(
            question=question, output={f.name: _TEXT if f.is_text else [_TEXT] for f in inputs.output_fields}
        )
    if inputs.outputs.schema is not None and not inputs.outputs.text:
        return Example(question=question, output={"output": _example_value(inputs.outputs.schema)})
    return Example(question=question, output={"output": _TEXT})


def _example_value(schema: Mapping[str, Any]) -> Any:
    """The smallest value that keeps a schema, of alternatives the first."""
    if "enum" in schema or "const" in schema:
        return schema["enum"][0] if "enum" in schema else schema["const"]
    given = schema.get("type", "string")
    kind = given if isinstance(given, str) else given[0]
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return [_example_value(schema.get("items", {}))]
    return {"number": 1, "integer": 1, "boolean": True, "null": None}.get(kind, _TEXT)


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The members that must be there, with those of its parts; of alternatives the first."""
    alternatives = schema.get("anyOf", ())[:1]
    parts = [*schema.get("allOf", ()), *alternatives]
    if "if" in schema:  # `schema_of_first`: the first name
        parts.append({"required": schema["if"].get("required", ()), **schema.get("then", {})})
    out = {}
    for name in schema.get("required", ()):
        out[name] = _example_value(schema.get("properties", {}).get(name, {}))
    for part in parts:
        known = {**schema.get("properties", {}), **part.get("properties", {})}
        rules = {name: {**schema.get("properties", {}).get(name, {}), **known[name]} for name in known}
        out.update({name: value for name, value in _object({**part, "properties": rules}).items() if name not in out})
    return out
