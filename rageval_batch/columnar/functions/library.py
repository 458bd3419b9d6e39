"""Every function, declared once."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.columnar.functions.columns import TEXTS
from rageval_batch.columnar.functions.declaration import Argument, Example, Function
from rageval_batch.columnar.strings import LARGE_STRING

_SHARE, _FLAG, _COUNT = pa.float64(), pa.bool_(), pa.int32()
_S, _REFS = Argument("s", "text"), Argument("refs", "refs")
_A, _B = Argument("a", "text"), Argument("b", "text")
_IDS, _GOLD, _K = Argument("ids", "list"), Argument("gold", "list"), Argument("k", "integer")

_ONE_EMPTY = "Two texts without words give 1, one without words gives 0."
_NO_REFS = "Null elements of a list are left out; a list without texts is null."
_RANKED = "No gold gives null, no ids 0. An id that comes twice counts once; later ones move up."

_WORDS = (
    Function(
        "words",
        (_S,),
        TEXTS,
        doc="The words of a text: lower case; Unicode punctuation and the ASCII symbols removed; a, an, the removed; "
        "cut at white space; every Han or Kana character by itself. On ASCII the tokens of the SQuAD v1.1 script.",
        example=Example("words('The Café-Bar, 東京!')", ["cafébar", "東", "京"]),
        module="overlap",
        nulls="A text without words gives an empty list.",
    ),
    Function(
        "exact_match",
        (_S, _REFS),
        _SHARE,
        doc="1 where the words of the text are those of a reference, else 0.",
        example=Example("exact_match('The answer: 42.', ['41', 'answer 42'])", 1.0),
        module="overlap",
        nulls=_NO_REFS,
    ),
    Function(
        "token_f1",
        (_S, _REFS),
        _SHARE,
        doc="Harmonic mean of token_precision and token_recall against one reference, the best of all references.",
        example=Example("token_f1('a red car', 'the red bus stop')", 0.4),
        module="overlap",
        nulls=f"{_ONE_EMPTY} {_NO_REFS}",
    ),
    Function(
        "token_precision",
        (_S, _REFS),
        _SHARE,
        doc="Share of the words of the text that a reference has, as bags; the best of all references.",
        example=Example("token_precision('a red car', 'the red bus stop')", 0.5),
        module="overlap",
        nulls=f"{_ONE_EMPTY} {_NO_REFS}",
    ),
    Function(
        "token_recall",
        (_S, _REFS),
        _SHARE,
        doc="Share of the words of a reference that the text has, as bags; the best of all references.",
        example=Example("token_recall('a red car', 'the red bus')", 0.5),
        module="overlap",
        nulls=f"{_ONE_EMPTY} {_NO_REFS}",
    ),
    Function(
        "rouge_1",
        (_S, _REFS),
        _SHARE,
        doc="ROUGE-1: F1 over words; the best of all references.",
        example=Example("rouge_1('red car', 'red bus')", 0.5),
        module="overlap",
        nulls=f"No words on a side gives 0. {_NO_REFS}",
    ),
    Function(
        "rouge_2",
        (_S, _REFS),
        _SHARE,
        doc="ROUGE-2: F1 over pairs of adjacent words; the best of all references.",
        example=Example("rouge_2('big red car', 'big red bus')", 0.5),
        module="overlap",
        nulls=f"No pairs on a side gives 0. {_NO_REFS}",
    ),
    Function(
        "rouge_l",
        (_S, _REFS),
        _SHARE,
        doc="ROUGE-L: F1 over the longest common subsequence of words; the best of all references.",
        example=Example("rouge_l('one two three four', 'two one three five')", 0.5),
        module="overlap",
        nulls=f"No words on a side gives 0. {_NO_REFS}",
    ),
    Function(
        "chrf",
        (_S, _REFS),
        _SHARE,
        doc="chrF2 of sacreBLEU from 0 to 1: n-grams of 1 to 6 characters without white space, recall counted twice; "
        "the best of all references.",
        example=Example("chrf('ab', 'a b')", 1.0),
        module="overlap",
        nulls=f"No characters on a side gives 0. {_NO_REFS}",
    ),
)

_SIMILARITY = (
    Function(
        "bigram_jaccard",
        (_S, _REFS),
        _SHARE,
        doc="Jaccard similarity of the sets of adjacent code-point pairs of the texts as they are; the best of all "
        "references.",
        example=Example("bigram_jaccard('餐飲服務部', '餐飲服務處')", 0.6),
        module="overlap",
        nulls=f"No pairs gives 0. {_NO_REFS}",
    ),
    Function(
        "soft_match",
        (_S, _REFS),
        _FLAG,
        doc="Whether one text, without white space, contains the other or their bigram_jaccard is at least 0.72; with "
        "any of the references.",
        example=Example("soft_match('a b', 'ab')", True),
        module="similarity",
        nulls=f"An empty text matches nothing. {_NO_REFS}",
    ),
    Function(
        "squash",
        (_S,),
        LARGE_STRING,
        doc="The text without characters of Unicode's White_Space property.",
        example=Example("squash(' 門禁 管理 ')", "門禁管理"),
        module="similarity",
    ),
    Function(
        "keywords",
        (_S,),
        TEXTS,
        doc="Distinct tokens [A-Za-z0-9][A-Za-z0-9._-]{2,} in lower case, then the adjacent pairs of each run of Han.",
        example=Example("keywords('V-Pass 門禁管 V-PASS')", ["v-pass", "門禁", "禁管"]),
        module="similarity",
        nulls="A text without keywords gives an empty list.",
    ),
    Function(
        "keyword_hits",
        (Argument("expected", "text"), Argument("got", "text")),
        _COUNT,
        doc="How many of the first 30 keywords of expected are among the keywords of got.",
        example=Example("keyword_hits('門禁管理', '禁管理')", 2),
        module="similarity",
    ),
    Function(
        "indel_similarity",
        (_A, _B),
        _SHARE,
        doc="Normalised Indel similarity of RapidFuzz: 1 - (insertions + deletions) / (both lengths).",
        example=Example("indel_similarity('abcd', 'abce')", 0.75),
        module="similarity",
        nulls="Two empty texts give 1.",
    ),
    Function(
        "levenshtein_similarity",
        (_A, _B),
        _SHARE,
        doc="Normalised Levenshtein similarity of RapidFuzz: 1 - edits / (the longer length).",
        example=Example("levenshtein_similarity('kitten', 'mitten!!')", 0.625),
        module="similarity",
        nulls="Two empty texts give 1.",
    ),
)

_BOUNDARY = (
    "After NFKC and casefold; where a part begins or ends with a letter or digit of a script that writes spaces, no "
    "such letter or digit stands next to it."
)
_PHRASES = (
    Function(
        "contains",
        (_S, Argument("part", "text")),
        _FLAG,
        doc=f"Whether the part stands in the text. {_BOUNDARY}",
        example=Example("contains('Dubber has 112.5%', '12.5%')", False),
        module="phrases",
        nulls="An empty part is in no text.",
    ),
    Function(
        "contains_all",
        (_S, Argument("parts", "list")),
        _FLAG,
        doc=f"Whether every part stands in the text. {_BOUNDARY}",
        example=Example("contains_all('BER in 2020', ['ber', '2020'])", True),
        module="phrases",
        nulls="An empty part is in no text; null parts are left out; no parts gives true.",
    ),
    Function(
        "contains_any",
        (_S, Argument("parts", "list")),
        _FLAG,
        doc=f"Whether some part stands in the text. {_BOUNDARY}",
        example=Example("contains_any('Dubber', ['ber', 'dub', 'dubber'])", True),
        module="phrases",
        nulls="An empty part is in no text; null parts are left out; no parts gives false.",
    ),
    Function(
        "include_rate",
        (_S, Argument("groups", "groups")),
        _SHARE,
        doc="Share of the groups of phrases of which the text has one, both normalised by ru_numeric. A text in place "
        "of a group is a group of one phrase.",
        example=Example("include_rate('Рост 78.3%', [['78,3%'], ['падение', 'спад']])", 0.5),
        module="phrases",
        nulls="No groups gives 1. An empty phrase is in no text.",
    ),
    Function(
        "refused",
        (_S,),
        _FLAG,
        doc='Whether the text has a phrase of the packaged lists of refusals and of "not found" (zh, en, ru, ja).',
        example=Example("refused('Sorry, this is not mentioned.')", True),
        module="phrases",
        nulls="An empty text gives false.",
    ),
)

_READING = (
    Function(
        "numbers",
        (_S,),
        pa.large_list(pa.float64()),
        doc="The numbers of the text as a reader sees them, in order; digits of dates, references and list markers are "
        "none.",
        example=Example("numbers('1,250.5 元, 4.2万, 12 % 和肆万贰仟元')", [1250.5, 42000.0, 12.0, 42000.0]),
        module="reading",
        nulls="A text without numbers gives an empty list; a number too large for a double is left out. The page "
        "'How numbers are read' says what is a number and what is none.",
    ),
    Function(
        "numbers_supported",
        (_S, Argument("texts", "list")),
        _SHARE,
        doc="Share of the numbers of the text that one of the texts has.",
        example=Example("numbers_supported('12 of 50', ['about 50', '13'])", 0.5),
        module="reading",
        nulls="A text without numbers gives null, and so does a list without texts.",
    ),
    Function(
        "grounded_share",
        (_S, Argument("texts", "list")),
        _SHARE,
        doc="Share of the keywords of the text that one of the texts has: a pair of Han as it is, a token as a whole "
        "one, where case and the marks . _ - at its end do not count (months is in a text with Months.).",
        example=Example("grounded_share('門禁管 V-Pass', ['門禁', 'v-pass'])", 2 / 3),
        module="reading",
        nulls="A text without keywords gives null, and so does a list without texts. Keywords are those of the "
        "function keywords: words of other scripts, such as Cyrillic, are none.",
    ),
    Function(
        "script",
        (_S,),
        LARGE_STRING,
        doc="The script that most letters are of, by Unicode's names: Latin, Han, Hangul, Cyrillic, Arabic and so on; "
        "Hiragana and Katakana are Kana, and with any Kana so is Han. Of equals the first in the text.",
        example=Example("script('東京タワーへ行く')", "Kana"),
        module="reading",
        nulls="A text without letters gives null.",
    ),
    Function(
        "strict_json",
        (_S,),
        LARGE_STRING,
        doc="The text as a JSON value where it is one value of RFC 8259.",
        example=Example("strict_json('{\"a\": [1, 2]}')", '{"a": [1, 2]}'),
        module="reading",
        nulls="Any other text gives null.",
        sql_type="JSON",
    ),
)

_RETRIEVAL = (
    Function(
        "recall_at",
        (_IDS, _GOLD, _K),
        _SHARE,
        doc="Share of the gold ids among the first k ids.",
        example=Example("recall_at(['a', 'b', 'c'], ['c', 'x'], 3)", 0.5),
        module="retrieval",
        nulls=f"{_RANKED} k below 1 gives null.",
    ),
    Function(
        "precision_at",
        (_IDS, _GOLD, _K),
        _SHARE,
        doc="Gold ids among the first k ids, over k.",
        example=Example("precision_at(['a', 'b', 'c'], ['c', 'a'], 4)", 0.5),
        module="retrieval",
        nulls=f"{_RANKED} k below 1 gives null.",
    ),
    Function(
        "hit_at",
        (_IDS, _GOLD, _K),
        _SHARE,
        doc="1 where a gold id is among the first k ids, else 0.",
        example=Example("hit_at(['a', 'b', 'c'], ['c'], 2)", 0.0),
        module="retrieval",
        nulls=f"{_RANKED} k below 1 gives null.",
    ),
    Function(
        "reciprocal_rank",
        (_IDS, _GOLD),
        _SHARE,
        doc="1 over the rank of the first gold id, 0 where there is none.",
        example=Example("reciprocal_rank(['a', 'a', 'b', 'c'], ['b'])", 0.5),
        module="retrieval",
        nulls=_RANKED,
    ),
    Function(
        "average_precision",
        (_IDS, _GOLD),
        _SHARE,
        doc="Mean over the gold ids of the precision at the rank of each.",
        example=Example("average_precision(['a', 'b', 'c', 'd'], ['a', 'd'])", 0.75),
        module="retrieval",
        nulls=_RANKED,
    ),
    Function(
        "ndcg_at",
        (_IDS, _GOLD, Argument("grades", "numbers", optional=True), _K),
        _SHARE,
        doc="Discounted gain of the first k ids over that of the best order; the gain is the grade, the discount "
        "log2(rank + 1).",
        example=Example("ndcg_at(['x', 'a'], ['a'], [3], 10)", 0.6309297535714575),
        module="retrieval",
        nulls=f"{_RANKED} k below 1 gives null. Gold with no grade above 0 gives null; a null or missing grade is 1.",
    ),
)

FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*_WORDS, *_SIMILARITY, *_PHRASES, *_READING, *_RETRIEVAL)
}
