//! Sections in order, and the document around them.

use serde::{Deserialize, Serialize};

use crate::chart::Chart;
use crate::chart_svg::{STYLE, inline_svg};
use crate::html::{escape, paragraph};

const PAGE_STYLE: &str = include_str!("page.css");

/// A self-contained HTML document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Heading, plain text.
    pub title: String,
    /// The outcome in a sentence or two, plain text.
    pub headline: String,
    /// Paragraphs under the headline, plain text.
    pub introduction: Vec<String>,
    /// The parts, in order; the contents link to them.
    pub sections: Vec<Section>,
    /// Shell command that makes the page again; empty if there is none.
    pub command: String,
    /// The last lines, HTML.
    pub footer: String,
    /// CSS beside that of charts and pages; empty if there is none.
    pub style: String,
}

/// A part of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Anchor, unique on the page: lower-case letters, digits and hyphens.
    pub id: String,
    /// Heading, plain text.
    pub heading: String,
    /// Content under the heading, in order.
    pub blocks: Vec<Block>,
    /// A mark beside heading and link, HTML; empty if there is none.
    pub badge: String,
}

/// A block of content in a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// HTML, escaped already.
    Html(String),
    /// Charts side by side where there is room.
    Figures(Vec<Figure>),
    /// Small charts, three abreast where there is room.
    SmallFigures(Vec<Figure>),
}

/// A chart with the sentence under it, plain text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Chart above the caption.
    pub chart: Chart,
    /// Sentence under the chart: what a reader should see in it.
    pub caption: String,
}

impl Page {
    /// Formats the document as HTML.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let introduction: String = self.introduction.iter().map(|text| paragraph(text)).collect();
        let links: String = self.sections.iter().map(Section::link).collect();
        let body: String = self.sections.iter().map(Section::html).collect();
        let command = if self.command.is_empty() {
            String::new()
        } else {
            format!("<p>To make this page again:</p>\n<pre>{}</pre>\n", escape(&self.command))
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{STYLE}{PAGE_STYLE}{}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
             <p class=\"headline\">{}</p>\n{introduction}<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n\
             </header>\n<main>\n{body}</main>\n<footer>\n{command}{}</footer>\n</body>\n</html>\n",
            self.style,
            escape(&self.headline),
            self.footer
        )
    }
}

impl Section {
    /// A section of `blocks` under `heading`.
    pub fn new(id: &str, heading: &str, blocks: Vec<Block>) -> Self {
        let badge = String::new();
        Self { id: id.to_owned(), heading: heading.to_owned(), blocks, badge }
    }

    /// The charts of the section.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Html(_) => [].iter(),
            Block::Figures(figures) | Block::SmallFigures(figures) => figures.iter(),
        })
    }

    fn link(&self) -> String {
        format!("<li><a href=\"#{}\">{}</a>{}</li>", self.id, escape(&self.heading), self.badge)
    }

    fn html(&self) -> String {
        let blocks: String = self.blocks.iter().map(Block::html).collect();
        let (id, heading) = (&self.id, escape(&self.heading));
        format!("<section id=\"{id}\">\n<h2>{heading}{}</h2>\n{blocks}</section>\n", self.badge)
    }
}

impl Block {
    fn html(&self) -> String {
        let grid = |class: &str, figures: &[Figure]| {
            if figures.is_empty() {
                return String::new();
            }
            let figures: String = figures.iter().map(Figure::html).collect();
            format!("<div class=\"{class}\">\n{figures}</div>\n")
        };
        match self {
            Self::Html(html) => html.clone(),
            Self::Figures(figures) => grid("grid two", figures),
            Self::SmallFigures(figures) => grid("grid three", figures),
        }
    }
}

impl Figure {
    fn html(&self) -> String {
        let (title, caption) = (escape(&self.chart.title), escape(&self.caption));
        let svg = inline_svg(&self.chart);
        format!("<figure>\n<h3>{title}</h3>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
    }
}
