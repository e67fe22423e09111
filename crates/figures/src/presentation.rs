//! Colours, lines and letters of a chart as attributes, for programs that know neither CSS variables nor media queries.

/// Adds to each element of `svg` that has a class the attributes that `css` gives it in its light colours. A browser with the
/// style sheet overrides them.
///
/// Made for the style sheet of this crate. A selector ends in one class or element. A media query holds rules, never another query.
/// The colour of a series is `.sN { --c: … }`.
pub(crate) fn with_attributes(svg: &str, css: &str) -> String {
    let rules = flat_rules(css);
    let (mut drawing, mut rest) = (String::with_capacity(2 * svg.len()), svg);
    while let Some((before, after)) = rest.split_once(" class=\"") {
        let Some((classes, after)) = after.split_once('"') else { break };
        let element = before.rsplit('<').next().unwrap_or_default();
        let attributes = attributes(&rules, element, classes);
        drawing += &format!("{before} class=\"{classes}\"{attributes}");
        rest = after;
    }
    drawing + rest
}

const ATTRIBUTES: [&str; 10] = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-linejoin",
    "stroke-linecap",
    "stroke-dasharray",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
];

type Rule<'a> = (&'a str, &'a str);

/// The attributes of an element of these classes, as text.
fn attributes(rules: &[Rule<'_>], element: &str, classes: &str) -> String {
    let classes: Vec<&str> = classes.split(' ').collect();
    let mut attributes: Vec<(&str, String)> = vec![];
    for (selector, body) in rules.iter().filter(|(selector, _)| !selector.contains(':')) {
        let last = selector.rsplit(' ').next().unwrap_or_default();
        let class = last.strip_prefix('.');
        if !class.map_or(last == element, |class| classes.contains(&class)) {
            continue;
        }
        for (name, value) in declarations(body).filter(|(name, _)| ATTRIBUTES.contains(name)) {
            attributes.retain(|(earlier, _)| *earlier != name);
            attributes.push((name, resolved(rules, value, &classes)));
        }
    }
    let written = attributes.iter().filter(|(_, value)| !value.is_empty());
    let attribute = |(name, value): &(&str, String)| format!(" {name}=\"{value}\"");
    written.map(attribute).collect()
}

/// `value` as an attribute has it, with its variable replaced by the variable's value. The colour of a series, `--c`, is that of
/// its class.
fn resolved(rules: &[Rule<'_>], value: &str, classes: &[&str]) -> String {
    let Some(name) = value.strip_prefix("var(").and_then(|rest| rest.strip_suffix(')')) else {
        let plain = if value == "transparent" { "none" } else { value };
        return plain.strip_suffix("px").unwrap_or(plain).replace('"', "'");
    };
    let of_series = |selector: &str| {
        let class = selector.rsplit('.').next().unwrap_or_default();
        name != "--c" || classes.contains(&class)
    };
    let mut bodies = rules.iter().filter(|(selector, _)| of_series(selector));
    let defined = bodies.find_map(|(_, body)| declarations(body).find(|(known, _)| *known == name));
    defined.map_or_else(String::new, |(_, value)| resolved(rules, value, classes))
}

/// Selector and body of each rule that is not within a media query.
fn flat_rules(css: &str) -> Vec<Rule<'_>> {
    let (mut rules, mut rest, mut in_query) = (vec![], css, false);
    while let Some((selector, after)) = rest.split_once('{') {
        // A brace before a selector closes the query that the last rule was in.
        let closed = selector.trim().strip_prefix('}');
        let selector = closed.unwrap_or(selector).trim();
        in_query = selector.starts_with('@') || (in_query && closed.is_none());
        rest = after;
        if selector.starts_with('@') {
            continue;
        }
        let Some((body, after)) = after.split_once('}') else { break };
        if !in_query {
            rules.push((selector, body));
        }
        rest = after;
    }
    rules
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
.chart { font-family: system-ui, \"Noto Sans\"; }
.chart text { fill: var(--paper); font-size: 13px; font-variant-numeric: tabular-nums; }
.chart .tick { font-size: 12px; }
.chart .s0 { --c: var(--series-0); } .chart .s1 { --c: var(--series-1); }
.chart .line { stroke: var(--c); fill: none; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: var(--c); }
@media (max-width: 520px) { .chart text { font-size: 15px; } .chart .tick { font-size: 14px; } }
";

    #[test]
    fn variables_become_colours_and_queries_go() {
        let drawing = |svg: &str| with_attributes(svg, CSS);
        assert_eq!(
            drawing("<svg class=\"chart\" x=\"1\"><path class=\"s1 line\" d=\"\"/></svg>"),
            "<svg class=\"chart\" font-family=\"system-ui, 'Noto Sans'\" x=\"1\">\
             <path class=\"s1 line\" stroke=\"#d55e00\" fill=\"none\" d=\"\"/></svg>"
        );
        assert_eq!(
            drawing(
                "<text class=\"tick\">a</text><path class=\"s0 hover\"/><path class=\"line\"/>"
            ),
            "<text class=\"tick\" fill=\"#fff\" font-size=\"12\">a</text><path class=\"s0 hover\" fill=\"none\"/>\
             <path class=\"line\" fill=\"none\"/>"
        );
    }
}
