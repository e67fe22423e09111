"""Checks target/site in headless Chromium: `make docs-check`.

Every page is opened from its file and over HTTP, in a wide and in a narrow window. Exits with 1 and a line for each fault, with 2
where there is no browser or no site. CHROMIUM names another browser than the one on the path.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import Browser, Page, Request, TimeoutError, sync_playwright

SITE = Path(__file__).resolve().parent.parent / "target" / "site"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WINDOWS = {"wide": 1280, "narrow": 390}
PHRASES = ("Clip-Cov", "rollout.rows", "entropy bonus")
ABSENT = "xylophone"
LONGEST_SEARCH_MILLISECONDS = 10_000
# Results of the last letter come this long after those of the first, at most.
SETTLED_MILLISECONDS = 500
# Marks of Markdown and TeX that are text of no page once it is rendered.
RAW = re.compile(r"\$|\\[(\[]|\*\*|\]\(|```|\n *(?:[-*]|\d+\.) ")

# What one page shows, outside code and formulas where it is about text.
PAGE_FACTS = """() => {
  const article = document.querySelector("article");
  const texts = [];
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest("pre, code, math, script, style")) texts.push(walker.currentNode.data);
  }
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const isInside = (element) => element !== article && (scrolls(element) || isInside(element.parentElement));
  const wide = [...article.querySelectorAll("*")].filter((element) =>
    element.getBoundingClientRect().right > innerWidth + 1 && element.checkVisibility() && !isInside(element));
  return {
    ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
    links: [...document.querySelectorAll("a[href]")].map((link) => link.href),
    images: [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src),
    texts,
    words: article.innerText,
    width: document.documentElement.scrollWidth,
    wide: wide.map((element) => `${element.tagName.toLowerCase()} ${element.textContent.slice(0, 40)}`),
  };
}"""


@dataclass
class Visit:
    """All pages under one address, and what is wrong with them."""

    base: str
    anchors: dict[str, set[str]] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def main() -> int:
    """Visits the site from files and over HTTP."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("no browser: `apt-get install chromium`, or CHROMIUM=PATH of a Chromium or Chrome", file=sys.stderr)
        return 2
    pages = sorted(page.name for page in SITE.glob("*.html") if page.name != "404.html")
    if not pages:
        print(f"no page in {SITE}: `make docs` first", file=sys.stderr)
        return 2
    with sync_playwright() as playwright, served(SITE) as address:
        browser = playwright.chromium.launch(executable_path=program)
        visits = [visit(browser, base, pages) for base in (f"{SITE.as_uri()}/", address)]
        browser.close()
    faults = [fault for visited in visits for fault in visited.faults]
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    links = len(visits[0].links)
    print(f"{len(pages)} pages, {links} links, {len(PHRASES)} searches, from files and over HTTP: {len(faults)} faults")
    return 1 if faults else 0


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder on a free port of this machine; yields the address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        """Says nothing of each request."""

        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def visit(browser: Browser, base: str, pages: list[str]) -> Visit:
    """Opens all pages under an address, follows their links on paper, and searches."""
    visited = Visit(base)
    for window, width in WINDOWS.items():
        tab = browser.new_page(viewport={"width": width, "height": 900})
        listen(tab, visited)
        for page in pages:
            tab.goto(base + page, wait_until="load")
            look(tab, page, window, visited)
        tab.close()
    check_links(visited)
    for phrase in PHRASES:
        check_search(browser, phrase, visited)
    if results(browser, ABSENT, visited):
        visited.faults.append(f"{base}: the search finds {ABSENT!r}, which no page has")
    return visited


def listen(tab: Page, visited: Visit) -> None:
    """Notes errors of scripts, failed requests, and requests that leave the site."""
    faults = visited.faults

    def failed(request: Request) -> None:
        # The next page ends what the last one still asked for.
        if request.failure != "net::ERR_ABORTED":
            faults.append(f"{tab.url}: {request.url}: {request.failure}")

    def requested(request: Request) -> None:
        if not request.url.startswith((visited.base, "data:", "blob:")):
            faults.append(f"{tab.url}: asks the network for {request.url}")

    tab.on("console", lambda message: message.type == "error" and faults.append(f"{tab.url}: console: {message.text}"))
    tab.on("pageerror", lambda error: faults.append(f"{tab.url}: script: {error}"))
    tab.on("requestfailed", failed)
    tab.on("response", lambda answer: answer.status >= 400 and faults.append(f"{tab.url}: {answer.url}: {answer.status}"))
    tab.on("request", requested)


def look(tab: Page, page: str, window: str, visited: Visit) -> None:
    """Checks what a page shows in one window."""
    facts = tab.evaluate(PAGE_FACTS)
    name = f"{visited.base}{page} ({window})"
    if facts["width"] > WINDOWS[window]:
        visited.faults.append(f"{name}: {facts['width']} pixels wide")
    visited.faults += [f"{name}: leaves the window: {element}" for element in facts["wide"]]
    visited.faults += [f"{name}: no image {image}" for image in facts["images"]]
    if page in visited.words:
        return
    visited.faults += [f"{name}: shows raw text: {text.strip()[:80]}" for text in facts["texts"] if RAW.search(text)]
    visited.anchors[page] = set(facts["ids"])
    visited.words[page] = facts["words"]
    visited.links += [(page, link) for link in facts["links"]]


def check_links(visited: Visit) -> None:
    """Holds every link inside the site, and every place that the search leads to, to a file and an anchor there."""
    index = json.loads((SITE / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = [("search", visited.base + document["location"]) for document in index["docs"]]
    for page, link in sorted({*visited.links, *places}):
        address, anchor = urldefrag(link)
        if not address.startswith(visited.base):
            if not address.startswith(("https://", "http://", "mailto:")):
                visited.faults.append(f"{visited.base}{page}: {link} leaves the site")
            continue
        target = unquote(address.removeprefix(visited.base)) or "index.html"
        if not (SITE / target).is_file():
            visited.faults.append(f"{visited.base}{page}: no file {target}")
        elif anchor and unquote(anchor) not in visited.anchors.get(target, set()):
            visited.faults.append(f"{visited.base}{page}: {target} has no anchor {anchor}")


def check_search(browser: Browser, phrase: str, visited: Visit) -> None:
    """Holds the first result of a search to a page with the phrase, which it must show."""
    having = {page for page, words in visited.words.items() if phrase.lower() in words.lower()}
    if not having:
        visited.faults.append(f"{visited.base}: no page has {phrase!r}: scripts/check-site.py needs another phrase")
        return
    found = results(browser, phrase, visited)
    page, text = found[0] if found else ("", "")
    if page not in having or phrase.lower() not in text.lower():
        visited.faults.append(f"{visited.base}: {phrase!r} is on {sorted(having)}, the search finds {page}: {text[:200]!r}")


def results(browser: Browser, phrase: str, visited: Visit) -> list[tuple[str, str]]:
    """Types a phrase into the search of the home page; returns page and text of the results, best first."""
    tab = browser.new_page(viewport={"width": WINDOWS["wide"], "height": 900})
    listen(tab, visited)
    tab.goto(f"{visited.base}index.html")
    tab.locator("input.md-search__input").click()
    tab.keyboard.type(phrase)
    with contextlib.suppress(TimeoutError):
        said = "/match/i.test(document.querySelector('.md-search-result__meta').innerText)"
        tab.wait_for_function(said, timeout=LONGEST_SEARCH_MILLISECONDS)
    tab.wait_for_timeout(SETTLED_MILLISECONDS)
    items = tab.eval_on_selector_all(
        ".md-search-result__item", "items => items.map((item) => [item.querySelector('a').href, item.innerText])"
    )
    tab.close()
    return [(unquote(re.split("[?#]", link.removeprefix(visited.base))[0]), text) for link, text in items]


if __name__ == "__main__":
    sys.exit(main())
