//! Text and tables as HTML that no input can break out of.

/// `text` with the five characters that mean something to HTML and XML replaced, and control
/// characters that neither allows shown as `�`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() => escaped.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A paragraph of plain text.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// The sentence that stands where a chart cannot.
pub fn absent(text: &str) -> String {
    format!("<p class=\"absent\">{}</p>\n", escape(text))
}

/// A table under construction; the first cell of each row is its heading.
#[derive(Debug, Clone)]
pub struct Table {
    caption: String,
    /// Heading of each column, and its class.
    columns: Vec<(String, &'static str)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; headings are plain text. Columns of numbers, counted from 0, stand to the right, with
    /// digits of equal width.
    pub fn new(
        caption: &str,
        headings: &[impl AsRef<str>],
        holds_numbers: impl Fn(usize) -> bool,
    ) -> Self {
        let class = |index| if holds_numbers(index) { " class=\"n\"" } else { "" };
        let headings = headings.iter().map(|heading| escape(heading.as_ref())).enumerate();
        let columns = headings.map(|(index, heading)| (heading, class(index))).collect();
        Self { caption: escape(caption), columns, rows: vec![] }
    }

    /// Adds a row of plain-text cells, escaped here.
    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| escape(cell)).collect());
    }

    /// Adds a row whose cells are HTML already.
    pub fn html_row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns true if no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in a box that scrolls sideways on narrow screens.
    pub fn html(&self) -> String {
        let mut html = format!(
            "<div class=\"scroll\"><table>\n<caption><span>{}</span></caption>\n<thead><tr>",
            self.caption
        );
        for (heading, class) in &self.columns {
            html += &format!("<th scope=\"col\"{class}>{heading}</th>");
        }
        html += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (index, cell) in row.iter().enumerate() {
                let (open, close) =
                    if index == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
                let class = self.columns.get(index).map_or("", |(_, class)| class);
                html += &format!("<{open}{class}>{cell}</{close}>");
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>\n"
    }
}
