"""Hooks of MkDocs for the book: navigation, footers, links that leave docs/.

MkDocs calls each function `on_…` by its name. Under `--strict` a warning fails the build.
"""

from __future__ import annotations

import logging
import os
import re
import xml.etree.ElementTree as etree
from pathlib import Path

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
CONTENTS = "README.md"
LISTED = re.compile(r"^\d+\. \[(?P<title>[^]]+)\]\((?P<file>[^)]+)\)")
# Previous and next page: the site has its own.
FOOTER = re.compile(r"\n---\n\n(← .* · )?\[Contents\]\(README\.md\)( · .* →)?\s*\Z")
# Characters of code that fit beside each other on a telephone.
LONGEST_UNBROKEN = 32

log = logging.getLogger("mkdocs.hooks.book")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Sets navigation, repository, anchors and the treatment of links."""
    contents = Path(config.docs_dir, CONTENTS).read_text(encoding="utf-8")
    config.nav = navigation(contents)
    config.repo_url = repository() or config.repo_url
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    config.markdown_extensions.append(BookMarkdown(config.repo_url))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Refuses a page that the table of contents does not list."""
    listed = {CONTENTS} | {file for section in config.nav[1:] for file in files_of(section)}
    unlisted = sorted({file.src_uri for file in files.documentation_pages()} - listed)
    if unlisted:
        raise PluginError(f"docs/{CONTENTS} does not list {', '.join(unlisted)}")
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Takes the footer off, and tells the extension which page comes."""
    BookMarkdown.page = page.file.src_uri
    return FOOTER.sub("\n", markdown)


def navigation(contents: str) -> list[dict]:
    """Returns the sections of the table of contents that list pages, behind the table itself."""
    sections: list[dict] = [{"Contents": CONTENTS}]
    heading = ""
    for line in contents.splitlines():
        listed = LISTED.match(line)
        if line.startswith("## "):
            heading = line[3:].strip()
        elif listed and heading in sections[-1]:
            sections[-1][heading].append({listed["title"]: listed["file"]})
        elif listed:
            sections.append({heading: [{listed["title"]: listed["file"]}]})
    if len(sections) == 1:
        raise PluginError(f"docs/{CONTENTS} has no lines like `1. [Title](page.md)`")
    return sections


def files_of(section: dict) -> list[str]:
    """Returns the files of one section of the navigation."""
    return [file for pages in section.values() for page in pages for file in page.values()]


def repository() -> str | None:
    """Returns the repository that Cargo.toml names, if it does."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    line = re.search(r'^repository\s*=\s*"([^"]+)"', manifest, re.MULTILINE)
    return line and line[1]


def slug(heading: str, separator: str) -> str:
    """Returns the anchor of a heading, as code-hosting sites make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", separator)


class BookMarkdown(Extension):
    """What Python-Markdown does not do as code-hosting sites do, and links that leave docs/."""

    page = CONTENTS

    def __init__(self, repo_url: str | None) -> None:
        """Remembers the address of the repository."""
        super().__init__()
        self.repo_url = repo_url

    def extendMarkdown(self, md: Markdown) -> None:
        """Comes before MkDocs checks the links, which has priority 0."""
        md.treeprocessors.register(LinksOutside(md, self.repo_url), "links-outside", 5)
        md.treeprocessors.register(InlineCode(md), "inline-code", 5)


class InlineCode(Treeprocessor):
    """Takes the backslash off `\\|` in the code of a table, and keeps short code on one line."""

    def run(self, root: etree.Element) -> None:
        """Changes the code of a page."""
        cells = [cell for tag in ("th", "td") for cell in root.iter(tag)]
        for code in (code for cell in cells for code in cell.iter("code")):
            code.text = AtomicString((code.text or "").replace("\\|", "|"))
        for code in root.iter("code"):
            if len(code.text or "") <= LONGEST_UNBROKEN:
                code.set("class", "short")


class LinksOutside(Treeprocessor):
    """Turns links that leave docs/ into links to the repository, or into text where its address is unknown."""

    def __init__(self, md: Markdown, repo_url: str | None) -> None:
        """Remembers the address of the repository."""
        super().__init__(md)
        self.repo_url = repo_url

    def run(self, root: etree.Element) -> None:
        """Changes the links of a page."""
        folder = os.path.dirname(f"docs/{BookMarkdown.page}")
        for link in root.iter("a"):
            path, _, anchor = link.get("href", "").partition("#")
            target = os.path.normpath(os.path.join(folder, path))
            if path and ":" not in path and not target.startswith("docs/"):
                self.change(link, target, anchor)

    def change(self, link: etree.Element, target: str, anchor: str) -> None:
        """Changes one link to `target`, a path from the root of the repository."""
        if not (ROOT / target).exists():
            log.warning("%s: no file %s", BookMarkdown.page, target)
        if self.repo_url:
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            address = f"{self.repo_url.rstrip('/')}/{kind}/HEAD/{target}"
            link.set("href", f"{address}#{anchor}" if anchor else address)
            return
        link.tag = "span"
        del link.attrib["href"]
        if os.path.basename(target) not in "".join(link.itertext()):
            append_path(link, target)


def append_path(element: etree.Element, path: str) -> None:
    """Appends ` (path)` to the text of an element."""
    if len(element):
        element[-1].tail = f"{element[-1].tail or ''} ("
    else:
        element.text = f"{element.text or ''} ("
    file = etree.SubElement(element, "code")
    file.text = AtomicString(path)
    file.tail = ")"
