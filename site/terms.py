"""Hook of MkDocs for the book: the search finds a field, a metric or a term by its name, and leads to its row of a table or its item of a list."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

# First columns of the tables whose rows say what a name means.
COLUMNS = ("field", "name", "term")
# Columns that need no label beside their text.
PROSE = (*COLUMNS, "meaning", "definition")
TABLE = re.compile(rf"<table>\s*<thead>\s*<tr>\s*<th[^>]*>(?:{'|'.join(COLUMNS)})</th>.*?</table>", re.DOTALL)
HEAD = re.compile(r"<th(?: [^>]*)?>(.*?)</th>", re.DOTALL)
ROW = re.compile(r"<tr>\s*(?P<cells><td.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
# An item of a list of settings: its name and default, its range, its meaning.
ITEM = re.compile(r"<li>(?P<text><code[^>]*>(?P<name>[\w.-]+)(?: = [^<]*)?</code>(?: \([^<]*?\))?: .*?)</li>", re.DOTALL)
WHOLE_NAME = re.compile(r"(?P<open><code[^>]*>)?(?P<name>[^<]+)(?P<close></code>)?")
# A name counts before a page whose title has a part of it.
BOOST = 2

entries: list[dict[str, str | int]] = []


def on_pre_build(config: MkDocsConfig) -> None:
    """Begins the list anew."""
    entries.clear()


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Gives rows and items an anchor and notes them for the search."""
    taken = set(re.findall(r'id="([^"]+)"', content))
    content = TABLE.sub(lambda table: names(table[0], page.url, taken), content)
    return ITEM.sub(lambda item: setting(item, page.url, taken), content)


def note(url: str, anchor: str, title: str, text: str) -> None:
    """Notes a name for the search."""
    entries.append({"location": f"{url}#{anchor}", "title": title, "text": f"<p>{text}</p>", "boost": BOOST})


def setting(item: re.Match[str], url: str, taken: set[str]) -> str:
    """Returns an item with an anchor that the page has not taken yet."""
    name = item["name"]
    if name in taken:
        return item[0]
    taken.add(name)
    note(url, name, name, item["text"])
    return f'<li id="{name}">{item["text"]}</li>'


def names(table: str, url: str, taken: set[str]) -> str:
    """Returns a table of names with anchors that the page has not taken yet."""
    columns = [re.sub(r"<[^>]*>", "", head) for head in HEAD.findall(table)]

    def marked(row: re.Match[str]) -> str:
        cells = CELL.findall(row["cells"])
        name = WHOLE_NAME.fullmatch(cells[0])
        anchor = name and re.sub(r"[^\w./@-]+", "-", html.unescape(name["name"])).strip("-")
        if not anchor or anchor in taken:
            return f"<tr>{labelled(cells, columns)}</tr>"
        taken.add(anchor)
        text = " · ".join(filter(None, (cell.strip() for cell in cells[1:])))
        note(url, anchor, name["name"], text)
        if name["open"]:
            # A long name may break behind its dots.
            breakable = re.sub(r"(?<=\w)([./])(?=\w)", r"\1<wbr>", name["name"])
            cells[0] = f"{name['open']}{breakable}{name['close']}"
        return f'<tr id="{html.escape(anchor)}">{labelled(cells, columns)}</tr>'

    return f'<div class="names">{ROW.sub(marked, table)}</div>'


def labelled(cells: list[str], columns: list[str]) -> str:
    """Returns cells that know their column: on a telephone they stand below each other (book.css)."""
    label = {column: f' data-column="{column}"' for column in columns if column not in PROSE}
    return "".join(f"<td{label.get(column, '')}>{cell}</td>" for cell, column in zip(cells, columns))


def on_post_build(config: MkDocsConfig) -> None:
    """Adds the rows to the index, which the search plugin has written and the offline plugin has yet to copy."""
    path = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(path.read_text(encoding="utf-8"))
    index["docs"] += entries
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
