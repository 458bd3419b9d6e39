"""The lists that reading stands on: packaged phrases, units, titles and surnames, and what a user adds to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY
from string import ascii_letters, digits

from rageval_batch.dataclass import dataclass
from rageval_batch.resources import packaged_data

# Spellings of one unit. The 万元 family multiplies and is 元 then.
SAME_UNIT = {
    "块": "元", "塊": "元", "圆": "元", "圓": "元", "人民币": "元", "人民幣": "元", "個": "个", "歲": "岁",
    "小時": "小时", "分鐘": "分钟", "公斤": "千克", "噸": "吨", "張": "张", "筆": "笔", "％": "%",
}  # fmt: skip
MULTIPLYING_UNIT = {"万元": 4, "萬元": 4, "亿元": 8, "億元": 8}
MORE_UNITS = ("人民币", "人民幣", "‰", "‱")
# A figure may follow these without a space; behind any other Latin letter it is part of a name (A4, V2).
CURRENCIES = frozenset({"RMB", "CNY", "USD", "HKD", "TWD", "EUR", "JPY", "GBP"})
# A currency behind a figure, as a pattern that ignores case.
MONEY_BEHIND = (
    "(?:[$€£¥₽元円]|(?:美|日|欧|港)元|(?:us[ \\t]+)?dollars?|euros?|pounds?|yen|yuan|rou?bles?|rupees?|руб\\.?"
    rf"|рубл[а-яё]{{1,3}}|доллар[а-яё]{{0,3}}|евро|{'|'.join(sorted(CURRENCIES))})(?-i:(?![A-Za-zА-Яа-яЁё_]))"
)

# Words directly before or behind a figure that make it an approximation or a bound, by the kind they make it.
WORDS_BEFORE = {
    "approximate": (
        "约", "約", "大约", "大約", "大概", "大致", "近", "将近", "將近", "接近", "几乎", "幾乎", "差不多", "≈", "~",
        "about", "around", "approximately", "approx.", "approx", "roughly", "nearly", "almost", "circa", "close to",
        "около", "примерно", "приблизительно", "почти", "порядка",
    ),
    "lower bound": (
        "超过", "超過", "超出", "超", "逾", "多于", "多於", "大于", "大於", "高于", "高於", "至少", "最少", "起码",
        "不少于", "不少於", "不低于", "不低於", "不小于", "不小於", "不止", "≥", ">", ">=",
        "over", "more than", "above", "at least", "exceeding", "in excess of", "greater than", "upwards of",
        "no less than", "not less than", "no fewer than", "not fewer than", "not under", "not below",
        "более", "более чем", "больше", "больше чем", "свыше", "не менее", "не менее чем", "не меньше",
        "не меньше чем", "как минимум",
    ),
    "upper bound": (
        "不足", "不到", "不满", "不滿", "未满", "未滿", "未満", "不及", "少于", "少於", "小于", "小於", "低于", "低於",
        "至多", "最多", "不超过", "不超過", "未超过", "未超過", "没有超过", "沒有超過", "没超过", "沒超過", "不多于",
        "不多於", "不高于", "不高於", "不大于", "不大於", "≤", "<", "<=",
        "under", "less than", "fewer than", "below", "at most", "up to", "no more than", "not more than", "not over",
        "not above", "not exceeding", "no greater than",
        "менее", "менее чем", "меньше", "меньше чем", "не более", "не более чем", "не больше", "не больше чем",
        "не свыше", "как максимум", "до",
    ),
}  # fmt: skip
# Characters before 约, 近 and > with which they are something else: 合约, 违约, 附近, 最近, <b>.
NO_APPROXIMATION = {
    **dict.fromkeys("约約", "合契签簽违違预預公条條履节節制婚租相失解续續守毁毀缔締邀要特盟和立践踐废廢"),
    "~": "~0123456789\x00元块塊圆圓%个個人名次天日月年岁歲万萬亿億千百十",
    "近": "附最靠邻鄰远遠亲親新就临臨晚",
    **dict.fromkeys((">", "<", ">=", "<="), f"{ascii_letters}{digits}\"'/-=<>"),  # <b>5, ->5
}
BETWEEN_NUMBERS = frozenset({"~", "до", ">", "<", ">=", "<="})  # 3~5, 3 до 5: no bounds there
WORDS_AFTER = {
    "approximate": "左右(?![两兩侧側边邊手])|上下(?![车車楼樓班学學级級])|[ \\t]+or[ \\t]+so(?![a-z])",
    "lower bound": (
        "(?:及|或|または)?以上(?!述)|超(?![0-9\u4e00-\u9fff\u3400-\u4dbf])|余り|有余|有餘|开外|開外|\\+(?![0-9])"
        "|[ \\t]+(?:or|and)[ \\t]+(?:more|above|over)(?![a-z])"
        "|[ \\t]+(?:и|или)[ \\t]+(?:более|больше)(?![а-яё])"
    ),
    "upper bound": (
        "(?:及|或|または)?以下(?![列简簡])|未満|[ \\t]+(?:or|and)[ \\t]+(?:less|fewer|below|under)(?![a-z])"
        "|[ \\t]+(?:и|или)[ \\t]+(?:менее|меньше)(?![а-яё])"
    ),
}
# What may stand between a figure with its unit and a word behind it: 3个月以上, 3家以上.
MEASURES = "月|小时|小時|星期|工作日|百分点|人|周|週|家|位|份|条|條|项|項|倍|户|戶|米|亩|畝"
# Units behind which 多 and 余 say that it is more: 5年多, 3个多月.
EXCEEDED_UNITS = frozenset({"元", "美元", "年", "月", "天", "个", "小时", "分钟", "岁", "公里", "千克", "克", "吨"})
TIME_UNITS = frozenset({"年", "月", "日", "天", "小时", "分钟"})  # 30日以内 is a term, no bound
SIGNED_UNITS = frozenset({"元", "美元", "%", "‰", "‱"})
COUNTED_UNITS = frozenset({"人", "名", "次", "个", "套", "件", "台", "张", "笔", "岁"})  # never below nothing
NO_SIGN_BEFORE = frozenset("胜勝自肩担擔背抱辜重正欺应應须須各需均要")  # 自负, 担负, 应负

TRUE_WORDS = ("是", "有", "yes", "true", "да", "はい")
FALSE_WORDS = (
    "否", "没有", "沒有", "不是", "并非", "並非", "no", "false", "нет", "いいえ",
    # negated verbs that begin like a neutral word
    "不同意", "不足以", "不等于", "不等於", "不到庭", "不到场", "不到場", "不安排", "没收到", "沒收到", "没收取",
    "沒收取", "没收款", "沒收款",
)  # fmt: skip
NEGATIONS = "不没沒未"  # of the verb behind them: 不承担, 没付, 未付
CONDITIONS = ("如", "若", "倘", "如果", "假如", "要是", "除非")  # behind these a negation answers nothing
# Longer words around 是, 有, 否 and the negations that answer nothing.
NEUTRAL_WORDS = (
    "是否", "有没有", "有沒有", "有无", "有無", "有否", "能否", "可否", "应否", "應否", "会否", "會否", "与否",
    "與否", "否则", "否則", "要不是", "是非", "实事求是", "實事求是", "国有", "國有", "所有", "公有", "私有",
    "共有", "现有", "現有", "原有", "特有", "固有", "专有", "專有", "自有", "既有", "只有", "唯有", "如有", "若有",
    "有限", "有关", "有關", "有期", "有时", "有時", "有些", "有偿", "有償", "有价证券", "有價證券", "有形", "有机",
    "有機", "持有", "拥有", "擁有", "享有", "占有", "佔有", "具有", "含有", "带有", "帶有", "设有", "設有", "附有",
    "载有", "載有", "有效期", "否认", "否認", "否定", "否决", "否決",
    # 不
    "不仅", "不僅", "不但", "不只", "不止", "不光", "不单", "不單", "不过", "不過", "不管", "不论", "不論", "不如",
    "不然", "不久", "不断", "不斷", "不时", "不時", "不少", "不足", "不到", "不满", "不滿", "不及", "不超过",
    "不超過", "不低于", "不低於", "不高于", "不高於", "不多于", "不多於", "不大于", "不大於", "不小于", "不小於",
    "不等", "不同", "不动产", "不動產", "不可抗力", "不可分", "不当得利", "不當得利", "不正当", "不正當", "不法",
    "不良", "不利", "不便", "不幸", "不慎", "不料", "不妨", "不得不", "不能不", "不可不", "不会不", "不會不",
    "不得已", "不定期", "不特定", "不锈钢", "不銹鋼", "不服", "不安", "不日", "不禁", "不由", "不愧", "不惜",
    "不知", "不清楚", "不清", "不详", "不詳", "不明", "不确定", "不確定", "不记得", "不記得", "不好说", "不好說",
    "不一定", "差不多", "对不起", "對不起", "了不起", "来不及", "來不及", "要不", "动不动", "動不動", "记不清",
    "記不清", "记不得", "記不得", "说不清", "說不清",
    # 没, 未
    "没收", "沒收", "没错", "沒錯", "没问题", "沒問題", "没关系", "沒關係", "没落", "沒落", "没入", "沒入", "淹没",
    "淹沒", "沉没", "沉沒", "埋没", "埋沒", "出没", "出沒", "吞没", "吞沒", "隐没", "隱沒", "没准", "沒準",
    "没提及", "沒提及", "没说明", "沒說明", "没记录", "沒記錄", "未成年", "未来", "未來", "未必", "未经", "未經",
    "未婚", "未知", "未满", "未滿", "未満", "未超过", "未超過", "未详", "未詳", "未定", "未提及", "未提到",
    "未说明", "未說明", "未记载", "未記載", "未载明", "未載明", "未明确", "未明確", "未遂", "未到期",
)  # fmt: skip
# These are no answers either, but 是 of 是否 behind them is read first: 但是否.
CONNECTIVES = (
    "但是", "可是", "还是", "還是", "于是", "於是", "只是", "若是", "要是", "凡是", "而是", "或是", "总是", "總是",
    "倒是", "尤其是", "特别是", "特別是",
)  # fmt: skip
NOT_OF_THE_STATE = "中我美法英德俄日韩韓泰外全各本两兩该該他它"  # 中国有, 我国有 are no 国有
# Words whose 方, 任, 何, 高 are no surnames.
NO_SURNAMES = ("对方", "對方", "甲方", "乙方", "丙方", "双方", "雙方", "我方", "警方", "任何", "高级", "高級")


@dataclass(frozen=True)
class Lexicon:
    """The lists of one reader."""

    abstention: tuple[str, ...]
    units: tuple[str, ...]
    titles: tuple[str, ...]
    _: KW_ONLY
    surnames: tuple[str, ...]


def lexicon(
    abstention: Iterable[str] = (),
    units: Iterable[str] = (),
    titles: Iterable[str] = (),
    *,
    surnames: Iterable[str] = (),
) -> Lexicon:
    """The packaged lists, with more of the user's own behind them."""
    lists = packaged_data("phrases.json")
    phrases = [phrase for of_language in lists["abstention"].values() for phrase in of_language]
    return Lexicon(
        (*phrases, *abstention),
        (*lists["units"], *MORE_UNITS, *units),
        (*lists["titles"], *titles),
        surnames=(*lists["surnames"], *surnames),
    )


def longest_first(words: Iterable[str]) -> list[str]:
    """Distinct words in the order in which an alternation must try them."""
    return sorted(set(words), key=lambda word: (-len(word), word))
