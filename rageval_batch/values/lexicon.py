"""The lists that reading stands on: packaged phrases, units, titles and surnames, and what a user adds to them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

# Spellings of one unit. The 万元 family multiplies and is 元 then.
SAME_UNIT = {
    "块": "元", "塊": "元", "圆": "元", "圓": "元", "人民币": "元", "人民幣": "元", "個": "个", "歲": "岁",
    "小時": "小时", "分鐘": "分钟", "公斤": "千克", "噸": "吨", "張": "张", "筆": "笔", "％": "%",
}  # fmt: skip
MULTIPLYING_UNIT = {"万元": 4, "萬元": 4, "亿元": 8, "億元": 8}
MORE_UNITS = ("人民币", "人民幣", "‰", "‱")
# A figure may follow these without a space; behind any other Latin letter it is part of a name (A4, V2).
CURRENCIES = frozenset({"RMB", "CNY", "USD", "HKD", "TWD", "EUR", "JPY", "GBP"})

TRUE_WORDS = ("是", "有", "yes", "true")
FALSE_WORDS = ("否", "没有", "沒有", "不是", "no", "false")
# Longer words around 是 and 有 that answer nothing.
NEUTRAL_WORDS = (
    "是否", "是不是", "有没有", "有沒有", "有无", "有無", "但是", "可是", "还是", "還是", "于是", "於是", "只是",
    "所有", "有限", "有关", "有關",
)  # fmt: skip
# Words whose 方, 任, 何, 高 are no surnames.
NO_SURNAMES = ("对方", "對方", "甲方", "乙方", "丙方", "双方", "雙方", "我方", "警方", "任何", "高级", "高級")


@lru_cache(maxsize=1)
def packaged() -> dict[str, Any]:
    """The lists of data/phrases.json."""
    lists: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "phrases.json").read_bytes())
    return lists


@dataclass(frozen=True)
class Lexicon:
    """The lists of one reader."""

    abstention: tuple[str, ...]
    units: tuple[str, ...]
    titles: tuple[str, ...]
    surnames: tuple[str, ...]


def lexicon(
    abstention: Iterable[str] = (), units: Iterable[str] = (), titles: Iterable[str] = (), surnames: Iterable[str] = ()
) -> Lexicon:
    """The packaged lists, with more of the user's own behind them."""
    lists = packaged()
    phrases = [phrase for of_language in lists["abstention"].values() for phrase in of_language]
    return Lexicon(
        (*phrases, *abstention),
        (*lists["units"], *MORE_UNITS, *units),
        (*lists["titles"], *titles),
        (*lists["surnames"], *surnames),
    )


def longest_first(words: Iterable[str]) -> list[str]:
    """Distinct words in the order in which an alternation must try them."""
    return sorted(set(words), key=lambda word: (-len(word), word))
