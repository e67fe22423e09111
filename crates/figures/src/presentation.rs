//! The style of charts for programs that know neither CSS variables nor media queries.

/// Rewrites `css` in its light colours: variables are replaced by their values, media queries and pseudo-classes left out.
/// Declarations in the colour of a series are written once per series; the font is `sans-serif`.
///
/// Made for the style sheets of this crate: flat rules, one level of media queries, colours as `.sN { --c: … }`.
pub(crate) fn plain_style(css: &str) -> String {
    let rules = flat_rules(css);
    let mut variables: Vec<(String, String)> = vec![];
    for (selector, body) in &rules {
        for (name, value) in declarations(body).filter(|(name, _)| name.starts_with("--")) {
            // A series names its colour in a rule of its own: the class is part of the name.
            let class = selector.rsplit('.').next().unwrap_or_default();
            let name = if name == "--c" { format!("--c.{class}") } else { name.to_owned() };
            variables.push((name, value.to_owned()));
        }
    }
    let value = |name: &str| {
        let declared = variables.iter().find(|(variable, _)| variable == name);
        declared.map_or_else(String::new, |(_, value)| value.clone())
    };
    let series: Vec<&str> =
        variables.iter().filter_map(|(name, _)| name.strip_prefix("--c.")).collect();
    let mut plain = String::new();
    for (selector, body) in rules.iter().filter(|(selector, _)| !selector.contains(':')) {
        let body = declarations(body).filter(|(name, _)| !name.starts_with("--"));
        // Declarations without the colour of a series also hold for marks of no series.
        let (of_series, of_all): (Vec<_>, Vec<_>) = body.partition(|(_, v)| v.contains("var(--c)"));
        let written = |body: &[(&str, &str)]| -> String {
            let declaration = |(name, value): &(&str, &str)| match *name {
                "font-family" => "font-family: sans-serif; ".to_owned(),
                _ => format!("{name}: {value}; "),
            };
            body.iter().map(declaration).collect()
        };
        if !of_all.is_empty() {
            plain += &format!("{selector} {{ {}}}\n", resolve(&written(&of_all), &value));
        }
        for class in series.iter().filter(|_| !of_series.is_empty()) {
            let series_selector = selector.replace(".chart .", &format!(".chart .{class}."));
            let coloured = written(&of_series).replace("var(--c)", &value(&format!("--c.{class}")));
            plain += &format!("{series_selector} {{ {}}}\n", resolve(&coloured, &value));
        }
    }
    plain
}

/// `text` with each `var(--name)` replaced by its value, and that by its own.
fn resolve(text: &str, value: &impl Fn(&str) -> String) -> String {
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once("var(") {
        let Some((name, after)) = rest.split_once(')') else { break };
        text = format!("{before}{}{after}", value(name));
    }
    text
}

/// Selector and body of the rules outside of media queries.
fn flat_rules(css: &str) -> Vec<(&str, &str)> {
    let (mut rules, mut rest) = (vec![], css);
    while let Some((selector, after)) = rest.split_once('{') {
        let selector = selector.trim();
        if selector.starts_with('@') {
            rest = after_block(after);
            continue;
        }
        let Some((body, after)) = after.split_once('}') else { break };
        rules.push((selector, body));
        rest = after;
    }
    rules
}

/// Returns the text after the block whose body `text` starts with.
fn after_block(text: &str) -> &str {
    let mut depth = 1_usize;
    for (index, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[index + 1..];
        }
    }
    ""
}

fn declarations(body: &str) -> impl Iterator<Item = (&str, &str)> {
    body.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        Some((name.trim(), value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSS: &str = ".chart, :root { --paper: #fff; --series-0: #0072b2; --series-1: #d55e00; }
@media screen and (prefers-color-scheme: dark) {
  .chart, :root { --paper: #000; --series-0: #111; }
}
.chart { font-family: system-ui, sans-serif; }
.chart .paper { fill: var(--paper); }
.chart .s0 { --c: var(--series-0); } .chart .s1 { --c: var(--series-1); }
.chart .line { stroke: var(--c); fill: none; }
.chart .dot:hover { fill: var(--c); }
@media (max-width: 520px) { .chart text { font-size: 15px; } .chart .tick { font-size: 14px; } }
";

    #[test]
    fn variables_become_colours_and_queries_go() {
        assert_eq!(
            plain_style(CSS),
            ".chart { font-family: sans-serif; }\n\
             .chart .paper { fill: #fff; }\n\
             .chart .line { fill: none; }\n\
             .chart .s0.line { stroke: #0072b2; }\n\
             .chart .s1.line { stroke: #d55e00; }\n"
        );
    }

    #[test]
    fn nothing_of_the_own_styles_stays_unresolved() {
        let plain = plain_style(&[crate::chart_svg::STYLE, crate::chart_svg::MORE_STYLE].concat());
        for part in ["var(", "@media", "--", ": ;"] {
            assert!(!plain.contains(part), "{part} in {plain}");
        }
        assert!(plain.contains(".chart .s9.band { fill: #b8154f; }"), "{plain}");
        // The grey line for comparison is of no series, and must not be filled.
        assert!(plain.contains(".chart .line { fill: none; "), "{plain}");
    }
}
