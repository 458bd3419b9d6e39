"""Profile `legal_rag` (page 50), one answer at a time."""

import datetime
import re
import unicodedata
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from oracles import values
from oracles.legal_output import (
    Amount,
    Answer,
    Item,
    as_amount,
    as_list,
    as_object,
    as_text,
    first_given,
    label_of,
    page_of,
    read_output,
)
from oracles.measures import contradicts
from oracles.text import WHITE_SPACE, keywords, soft_match, squash
from oracles.values import (
    ABSTENTION,
    Number,
    date_ranges,
    dates,
    first_boolean,
    fold,
    names,
    numbers,
    sentences,
)

PARAMS: dict[str, float] = {
    "numeric_tolerance": 0.01,
    "date_tolerance_days": 31,
    "key_point_recall": 0.6,
    "pass_score": 0.7,
}
LIMIT = 1e-9  # the tolerance of every limit
TYPES = ("fact_exact", "evidence_set", "conflict_gap")
PENALTY = {"high": 1.0, "medium": 0.5, "low": 0.25}  # c / 0.4
ALIASES = {
    "amount_total": ("amount", "amount_total"),
    "amount_breakdown": ("amount_breakdown",),
    "date": ("date",),
    "date_range": ("date_range",),
    "count": ("count",),
    "text_answer": ("text", "text_answer"),
    "boolean_answer": ("boolean", "boolean_answer"),
    "entity": ("entity",),
}
SUB_SCORES = (
    *("exact_match", "citation_correctness", "evidence_recall", "evidence_precision", "citation_provided"),
    *("abstained", "correct_abstention", "no_hallucination", "inventions", "quote_included"),
)
TOTAL_BEFORE = re.compile(
    r"(?:共|总|總|合计|合計|共计|共計|总计|總計|total(?:\s+of)?)[\s:：]*[¥￥$]?\s*\Z", re.IGNORECASE
)
ELLIPSIS = re.compile(r"…+|\.{3,}")


def question_type(question: dict[str, Any], file_header: dict[str, Any]) -> str:
    """The question's `type`, else the file's `benchmark_type`; an unknown one is an input error."""
    own = question.get("type")
    kind = file_header.get("benchmark_type") if own is None else own
    if not isinstance(kind, str) or kind not in TYPES:
        name = question.get("id", question.get("question_id"))
        raise ValueError(f"question {name!r}: unknown type {kind!r}, allowed are {', '.join(TYPES)}")
    return kind


def score(
    question: dict[str, Any], output: str | None, *, missing: bool = False, params: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Every column of page 50 but the keys."""
    settings = {**PARAMS, **(params or {})}
    values.FORMATS = (settings.get("decimal_mark", "auto"), settings.get("date_order", "auto"))
    kind = question_type(question, {})
    metadata = as_object(question.get("metadata"))
    tags = metadata.get("tags")
    row: dict[str, Any] = {
        "question_type": kind,
        "weight": _limit(question, "weight", 1.0),
        "score": 0.0,
        "passed": False,
        **dict.fromkeys(SUB_SCORES),
        "difficulty": metadata.get("difficulty"),
        "category": metadata.get("category"),
        "tags": list(tags) if isinstance(tags, list) else [],
        "fail_reason": None,
    }
    if missing:
        return {**row, "fail_reason": "missing_output"}
    if output is None or not squash(output):
        return {**row, "fail_reason": "empty_output"}
    answer = read_output(output)
    scorer = {"fact_exact": _fact_exact, "evidence_set": _evidence_set, "conflict_gap": _conflict_gap}[kind]
    row.update(scorer(question, answer, settings))
    row["passed"] = row["score"] >= settings["pass_score"] - LIMIT
    return row


# --- fields of a question ------------------------------------------------------------------------------------------


def _anywhere(question: dict[str, Any], key: str) -> Any:
    """A setting that may stand in the question, in `expected` or in `scoring`; the first that is not null."""
    places = (question, as_object(question.get("expected")), as_object(question.get("scoring")))
    return next((place[key] for place in places if place.get(key) is not None), None)


def _flag(question: dict[str, Any], key: str, default: bool) -> bool:
    value = _anywhere(question, key)
    return value if isinstance(value, bool) else default


def _limit(question: dict[str, Any], key: str, default: float) -> float:
    """A number of the question as a float; the default where there is none that a float can hold."""
    value = _anywhere(question, key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        return float(value)
    except OverflowError:
        return default


def _required(question: dict[str, Any]) -> list[dict[str, Any]]:
    entries = question.get("required_evidence")
    return [entry for entry in as_list(entries) if isinstance(entry, dict)]


def _critical(required: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose `is_critical` is true or missing; all where there is none."""
    return [entry for entry in required if entry.get("is_critical") is not False] or required


def _covers(item: Item, entry: dict[str, Any]) -> bool:
    """Whether an item holds `must_include` and does not contradict page, section and speaker."""
    if squash(as_text(entry.get("must_include"))) not in squash(item.text):
        return False
    wanted = (page_of(entry.get("page")), label_of(entry.get("section")), label_of(entry.get("speaker")))
    given = (item.page, item.section, item.speaker)
    return all(w is None or g is None or w == g for w, g in zip(wanted, given, strict=True))


# --- fact_exact ----------------------------------------------------------------------------------------------------


def _fact_exact(question: dict[str, Any], answer: Answer, settings: dict[str, Any]) -> dict[str, Any]:
    expected = as_object(question.get("expected"))
    typed = [key for key in ALIASES if expected.get(key) is not None]
    exact = float(all(_field_matches(key, expected, question, answer, settings) for key in typed))
    citation = _citation_correctness(question, answer)
    return {"score": 0.7 * exact + 0.3 * citation, "exact_match": exact, "citation_correctness": citation}


def _citation_correctness(question: dict[str, Any], answer: Answer) -> float:
    items = answer.citations + answer.evidence
    required = _required(question)
    if not items and not _flag(question, "citation_required", True):
        return 1.0
    if not required:
        return float(bool(items))
    critical = _critical(required)
    return sum(any(_covers(item, entry) for item in items) for entry in critical) / len(critical)


def _field_matches(
    key: str, expected: dict[str, Any], question: dict[str, Any], answer: Answer, settings: dict[str, Any]
) -> bool:
    wanted = expected[key]
    given = first_given(answer.fields, ALIASES[key])
    if key in ("amount_total", "count"):
        return _number_matches(wanted, given, expected, question, answer, settings)
    if key == "amount_breakdown":
        return _breakdown_matches(wanted, given, expected, question, answer, settings)
    if key in ("date", "date_range"):
        tolerance = 0 if _flag(question, "date_exact", True) else settings["date_tolerance_days"]
        return _dates_match(wanted, given, answer.text, tolerance)
    got = answer.text if given is None else given
    if key == "boolean_answer":
        want = _boolean(wanted)
        return want is not None and _boolean(got) is want
    want_text, got_text = as_text(wanted), as_text(got)
    if key == "entity":
        return fold(want_text) != "" and fold(want_text) in fold(got_text)
    same = fold(want_text) != "" and fold(want_text) == fold(got_text)
    return same or soft_match(want_text, got_text)


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else first_boolean(as_text(value))


def _near(wanted: Decimal, got: Decimal, tolerance: Decimal) -> bool:
    """Equal, or within the tolerance as a share of the wanted number."""
    if wanted == got or tolerance == 0:
        return wanted == got
    with localcontext(prec=100):
        return abs(got - wanted) <= abs(wanted) * tolerance + Decimal(str(LIMIT))


class Rule(NamedTuple):
    """Whether kinds count, and how far a value may be off as a share of the wanted one."""

    exact: bool
    tolerance: Decimal

    def near(self, wanted: Decimal, got: Decimal) -> bool:
        return _near(wanted, got, self.tolerance)

    def same(self, want: Amount, got: Amount) -> bool:
        if self.exact and want.kind != got.kind:
            return False
        return self.near(want.low, got.low) and self.near(want.high, got.high)

    def found(self, want: Amount, number: Number) -> bool:
        """A wanted range is found by the low end of one; anything else by value and kind."""
        if want.low != want.high:
            return self.same(
                want, Amount(number.kind, number.value, number.value if number.high is None else number.high)
            )
        return self.near(want.low, number.value) and (want.kind == number.kind or not self.exact)


def _rule(question: dict[str, Any], settings: dict[str, Any]) -> Rule:
    exact = _flag(question, "numeric_exact", True)
    return Rule(exact, Decimal(0) if exact else Decimal(str(settings["numeric_tolerance"])))


def _amounts(value: Any) -> list[Amount | None]:
    """The amounts of a breakdown: of objects their `amount`, else the entries themselves."""
    entries = [entry.get("amount") if isinstance(entry, dict) else entry for entry in as_list(value)]
    return [as_amount(entry) for entry in entries]


def _allowed(expected: dict[str, Any], question: dict[str, Any]) -> set[Decimal]:
    """Values that may stand beside the expected one: the question's and the other expected numbers."""
    allowed = {number.value for number in numbers(as_text(question.get("question")))}
    listed = [*_amounts(expected.get("amount_breakdown")), as_amount(expected.get("amount_total"))]
    listed.append(as_amount(expected.get("count")))
    return allowed | {end for amount in listed if amount is not None for end in (amount.low, amount.high)}


def _number_matches(
    wanted: Any,
    given: Any,
    expected: dict[str, Any],
    question: dict[str, Any],
    answer: Answer,
    settings: dict[str, Any],
) -> bool:
    want, rule = as_amount(wanted), _rule(question, settings)
    if want is None:
        return False
    if given is not None:
        got = as_amount(given)
        return got is not None and rule.same(want, got)
    return _found_in_text(want, rule, _allowed(expected, question), answer.text)


def _found_in_text(want: Amount, rule: Rule, allowed: set[Decimal], text: str) -> bool:
    """Whether the first sentence that holds the number gives it, and not one value among several of its unit."""
    found = numbers(text)
    first = next((number for number in found if rule.found(want, number)), None)
    if first is None:
        return False
    start, end = next((a, b) for a, b in sentences(text) if a <= first.start < b)
    inside = [number for number in found if start <= number.start < end]
    hits = [number for number in inside if rule.found(want, number)]
    if any(TOTAL_BEFORE.search(text[max(start, hit.start - 40) : hit.start]) for hit in hits):
        return True
    excused = {want.low, want.high, *allowed}
    return any(
        all(
            not contradicts(text, number, hit) or any(rule.near(value, number.value) for value in excused)
            for number in inside
        )
        for hit in hits
    )


def _breakdown_matches(
    wanted: Any,
    given: Any,
    expected: dict[str, Any],
    question: dict[str, Any],
    answer: Answer,
    settings: dict[str, Any],
) -> bool:
    """The amounts as a multiset; in a text each as often as expected, and each by the rule for one number."""
    rule = _rule(question, settings)
    want = [amount for amount in _amounts(wanted) if amount is not None]
    if len(want) < len(_amounts(wanted)):
        return False

    def ordered(amounts: list[Amount]) -> list[Amount]:
        return sorted(amounts, key=lambda amount: (amount.low, amount.high, amount.kind if rule.exact else ""))

    if given is not None:
        got = [amount for amount in _amounts(given) if amount is not None]
        if len(got) < len(_amounts(given)) or len(got) != len(want):
            return False
        return all(rule.same(w, g) for w, g in zip(ordered(want), ordered(got), strict=True))
    allowed = _allowed(expected, question)
    if not all(_found_in_text(amount, rule, allowed, answer.text) for amount in want):
        return False
    left = sorted(numbers(answer.text), key=lambda number: number.value)
    for amount in ordered(want):
        hit = next((number for number in left if rule.found(amount, number)), None)
        if hit is None:
            return False
        left.remove(hit)
    return True


def _dates_match(wanted: Any, given: Any, text: str, tolerance: int) -> bool:
    """A date, or both ends of a range, equal or within the days of tolerance."""
    if isinstance(wanted, dict):
        ends = [(key, _iso(wanted[key])) for key in ("start", "end") if wanted.get(key) is not None]
        if isinstance(given, dict):
            return all(_same_day(want, _iso(given.get(key)), tolerance) for key, want in ends)
        if given is not None:
            ranges = date_ranges(as_text(given))
            if len(ranges) != 1:
                return False
            got = {"start": ranges[0][0].iso, "end": ranges[0][1].iso}
            return all(_same_day(want, got[key], tolerance) for key, want in ends)
        found = [date.iso for date in dates(text)]
        return all(any(_same_day(want, date, tolerance) for date in found) for _, want in ends)
    want = _iso(wanted)
    if given is not None:
        return _same_day(want, _iso(given), tolerance)
    return any(_same_day(want, date.iso, tolerance) for date in dates(text))


def _iso(value: Any) -> str | None:
    """The only date in a text."""
    distinct = {date.iso for date in dates(as_text(value))}
    return distinct.pop() if len(distinct) == 1 else None


def _same_day(want: str | None, got: str | None, tolerance: int) -> bool:
    if want is None or got is None:
        return False
    if want == got:
        return True
    try:
        apart = datetime.date.fromisoformat(want) - datetime.date.fromisoformat(got)
    except ValueError:
        return False
    return abs(apart.days) <= tolerance


# --- evidence_set --------------------------------------------------------------------------------------------------


def _evidence_set(question: dict[str, Any], answer: Answer, settings: dict[str, Any]) -> dict[str, Any]:
    required = _required(question)
    points = [as_text(point) for point in as_list(_anywhere(question, "key_points"))]
    points = [point for point in points if squash(point)]
    distinct: dict[tuple[str | None, str], Item] = {}
    for item in answer.evidence or answer.citations:
        distinct.setdefault((item.page, squash(item.text)), item)
    retrieved = list(distinct.values())

    def covers_point(item: Item, point: str) -> bool:
        return _covers_point(item, point, settings["key_point_recall"])

    if required:
        critical = _critical(required)
        covered = [any(_covers(item, entry) for item in retrieved) for entry in critical]
    else:
        covered = [any(covers_point(item, point) for item in retrieved) for point in points]
    recall = sum(covered) / len(covered) if covered else 1.0
    relevant = [
        item
        for item in retrieved
        if any(_covers(item, entry) for entry in required) or any(covers_point(item, point) for point in points)
    ]
    precision = len(relevant) / len(retrieved) if retrieved else 0.0
    enough = len(relevant) >= _limit(question, "evidence_count_min", 0.0) - LIMIT
    recalled = enough and recall >= _limit(question, "evidence_recall_min", 0.8) - LIMIT
    precise = precision >= _limit(question, "evidence_precision_min", 0.7) - LIMIT
    paged = any(item.page is not None for item in answer.citations + answer.evidence)
    provided = paged or not _flag(question, "citation_required", True)
    return {
        "score": 0.5 * recalled + 0.3 * precise + 0.2 * provided,
        "evidence_recall": recall,
        "evidence_precision": precision,
        "citation_provided": provided,
    }


def _covers_point(item: Item, point: str, share: float) -> bool:
    """By the soft match, or by the share of the point's keywords that the item has."""
    if soft_match(point, item.text):
        return True
    wanted = keywords(point)
    given = set(keywords(item.text))
    return bool(wanted) and sum(word in given for word in wanted) / len(wanted) >= share - LIMIT


# --- conflict_gap --------------------------------------------------------------------------------------------------


def _conflict_gap(question: dict[str, Any], answer: Answer, _settings: dict[str, Any]) -> dict[str, Any]:
    should_abstain = _flag(question, "should_abstain", True)
    quotes = [as_text(_anywhere(question, "required_quote"))]
    quotes += [as_text(quote) for quote in as_list(_anywhere(question, "additional_quotes"))]
    quotes = [quote for quote in quotes if _parts(quote)]
    places = [answer.text, *(item.text for item in answer.citations), *(item.text for item in answer.evidence)]
    quoted = any(_holds_quote(place, quote) for quote in quotes for place in places)
    abstained = _abstained(answer)
    inventions = _inventions(question, quotes, answer)
    if should_abstain and not abstained and not quoted:
        inventions = max(inventions, 1)
    level = _anywhere(question, "hallucination_penalty")
    no_hallucination = max(0.0, 1 - inventions * PENALTY.get(level if isinstance(level, str) else "high", 1.0))
    correct = abstained == should_abstain
    included = quoted or not quotes
    return {
        "score": 0.4 * correct + 0.4 * no_hallucination + 0.2 * included,
        "abstained": abstained,
        "correct_abstention": correct,
        "no_hallucination": no_hallucination,
        "inventions": inventions,
        "quote_included": included,
    }


def _parts(quote: str) -> list[str]:
    """The squashed parts of a quote between its ellipses."""
    return [part for part in map(squash, ELLIPSIS.split(quote)) if part]


def _holds_quote(place: str, quote: str) -> bool:
    """Whether the parts of the quote stand in the text, one behind the other."""
    text, at = squash(place), 0
    for part in _parts(quote):
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    """How phrases are looked up: NFKC, casefold, one apostrophe, white space runs as one space."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return re.sub("[" + re.escape("".join(sorted(WHITE_SPACE))) + "]+", " ", folded)


def _abstains(text: str) -> bool:
    plain = _plain(text)
    return any(_plain(phrase) in plain for phrase in ABSTENTION)


def _abstained(answer: Answer) -> bool:
    """The flag, or a phrase in the answer."""
    flag = answer.fields.get("abstained")
    return (flag is not None and _boolean(flag) is True) or _abstains(answer.text)


def _inventions(question: dict[str, Any], quotes: list[str], answer: Answer) -> int:
    """How many distinct numbers, dates and names of the answer none of the question's texts holds."""
    sources = [as_text(question.get("question")), *quotes]
    for entry in _required(question):
        sources += [as_text(entry[key]) for key in ("must_include", "text", "quote") if entry.get(key) is not None]
    known_numbers = {number.value for source in sources for number in numbers(source)}
    known_dates = {date.iso for source in sources for date in dates(source)}
    folded = [fold(source) for source in sources]

    def known_name(reading: str) -> bool:
        return any(_holds_quote(source, fold(reading)) for source in folded)

    got_numbers: set[Decimal] = set()
    got_dates: set[str] = set()
    got_names: set[str] = set()
    for text in _statements(answer):
        read = numbers(text)
        got_numbers |= {number.value for number in read if not number.article}
        spans = [(number.start, number.end) for number in read]
        days = dates(text)
        got_dates |= {date.iso for date in days}
        spans += [(date.start, date.end) for date in days]
        found = names(text)
        quoted = [name for name in found if name.quoted]
        for name in found:
            if name.quoted and (_abstains(name.text) or any(_overlap(name.start, name.end, span) for span in spans)):
                continue
            if not name.quoted and any(q.start <= name.start and name.end <= q.end for q in quoted):
                continue
            if not any(known_name(reading) for reading in name.readings):
                got_names.add(fold(name.text))
    entity = fold(as_text(answer.fields.get("entity")))
    if entity and not _abstains(entity) and not known_name(entity):
        got_names.add(entity)
    new_dates = [date for date in got_dates if not any(_agrees(date, known) for known in known_dates)]
    return len(got_numbers - known_numbers) + len(new_dates) + len(got_names)


def _overlap(start: int, end: int, span: tuple[int, int]) -> bool:
    return start < span[1] and span[0] < end


def _agrees(date: str, known: str) -> bool:
    """Whether a date says nothing that the known one does not: 2020-08 and --08-30 agree with 2020-08-30."""
    if known == date or known.startswith(date + "-"):
        return True
    return date.startswith("-") and f"{known}-"[4:].startswith(date[1:] + "-")


def _statements(answer: Answer) -> list[str]:
    """What the answer asserts: its text and its typed fields."""
    texts = [answer.text]
    fields = answer.fields
    for key in ("amount", "amount_total", "count", "date", "text", "text_answer"):
        if fields.get(key) is not None and not isinstance(fields[key], bool):
            texts.append(as_text(fields[key]))
    ends = fields.get("date_range")
    texts += [as_text(end) for end in ends.values()] if isinstance(ends, dict) else [as_text(ends)]
    for amount in _amounts(fields.get("amount_breakdown")):
        texts += [f"{end:f}" for end in dict.fromkeys(amount[1:])] if amount is not None else []
    return texts
