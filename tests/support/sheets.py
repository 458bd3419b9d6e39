"""A small writer of Excel files, for tests: one sheet, texts inline, numbers as numbers."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="{type}" Target="{target}"/></Relationships>'
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def write_xlsx(path: Path, rows: Sequence[Sequence[str | int | float | None]]) -> Path:
    """Rows, the first of them the names, as the one sheet of a file."""
    cells = "".join(
        f'<row r="{k}">{"".join(_cell(f"{chr(65 + j)}{k}", value) for j, value in enumerate(row))}</row>'
        for k, row in enumerate(rows, start=1)
    )
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("[Content_Types].xml", _TYPES)
        out.writestr("_rels/.rels", _RELATIONS.format(type=f"{_OFFICE}/officeDocument", target="xl/workbook.xml"))
        out.writestr(
            "xl/workbook.xml",
            f'<?xml version="1.0"?><workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
            '<sheets><sheet name="answers" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        out.writestr(
            "xl/_rels/workbook.xml.rels",
            _RELATIONS.format(type=f"{_OFFICE}/worksheet", target="worksheets/sheet1.xml"),
        )
        sheet = f'<?xml version="1.0"?><worksheet xmlns="{_MAIN}"><sheetData>{cells}</sheetData></worksheet>'
        out.writestr("xl/worksheets/sheet1.xml", sheet)
    return path


def _cell(place: str, value: str | int | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
