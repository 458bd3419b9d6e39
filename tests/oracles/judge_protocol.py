"""The slow, obvious scorer of profile `judge_protocol` (page 40), a whole run at once, and its aggregates."""

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeGuard

from oracles.json_text import HugeNumber, classify
from oracles.text import WHITE_SPACE, squash, strip

Row = dict[str, Any]
Key = tuple[Any, ...]

UNPARSABLE = "UNPARSABLE_OUTPUT"
VIOLATION = "PROTOCOL_VIOLATION"
COVERAGE = "INCOMPLETE_COVERAGE"
REFUSAL = "JUDGE_REFUSAL_OR_EVASION"
INCONSISTENT = "INTERNAL_INCONSISTENCY"
FLAGS = (UNPARSABLE, VIOLATION, COVERAGE, REFUSAL, INCONSISTENT)
WARNINGS = ("verdict_mismatch", "quote_long", "quote_not_found", "duplicate")

SAMPLE = ("question_id", "prompt_variant", "target_model", "output_id")
ASKED = ("judge_model", *SAMPLE, "method")  # what a column may say in place of meta
NAMES = ("judge_model", "target_model")  # compared after NFKC, strip, casefold
METHODS = ("cross_judge", "self_judge")
VERDICTS = ("PASS", "PARTIAL", "FAIL")
QUOTE_LIMIT = 60
INT32 = 2**31

# Every column that is not a dimension of the rubric.
COLUMNS = (
    "run_id", "judge_model", "question_id", "prompt_variant", "target_model", "output_id", "repeat",
    "file", "method", "valid", "flags", "judge_flags", "warnings",
    "overall_score", "overall_recomputed", "verdict_declared", "verdict", "evidence_count", "quotes_found",
    "score", "fail_reason",
)  # fmt: skip

DEFAULT_RUBRIC: dict[str, Any] = {
    "name": "judge_protocol",
    "dimensions": ["FORMAT_COMPLIANCE", "INSTRUCTION_COMPLIANCE", "SEMANTIC_FIDELITY", "COMPLETENESS"],
    "scale_top": 2,
    "evidence_required": True,
    "verdict": {
        "fail_max": 3,
        "pass_min": 7,
        "pass_nonzero": ["FORMAT_COMPLIANCE", "INSTRUCTION_COMPLIANCE"],
    },
}

REFUSAL_PHRASES = (
    "无法评测", "无法评价", "无法评估", "拒绝评测", "拒绝评价", "不能评测", "我不能对", "我无法对",
    "抱歉，我无法", "抱歉，我不能", "無法評測", "無法評估", "拒絕評測", "抱歉，我無法",
    "i cannot evaluate", "i can't evaluate", "i am unable to evaluate", "i'm unable to evaluate",
    "i cannot judge", "i can't judge", "i refuse to", "i won't evaluate", "i must decline",
    "as an ai language model, i cannot", "sorry, but i can't", "sorry, i cannot", "i'm sorry, but i cannot",
    "評価できません", "評価することはできません", "判定できません", "お答えできません", "評価を拒否",
    "не могу оценить", "не могу оценивать", "отказываюсь оценивать", "не в состоянии оценить",
    "извините, но я не могу",
)  # fmt: skip


FORMS = ("objects", "map", "texts")
ENTRY = ("dimension", "quote", "reason")
TEXTS = (*ASKED, "timestamp")  # fields of a record that may be joined of several
DEFAULT_PATHS: dict[str, str] = {
    **{name: f"meta.{name}" for name in TEXTS},
    "scores": "scores",
    "overall_score": "scores.overall_score",
    "verdict": "verdict",
    "flags": "flags",
    "evidence": "evidence",
    "notes": "notes",
}
KEYS = {*DEFAULT_RUBRIC, "scale_bottom", "record"}


def rubric_problems(rubric: dict[str, Any]) -> list[str]:
    """What is wrong with a rubric, a sentence each; empty for a good one."""
    problems = [f"unknown key '{key}'" for key in rubric if key not in KEYS]
    dimensions = rubric.get("dimensions", DEFAULT_RUBRIC["dimensions"])
    if not isinstance(dimensions, list) or not dimensions or not all(isinstance(d, str) and d for d in dimensions):
        return [*problems, "'dimensions' must be a list of one or more names"]
    if len(set(dimensions)) < len(dimensions):
        problems.append("'dimensions' names one twice")
    problems += [f"dimension '{d}' has the name of another column" for d in dimensions if d in COLUMNS]
    top, bottom = rubric.get("scale_top", DEFAULT_RUBRIC["scale_top"]), rubric.get("scale_bottom", 0)
    if not _is_int(top) or not 1 <= top <= 100:
        return [*problems, "'scale_top' must be an integer from 1 to 100"]
    if not _is_int(bottom) or not 0 <= bottom < top:
        problems.append("'scale_bottom' must be an integer from 0 and below scale_top")
    if not isinstance(rubric.get("evidence_required", True), bool):
        problems.append("'evidence_required' must be true or false")
    found = record_problems(rubric.get("record", {}), dimensions)
    if found:
        return problems + found
    not_asked = rubric.get("record", {}).get("not_asked", [])
    if rubric.get("evidence_required") is True and "evidence" in not_asked:
        problems.append("evidence is required and not asked for")
    if "verdict" not in rubric:
        return problems
    verdict = rubric["verdict"]
    if not isinstance(verdict, dict):
        return [*problems, "'verdict' must be a table"]
    problems += [f"unknown key 'verdict.{key}'" for key in verdict if key not in DEFAULT_RUBRIC["verdict"]]
    low, high = verdict.get("fail_max"), verdict.get("pass_min")
    if not _is_int(low) or not _is_int(high) or not -1 <= low < high <= len(dimensions) * top:
        problems.append("verdict limits must be integers with -1 <= fail_max < pass_min <= dimensions x scale_top")
    needed = verdict.get("pass_nonzero", [])
    if not isinstance(needed, list) or any(d not in dimensions for d in needed):
        problems.append("'verdict.pass_nonzero' must be a list of names out of 'dimensions'")
    return problems


def record_problems(record: Any, dimensions: list[str]) -> list[str]:
    """What is wrong with the table [record]."""
    if not isinstance(record, dict):
        return ["'record' must be a table"]
    problems = []

    def is_path(value: Any) -> bool:
        return isinstance(value, str) and all(key.strip() for key in value.split("."))

    for name, value in record.items():
        if name in TEXTS:
            good = is_path(value) or (isinstance(value, list) and bool(value) and all(map(is_path, value)))
        elif name == "scores":
            good = is_path(value) or value == "."
        elif name in DEFAULT_PATHS:
            good = is_path(value)
        elif name in ENTRY:
            good = isinstance(value, str) and bool(value.strip())
        elif name == "evidence_form":
            good = value in FORMS
        elif name == "not_asked":
            known = ({*DEFAULT_PATHS} - {"scores"}) | {"dimension", "reason"}
            good = isinstance(value, list) and all(isinstance(part, str) and part in known for part in value)
        else:
            good = False
        if not good:
            problems.append(f"'record.{name}' is not usable")
    if not problems:
        form = Form({"record": record})
        for name, paths in form.paths.items():
            if name != "scores" and form.asks(name):
                problems += [
                    f"dimension '{d}' stands where {name} does" for d in dimensions if form.score_path(d) in paths
                ]
    return problems


class Absent:
    """What stands nowhere in a record."""


ABSENT = Absent()


class Form:
    """Where a record has its fields."""

    def __init__(self, rubric: dict[str, Any]) -> None:
        record = rubric.get("record", {})
        self.named = set(record)
        self.not_asked = set(record.get("not_asked", []))
        self.evidence_form = record.get("evidence_form", "objects")
        self.entry = {part: record.get(part, part) for part in ENTRY}
        self.paths: dict[str, list[str]] = {}
        for name, default in DEFAULT_PATHS.items():
            given = record.get(name, default)
            self.paths[name] = given if isinstance(given, list) else [given]

    def asks(self, name: str) -> bool:
        """Whether judges were asked for it: what is not asked for is neither read nor checked."""
        return name not in self.not_asked

    def score_path(self, dimension: str) -> str:
        """Where a dimension stands."""
        scores = self.paths["scores"][0]
        return dimension if scores == "." else f"{scores}.{dimension}"

    def others_in_scores(self) -> set[str]:
        """Keys of the object of scores under which other fields stand."""
        inside = self.paths["scores"][0] + "."
        every = [path for paths in self.paths.values() for path in paths]
        return {path.removeprefix(inside).split(".")[0] for path in every if path.startswith(inside)}

    def value(self, parsed: Row, name: str) -> Any:
        """The value of a field that has one path."""
        return look_up(parsed, self.paths[name][0]) if self.asks(name) else ABSENT


def look_up(parsed: Row, path: str) -> Any:
    """What stands at a JSON path, ABSENT where nothing does."""
    node: Any = parsed
    for key in [] if path == "." else path.split("."):
        if not isinstance(node, dict) or key not in node:
            return ABSENT
        node = node[key]
    return node


def fold(name: str) -> str:
    """A model's name for comparing: NFKC, strip, casefold."""
    return strip(unicodedata.normalize("NFKC", name)).casefold()


def quote_length(quote: str) -> int:
    """Han characters and words together; a word is what they and white space leave, with a letter or digit."""
    han = 0
    rest = []
    for char in quote:
        if "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf":
            han += 1
            rest.append(" ")
        else:
            rest.append(" " if char in WHITE_SPACE else char)
    words = [word for word in "".join(rest).split(" ") if any(char.isalnum() for char in word)]
    return han + len(words)


def has_refusal(text: str, more: Iterable[str] = ()) -> bool:
    """Whether a refusal phrase stands in the text, both after NFKC and casefold."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    phrases = [unicodedata.normalize("NFKC", phrase).casefold() for phrase in (*REFUSAL_PHRASES, *more)]
    return any(phrase in folded for phrase in phrases if phrase)


def completed(rubric: dict[str, Any]) -> dict[str, Any]:
    """The rubric with what it lacks: the default's, its limits of the verdict as shares of the range."""
    whole = {"dimensions": DEFAULT_RUBRIC["dimensions"], "scale_top": DEFAULT_RUBRIC["scale_top"], **rubric}
    if "verdict" not in whole:
        least = len(whole["dimensions"]) * whole.get("scale_bottom", 0)
        width = len(whole["dimensions"]) * whole["scale_top"] - least
        whole["verdict"] = {
            "fail_max": least + math.floor(Fraction(3, 8) * width),
            "pass_min": least + math.ceil(Fraction(7, 8) * width),
            "pass_nonzero": whole["dimensions"][:2],
        }
    return whole


def verdict_of(overall: int, scores: dict[str, int], rubric: dict[str, Any]) -> str:
    """The verdict that the scores make."""
    limits = rubric["verdict"]
    bottom = rubric.get("scale_bottom", 0)
    if overall <= limits["fail_max"]:
        return "FAIL"
    if overall >= limits["pass_min"] and all(scores[name] != bottom for name in limits.get("pass_nonzero", [])):
        return "PASS"
    return "PARTIAL"


def score_run(
    records: list[Row],
    samples: list[Row] | None = None,
    targets: dict[str, str] | None = None,
    rubric: dict[str, Any] | None = None,
    refusal_phrases: Sequence[str] = (),
) -> list[Row]:
    """A row a record, in their order, then a row for every sample that a judge has no record for."""
    rubric = completed(DEFAULT_RUBRIC if rubric is None else rubric)
    texts = [_text_of(record.get("output")) for record in records]
    rows = [
        _score_record(record, text, targets, rubric, refusal_phrases)
        for record, text in zip(records, texts, strict=True)
    ]
    form = Form(rubric)
    _flag_conflicts(rows, rubric)
    for row in rows:
        _finish(row, rubric)
    _warn_duplicates(rows, texts, form)
    return rows + _missing_rows(rows, samples, rubric)


def _score_record(
    record: Row, text: str, targets: dict[str, str] | None, rubric: dict[str, Any], phrases: Sequence[str]
) -> Row:
    """One judgement by itself: everything but what needs the other records."""
    row = _empty_row(rubric)
    row["run_id"] = _filled(record.get("run_id"))
    repeat = record.get("repeat")
    row["repeat"] = repeat if _is_int(repeat) and 0 <= repeat < 10**9 else 0
    row["file"] = record.get("file")
    for name in ASKED:
        row[name] = _filled(record.get(name))
    form = Form(rubric)
    reason, parsed = classify(text)
    if reason is not None:
        if not form.asks("method"):  # what columns name, they name for a record that cannot be read too
            row["method"] = _method_of_names(row, form)
        row["flags"] = [UNPARSABLE, REFUSAL] if has_refusal(text, phrases) else [UNPARSABLE]
        row["fail_reason"] = reason
        return row

    disagree = False
    for name in ASKED:
        said = _joined(parsed, form, name)
        if row[name] is None:
            row[name] = said
        elif said is not None:
            same = fold(said) == fold(row[name]) if name in NAMES else said == row[name]
            disagree = disagree or not same
    if not form.asks("method"):
        row["method"] = _method_of_names(row, form)

    dimensions = rubric["dimensions"]
    holder = form.value(parsed, "scores")
    scores = {name: _whole(value) for name, value in holder.items()} if isinstance(holder, dict) else {}
    overall = _whole(form.value(parsed, "overall_score"))
    values = {**{name: scores.get(name, ABSENT) for name in dimensions}, "overall_score": overall}
    for name, value in values.items():
        row[name] = value if _is_int(value) and -INT32 <= value < INT32 else None
    if all(row[name] is not None for name in dimensions):
        row["overall_recomputed"] = sum(row[name] for name in dimensions)
        row["verdict"] = verdict_of(row["overall_recomputed"], {name: row[name] for name in dimensions}, rubric)
    declared, own_flags = form.value(parsed, "verdict"), form.value(parsed, "flags")
    row["verdict_declared"] = declared if isinstance(declared, str) else None
    if isinstance(own_flags, list):
        row["judge_flags"] = [flag for flag in own_flags if isinstance(flag, str)]
    evidence, odd_evidence = _evidence(form.value(parsed, "evidence"), form)
    if form.asks("evidence"):
        row["evidence_count"] = len(evidence)

    evidence_required = rubric.get("evidence_required", True) and form.asks("evidence")
    low, high = rubric.get("scale_bottom", 0), rubric["scale_top"]
    at_root = form.paths["scores"] == ["."]
    added = set() if at_root else set(scores) - set(dimensions) - form.others_in_scores()
    asked_names = [name for name in ASKED if form.asks(name)]
    asked_paths = [path for name in asked_names for path in form.paths[name]]
    needed = {path.rpartition(".")[0] or "." for path in asked_paths} | {form.paths["scores"][0]}
    if evidence_required:
        needed.add(form.paths["evidence"][0])
    absent = [path for path in needed if look_up(parsed, path) is ABSENT]
    wrong = (
        odd_evidence
        or _has_wrong_type(parsed, form, evidence_required)
        or any(not _is_int(value) and value is not ABSENT for value in values.values())
        or any(not _is_int(scores[name]) for name in added)
    )
    holds = dict.fromkeys(FLAGS, False)
    holds[UNPARSABLE] = bool(absent) or wrong
    backed = {entry["dimension"] for entry in evidence}
    by_dimension = form.evidence_form == "map" or (form.evidence_form == "objects" and form.asks("dimension"))
    holds[VIOLATION] = (
        any(values[name] in (None, ABSENT) for name in values if form.asks(name))
        or bool(added)
        or any(_is_int(values[name]) and not low <= values[name] <= high for name in dimensions)
        or (form.asks("flags") and own_flags in (None, ABSENT))
        or (form.asks("verdict") and declared not in VERDICTS)
        or (form.asks("method") and row["method"] not in METHODS)
        or (evidence_required and by_dimension and not backed >= set(dimensions))
        or (evidence_required and not by_dimension and not evidence)
    )
    holds[COVERAGE] = any(row[name] is None for name in ("judge_model", *SAMPLE) if form.asks(name))
    usable = any(_is_int(values[name]) and low <= values[name] <= high for name in dimensions)
    unscored = all(values[name] in (None, ABSENT) for name in dimensions) if at_root else holder in (None, ABSENT)
    nameless = all(look_up(parsed, path.split(".")[0]) in (None, ABSENT) for path in asked_paths)
    holds[REFUSAL] = (not usable and has_refusal(text, phrases)) or (unscored and nameless)
    wrong_sum = _is_int(overall) and row["overall_recomputed"] is not None and overall != row["overall_recomputed"]
    wrong_method = False
    if row["method"] in METHODS and row["judge_model"] is not None and row["target_model"] is not None:
        itself = fold(row["judge_model"]) == fold(row["target_model"])
        wrong_method = itself != (row["method"] == "self_judge")
    holds[INCONSISTENT] = wrong_sum or wrong_method or disagree
    row["flags"] = [flag for flag in FLAGS if holds[flag]]
    if holds[UNPARSABLE]:
        row["fail_reason"] = "missing_field" if absent else "wrong_type"

    if row["verdict_declared"] is not None and row["verdict"] is not None and row["verdict_declared"] != row["verdict"]:
        row["warnings"].append("verdict_mismatch")
    if any(quote_length(entry["quote"]) > QUOTE_LIMIT for entry in evidence):
        row["warnings"].append("quote_long")
    target = (targets or {}).get(row["output_id"]) if row["output_id"] is not None else None
    if isinstance(target, str) and form.asks("evidence"):
        there = squash(target)
        quotes = [squash(entry["quote"]) for entry in evidence]
        row["quotes_found"] = sum(1 for quote in quotes if quote and quote in there)
        if row["quotes_found"] < len(quotes):
            row["warnings"].append("quote_not_found")
    return row


def _joined(parsed: Row, form: Form, name: str) -> str | None:
    """The text of a field, joined of all its parts; None where one is absent or blank, or it is not asked for."""
    if not form.asks(name):
        return None
    parts = []
    for path in form.paths[name]:
        value = look_up(parsed, path)
        if isinstance(value, str) or (name in form.named and _is_int(value)):
            parts.append(_filled(value))
        else:
            parts.append(None)
    return None if None in parts else "_".join(part for part in parts if part is not None)


def _method_of_names(row: Row, form: Form) -> str | None:
    """Who judges a model of its own name judges itself; None where a name is lacking that was asked for."""
    if any(row[name] is None and form.asks(name) for name in NAMES):
        return None
    if row["judge_model"] is None or row["target_model"] is None:
        return "cross_judge"
    return "self_judge" if fold(row["judge_model"]) == fold(row["target_model"]) else "cross_judge"


def _evidence(given: Any, form: Form) -> tuple[list[dict[str, Any]], bool]:
    """(complete entries, whether one has a wrong type)."""
    entries: list[dict[str, Any]] = []
    wrong = False
    if form.evidence_form == "map":
        for dimension, value in given.items() if isinstance(given, dict) else ():
            quotes = value if isinstance(value, list) else [] if value is None else [value]
            entries += [{"dimension": dimension, "quote": quote} for quote in quotes if isinstance(quote, str)]
            wrong = wrong or any(not isinstance(quote, str) for quote in quotes)
        return entries, wrong
    for entry in given if isinstance(given, list) else ():
        if form.evidence_form == "texts":
            parts: dict[str, Any] = {"quote": entry}
        elif isinstance(entry, dict):
            parts = {part: entry.get(form.entry[part], ABSENT) for part in ENTRY if form.asks(part)}
        else:
            parts = {"quote": None}
        if all(isinstance(value, str) for value in parts.values()):
            entries.append({"dimension": None, **parts})
        wrong = wrong or any(value is not ABSENT and not isinstance(value, str) for value in parts.values())
    return entries, wrong


def _has_wrong_type(parsed: Row, form: Form, evidence_required: bool) -> bool:
    """A wrong type in a field of the record; null is one, but in a field that is optional. Scores are for others."""
    optional = {"notes", "timestamp"} if evidence_required else {"notes", "timestamp", "evidence"}
    listed: type = dict if form.evidence_form == "map" else list
    types = {"scores": dict, "verdict": str, "flags": list, "evidence": listed, "notes": str}
    types |= dict.fromkeys(TEXTS, str)
    found = []
    for name, paths in form.paths.items():
        for path in paths if form.asks(name) else ():
            keys = path.split(".")
            holders = [look_up(parsed, ".".join(keys[:depth])) for depth in range(1, len(keys))] if path != "." else []
            for value in holders:
                if value is not ABSENT and not isinstance(value, dict) and not (value is None and name in optional):
                    found.append(path)
            value = look_up(parsed, path)
            if value is ABSENT or name == "overall_score" or (value is None and name in optional):
                continue
            digits = name in TEXTS and name in form.named and _is_int(value)
            if not isinstance(value, types[name]) and not digits:
                found.append(path)
    own = form.value(parsed, "flags")
    return bool(found) or (isinstance(own, list) and any(not isinstance(flag, str) for flag in own))


def _key(row: Row, form: Form) -> Key | None:
    """Which judgement of which sample this is; None where that is not known but asked for."""
    names = ("judge_model", *SAMPLE)
    if any(row[name] is None and form.asks(name) for name in names):
        return None
    return (row["run_id"], _folded(row["judge_model"]), *sample_key(row), row["repeat"])


def _folded(name: str | None) -> str | None:
    return None if name is None else fold(name)


def _flag_conflicts(rows: list[Row], rubric: dict[str, Any]) -> None:
    """Two records of one key with different scores: both are inconsistent."""
    form = Form(rubric)
    for name in (*rubric["dimensions"], "overall_score"):
        values: dict[Key, set[int]] = {}
        for row in rows:
            key = _key(row, form)
            if key is not None and row[name] is not None:
                values.setdefault(key, set()).add(row[name])
        for row in rows:
            key = _key(row, form)
            conflict = key is not None and row[name] is not None and len(values[key]) > 1
            if conflict and INCONSISTENT not in row["flags"]:
                row["flags"].append(INCONSISTENT)


def _finish(row: Row, rubric: dict[str, Any]) -> None:
    """What follows from the flags: valid, score, fail_reason."""
    row["valid"] = not row["flags"]
    if row["valid"]:
        row["score"] = row["overall_recomputed"] / (len(rubric["dimensions"]) * rubric["scale_top"])
    elif row["fail_reason"] is None:
        row["fail_reason"] = row["flags"][0]


def _warn_duplicates(rows: list[Row], texts: list[str], form: Form) -> None:
    """A later record of a key is a duplicate if its text is the same, or both are valid (so of equal scores)."""
    seen_texts: set[tuple[Key, str]] = set()
    seen_valid: set[Key] = set()
    for row, text in zip(rows, texts, strict=True):
        key = _key(row, form)
        if key is None:
            continue
        if (key, text) in seen_texts or (row["valid"] and key in seen_valid):
            row["warnings"].append("duplicate")
        seen_texts.add((key, text))
        if row["valid"]:
            seen_valid.add(key)


def _missing_rows(rows: list[Row], samples: list[Row] | None, rubric: dict[str, Any]) -> list[Row]:
    """A row for every sample of the list that a judge of the run has no record for, by run, judge, then the list."""
    missing = []
    form = Form(rubric)
    for run_id in sorted({row["run_id"] for row in rows}, key=lambda name: name or ""):
        run = [row for row in rows if row["run_id"] == run_id]
        judges: dict[str | None, str | None] = {}
        for row in run:
            if row["judge_model"] is not None or _key(row, form) is not None:
                judges.setdefault(_folded(row["judge_model"]), row["judge_model"])
        there = {(_folded(row["judge_model"]), *sample_key(row)) for row in run if _key(row, form) is not None}
        # A run whose judges are all unknown has judged nothing: the samples are missing once, without a judge.
        for judge, shown in (judges or {None: None}).items():
            for sample in distinct_samples(samples, form):
                if (judge, *sample_key(sample)) not in there:
                    row = _empty_row(rubric)
                    row.update({"run_id": run_id, "judge_model": shown, "flags": [COVERAGE], "fail_reason": "missing"})
                    row.update({name: sample[name] for name in SAMPLE})
                    missing.append(row)
    return missing


def distinct_samples(samples: list[Row] | None, form: Form | None = None) -> list[Row]:
    """The usable samples of the list, each once; what the rubric does not ask for is None."""
    form = form or Form(DEFAULT_RUBRIC)
    found: dict[Key, Row] = {}
    for sample in samples or []:
        filled = {name: _filled(sample.get(name)) if form.asks(name) else None for name in SAMPLE}
        if all(value is not None or not form.asks(name) for name, value in filled.items()):
            found.setdefault(sample_key(filled), filled)
    return list(found.values())


def sample_key(row: Row) -> Key:
    """A sample for comparing."""
    return tuple(_folded(row[name]) if name in NAMES else row[name] for name in SAMPLE)


def _empty_row(rubric: dict[str, Any]) -> Row:
    row: Row = dict.fromkeys((*COLUMNS[:13], *rubric["dimensions"], *COLUMNS[13:]))
    row.update({"repeat": 0, "valid": False, "flags": [], "warnings": []})
    return row


def _text_of(output: object) -> str:
    """The raw text; an object's is its JSON text; bytes that are not UTF-8 keep a mark that is no JSON."""
    if output is None or isinstance(output, str):
        return output or ""
    if isinstance(output, bytes):
        return output.decode("utf-8", "surrogateescape")
    try:
        return json.dumps(output, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "\x00"


def _filled(value: object) -> str | None:
    """A column's or a meta field's text, None where it is absent or empty; a number is its digits."""
    if _is_int(value):
        value = str(value) if abs(value) < 10**39 else None
    return value if isinstance(value, str) and strip(value) else None


def _whole(value: Any) -> Any:
    """A whole number that Python does not take from text as one that is as far off every scale."""
    if isinstance(value, HugeNumber) and value.raw.lstrip("-").isdigit():
        return -(10**40) if value.raw.startswith("-") else 10**40
    return value


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


# ---- aggregates: each takes the rows of one run ----------------------------------------------------------------------


def counted(rows: list[Row], method: str) -> list[Row]:
    """The rows that enter means: valid, no duplicate, of one method."""
    return [row for row in rows if row["valid"] and "duplicate" not in row["warnings"] and row["method"] == method]


def mean(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return math.fsum(values) / len(values) if values else None


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's unweighted kappa of two judges' verdicts; None without pairs or where chance alone agrees wholly."""
    n = len(pairs)
    if not n:
        return None
    observed = Fraction(sum(1 for a, b in pairs if a == b), n)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum((Fraction(first[name] * second[name], n * n) for name in first), Fraction(0))
    return None if expected == 1 else float((observed - expected) / (1 - expected))


def alpha_ordinal(units: Sequence[Sequence[int]]) -> float | None:
    """Krippendorff's alpha, ordinal; None where no unit has two values, or all values are one."""
    pairable = [list(unit) for unit in units if len(unit) >= 2]
    counts = Counter(value for unit in pairable for value in unit)
    n = sum(counts.values())

    def distance(a: int, b: int) -> Fraction:
        between = sum(counts[value] for value in counts if min(a, b) <= value <= max(a, b))
        return (between - Fraction(counts[a] + counts[b], 2)) ** 2

    observed = Fraction(0)
    for unit in pairable:
        observed += sum((2 * distance(a, b) for a, b in combinations(unit, 2)), Fraction(0)) / (len(unit) - 1)
    expected = sum((2 * counts[a] * counts[b] * distance(a, b) for a, b in combinations(counts, 2)), Fraction(0))
    return None if expected == 0 else float(1 - observed * (n - 1) / expected)


def with_shown_names(rows: list[Row]) -> list[Row]:
    """The rows with models called as the run first writes them: all spellings of a name are one model."""
    first: dict[tuple[str, str], str] = {}
    for name in NAMES:
        for row in rows:
            if row[name] is not None:
                first.setdefault((name, fold(row[name])), row[name])
    return [{**row, **{name: first[name, fold(row[name])] for name in NAMES if row[name] is not None}} for row in rows]


def agreement_units(rows: list[Row]) -> dict[Key, dict[str, Row]]:
    """Samples (and repeat) with valid cross records: the judges' rows of each."""
    units: dict[Key, dict[str, Row]] = {}
    for row in counted(with_shown_names(rows), "cross_judge"):
        units.setdefault((*sample_key(row), row["repeat"]), {})[row["judge_model"]] = row
    return units


def self_preference(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """For every model judged: mean score by itself and by others, how many there are, and the difference if any."""
    rows = with_shown_names(rows)
    own, others = counted(rows, "self_judge"), counted(rows, "cross_judge")
    result: dict[str, dict[str, Any]] = {}
    for model in sorted({row["target_model"] for row in own + others}, key=str):
        by_itself = [row["score"] for row in own if row["target_model"] == model]
        by_others = [row["score"] for row in others if row["target_model"] == model]
        a, b = mean(by_itself), mean(by_others)
        result[model] = {
            "n_self": len(by_itself),
            "n_others": len(by_others),
            "by_itself": a,
            "by_others": b,
            "self_preference": None if a is None or b is None else a - b,
        }
    return result


def variant_drift(rows: list[Row], base_variant: str | None = None) -> dict[str, dict[str, Any]]:
    """Every other variant: mean change of score against the base, paired on judge x target x question, and n."""
    variants = sorted({row["prompt_variant"] for row in rows if row["prompt_variant"] is not None})
    base = base_variant if base_variant is not None else (variants[0] if variants else None)
    cells: dict[tuple[str, Key], list[float]] = {}
    for row in counted(with_shown_names(rows), "cross_judge"):
        unit = (row["judge_model"], row["target_model"], row["question_id"])
        cells.setdefault((row["prompt_variant"], unit), []).append(row["score"])
    result = {}
    for variant in variants:
        if variant == base or base is None:
            continue
        changes = []
        for cell_variant, unit in cells:
            if cell_variant == variant and (base, unit) in cells:
                here, before = cells[variant, unit], cells[base, unit]
                changes.append(math.fsum(here) / len(here) - math.fsum(before) / len(before))
        result[variant] = {"mean": mean(changes), "n": len(changes)}
    return result


def repeat_scores(rows: list[Row]) -> dict[int, float]:
    """The mean over valid cross judgements of each repeat that has one."""
    scores: dict[int, list[float]] = {}
    for row in counted(rows, "cross_judge"):
        scores.setdefault(row["repeat"], []).append(row["score"])
    return {repeat: math.fsum(values) / len(values) for repeat, values in sorted(scores.items())}


def run_log(rows: list[Row]) -> dict[str, Any]:
    """What the run's record says: judges, samples, judgements, repeats, and the std of the score over these."""
    shown = with_shown_names(rows)
    samples = {sample_key(row) for row in rows}
    scores = list(repeat_scores(rows).values())
    centre = mean(scores)
    return {
        "judges": ", ".join(sorted({row["judge_model"] for row in shown if row["judge_model"] is not None})) or None,
        "samples": sum(1 for sample in samples if any(part is not None for part in sample)),
        "judgements": sum(1 for row in rows if row["fail_reason"] != "missing"),
        "repeats": max(len(scores), 1),
        "score": mean([row["score"] for row in counted(rows, "cross_judge")]),
        "score_std_over_repeats": None
        if centre is None
        else (math.fsum((x - centre) ** 2 for x in scores) / len(scores)) ** 0.5,
    }


def summary(rows: list[Row], samples: list[Row] | None = None, base_variant: str | None = None) -> dict[str, Any]:
    """Everything page 40 says of one run."""
    rows = with_shown_names(rows)
    missing = [row for row in rows if row["fail_reason"] == "missing"]
    judgements = [row for row in rows if row["fail_reason"] != "missing"]
    judges = sorted({row["judge_model"] for row in rows if row["judge_model"] is not None})
    due = len({fold(name) for name in judges} or {""}) * len(distinct_samples(samples))
    units = agreement_units(rows)
    pairs = []
    for a, b in combinations(sorted({name for unit in units.values() for name in unit if name is not None}), 2):
        both = [(unit[a]["verdict"], unit[b]["verdict"]) for unit in units.values() if a in unit and b in unit]
        told = all(None not in pair for pair in both)
        pairs.append({"judge_a": a, "judge_b": b, "n": len(both), "kappa": kappa(both) if told else None})
    return {
        "judgements": len(judgements),
        "valid": sum(1 for row in judgements if row["valid"]),
        "invalid": sum(1 for row in judgements if not row["valid"]),
        "missing": len(missing),
        "duplicates": sum(1 for row in judgements if "duplicate" in row["warnings"]),
        "answered_share": (due - len(missing)) / due if due else None,
        "warnings": {name: sum(1 for row in rows if name in row["warnings"]) for name in WARNINGS},
        "means": _means(rows),
        "invalid_rates": _invalid_rates(rows, judges),
        "kappa": pairs,
        "alpha": alpha_ordinal([[row["overall_recomputed"] for row in unit.values()] for unit in units.values()]),
        "alpha_units": sum(1 for unit in units.values() if len(unit) >= 2),
        "self_preference": self_preference(rows),
        "variant_drift": variant_drift(rows, base_variant),
    }


def _means(rows: list[Row]) -> list[dict[str, Any]]:
    """Judge x target x variant, cross-judging and self-judging apart: means and verdict shares."""
    result = []
    for method in METHODS:
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in counted(rows, method):
            groups.setdefault((row["judge_model"], row["target_model"], row["prompt_variant"]), []).append(row)
        for (judge, target, variant), group in sorted(groups.items(), key=str):
            line: dict[str, Any] = {
                "method": method, "judge_model": judge, "target_model": target, "prompt_variant": variant,
                "n": len(group), "score": mean([row["score"] for row in group]),
                "overall": mean([row["overall_recomputed"] for row in group]),
            }  # fmt: skip
            for name in group[0]:
                if name not in COLUMNS:
                    line[name] = mean([row[name] for row in group])
            told = [row["verdict"] for row in group if row["verdict"] is not None]
            for verdict in VERDICTS:
                line[f"{verdict.lower()}_share"] = told.count(verdict) / len(told) if told else None
            result.append(line)
    return result


def _invalid_rates(rows: list[Row], judges: list[str]) -> list[dict[str, Any]]:
    """Judge x flag, and `any`: the share of the judge's rows, missing ones and duplicates with them."""
    result = []
    for judge in judges:
        own = [row for row in rows if row["judge_model"] == judge]
        for flag in ("any", *FLAGS):
            n = sum(1 for row in own if (row["flags"] if flag == "any" else flag in row["flags"]))
            result.append({"judge_model": judge, "flag": flag, "n": n, "rows": len(own), "rate": n / len(own)})
    return result
