"""Hook of MkDocs for the book: renders `$…$` and `$$…$$` to MathML, so that no page needs a script for its formulas."""

from __future__ import annotations

import html
import logging
import re
import xml.etree.ElementTree as etree

from math_core import LatexError, LatexToMathML
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

# What pymdownx.arithmatex leaves, with the punctuation that must stay on the line of the formula.
FORMULA = re.compile(
    r'(?P<before>\(?)<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>(?P<after>[.,;:)]*)',
    re.DOTALL,
)
PRIMES = ("′", "″", "‴")
ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot);)\w+;")
# A line may end behind these, outside brackets.
BREAKS = frozenset("=≤≥<>≈≡≠∝∈→+−")
# Parts shorter than this many characters are not worth a break.
SHORTEST = 10

# `\\qquad`, between formulas of one line.
QUAD = "2em"

CONVERTER = LatexToMathML(fancy_error=False)
log = logging.getLogger("mkdocs.hooks.formulas")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Parts formulas on lines of their own that follow each other; arithmatex would take them for one."""
    return re.sub(r"\$\$\n(?=\$\$\S)", "$$\n\n", markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Renders the formulas of a page; a formula that cannot be read is a warning, which fails a strict build."""

    def rendered(match: re.Match[str]) -> str:
        latex = html.unescape(match["latex"]).strip()
        try:
            formula = display(latex) if match["tag"] == "div" else inline(latex)
        except LatexError as error:
            log.warning("%s: %s in %s", page.file.src_uri, error, latex)
            return match[0]
        return f'<{match["tag"]} class="math">{match["before"]}{formula}{match["after"]}</{match["tag"]}>'

    return FORMULA.sub(rendered, content)


def display(latex: str) -> str:
    """Returns a formula on lines of its own, in parts that stand beside each other where there is room."""
    beside = [etree.Element("math", display="block")]
    for child in mathml(latex, displaystyle=True):
        if child.tag == "mspace" and child.get("width") == QUAD:
            beside.append(etree.Element("math", display="block"))
        else:
            beside[-1].append(child)
    return "".join(f"<div>{etree.tostring(part, encoding='unicode')}</div>" for part in beside)


def inline(latex: str) -> str:
    """Returns a formula inside a line, in parts between which the line may end: browsers break no MathML themselves."""
    formula = mathml(latex, displaystyle=False)
    return "<wbr>".join(etree.tostring(part, encoding="unicode") for part in parts(formula))


def mathml(latex: str, displaystyle: bool) -> etree.Element:
    """Returns a formula as MathML, its primes beside their letters: fonts draw them raised, a superscript raises them again."""
    text = CONVERTER.convert_with_local_state(latex, displaystyle=displaystyle)
    formula = etree.fromstring(ENTITY.sub(lambda match: html.unescape(match[0]), text))
    for power in formula.iter("msup"):
        if power[1].text in PRIMES:
            power.tag = "mrow"
            power[1].attrib.update(lspace="0", rspace="0")
    return formula


def parts(formula: etree.Element) -> list[etree.Element]:
    """Splits a formula behind its relations, sums and differences."""
    split = [etree.Element("math")]
    depth = 0
    children = list(formula)
    for index, child in enumerate(children):
        split[-1].append(child)
        sign = child.text or ""
        if child.tag != "mo":
            continue
        depth += (sign in "([{") - (sign in ")]}") if sign else 0
        is_sign_of_number = child.get("lspace") == "0"
        rest = children[index + 1 :]
        if sign in BREAKS and depth == 0 and not is_sign_of_number and min(length(split[-1]), length(rest)) >= SHORTEST:
            # At the end of its part it would be taken for a postfix.
            child.set("form", "infix")
            split.append(etree.Element("math"))
    return split


def length(elements: etree.Element | list[etree.Element]) -> int:
    """Returns the number of characters that elements show."""
    return sum(len("".join(element.itertext())) for element in elements)
