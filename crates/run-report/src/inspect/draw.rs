//! Drawing of the inspector.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use training_run::token_record::strength;

use super::columns::{heading, row};
use super::curve_rows::curve_rows;
use super::filter::Filter;
use super::inspector::{Inspector, Level, Typing};
use super::measure::TokenMeasure;
use super::search::matches;
use super::text_lines::{Piece, line_of, text_lines};
use super::token_text::plain;
use crate::run_view::ViewedSample;

const HELP: &str = "\
 up down, j k     move                    enter, right, l   open
 page up, down    move by ten             esc, left, h      back
 home end, g G    first, last             q, control-c      leave

 /TEXT            next response whose question or answer holds it
 n N              next, previous of these, in later and earlier steps too
 :STEP            go to a step
 f                show all, right, wrong, unparsed, truncated responses

 among tokens:    left right  token      up down  ten tokens
                  [ ]         previous, next response
 colour by:       c covariance  e entropy  p surprise  a advantage
                  s selected by the loss   tab goes through them
 Warm colours are positive, cold ones negative; a token that the loss
 selected is underlined. New steps appear as the run writes them.";

/// Draws the screen of the inspector.
pub fn draw(frame: &mut Frame, inspector: &Inspector) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(breadcrumbs(inspector), bold), head);
    if inspector.help {
        frame.render_widget(Paragraph::new(HELP), body);
    } else {
        match inspector.level {
            Level::Steps => steps(frame, body, inspector),
            Level::Groups => groups(frame, body, inspector),
            Level::Samples => samples(frame, body, inspector),
            Level::Tokens => tokens(frame, body, inspector),
        }
    }
    frame.render_widget(Line::styled(footer(inspector), inspector.palette.muted()), foot);
}

fn breadcrumbs(inspector: &Inspector) -> String {
    let mut text = plain(inspector.view.name());
    if inspector.level > Level::Steps {
        text += &format!(" > step {}", inspector.step_number());
    }
    if let Some(sample) = inspector.samples.get(inspector.sample) {
        if inspector.level > Level::Groups {
            text += &format!(" > group {} > sample {}", sample.group, inspector.sample);
        }
        if inspector.level == Level::Tokens {
            text += &format!(" > {} {:.3}", plain(&sample.verdict), sample.reward);
            if sample.truncated {
                text += " truncated";
            }
        }
    }
    if inspector.filter != Filter::All {
        text += &format!("  [only {}]", inspector.filter.name());
    }
    text
}

fn footer(inspector: &Inspector) -> String {
    match &inspector.typing {
        Some(Typing::Search(text)) => format!("/{text}_"),
        Some(Typing::Step(text)) => format!("step: {text}_"),
        None if !inspector.message.is_empty() => plain(&inspector.message),
        None if inspector.level == Level::Tokens => {
            "c e p a s tab: colour by  left right: token  [ ]: response  / search  ? keys"
                .to_owned()
        }
        None => "up down move  enter open  esc back  / search  : step  f filter  ? keys  q leave"
            .to_owned(),
    }
}

/// Draws a heading, then as many lines as fit, the chosen one among them.
fn list(
    frame: &mut Frame,
    area: Rect,
    heading: &str,
    lines: Vec<Line<'static>>,
    chosen: usize,
    style: Style,
) {
    let [top, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    frame.render_widget(Line::styled(heading.to_owned(), style), top);
    let height = usize::from(rest.height);
    let first = chosen.saturating_sub(height / 2).min(lines.len().saturating_sub(height));
    let shown = lines.into_iter().enumerate().skip(first).take(height);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let shown =
        shown.map(|(index, line)| if index == chosen { line.patch_style(reversed) } else { line });
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), rest);
}

fn steps(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let view = &inspector.view;
    let lines = view.steps().iter().map(|&step| Line::raw(row(step, view.metrics_of(step))));
    let muted = inspector.palette.muted();
    if inspector.view.steps().is_empty() {
        frame.render_widget(Paragraph::new("No step is done yet."), area);
        return;
    }
    // Most of the screen is the list's.
    let mut curves = curve_rows(&inspector.view, usize::from(area.width));
    curves.truncate(usize::from(area.height / 3));
    let height = u16::try_from(curves.len()).unwrap_or(0);
    let [rows, below] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(height)]).areas(area);
    list(frame, rows, &heading(), lines.collect(), inspector.step, muted);
    frame.render_widget(Paragraph::new(curves.join("\n")), below);
}

fn groups(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let groups = inspector.groups();
    let chosen = inspector.samples.get(inspector.sample).map(|sample| sample.group);
    let row = |&first: &usize| {
        let group = inspector.samples[first].group;
        let members: Vec<&ViewedSample> =
            inspector.samples.iter().filter(|sample| sample.group == group).collect();
        let count = members.len();
        let right = members.iter().filter(|sample| sample.verdict == "right").count();
        let mean = |of: fn(&ViewedSample) -> f64| {
            members.iter().map(|sample| of(sample)).sum::<f64>() / count as f64
        };
        let tokens = if members.iter().any(|sample| sample.tokens.is_some()) { "*" } else { " " };
        let text = format!(
            "{group:>6} {right:>3}/{count:<3}{:>8.3}{:>8.1} {tokens} {}",
            mean(|sample| sample.reward),
            mean(|sample| sample.response_tokens as f64),
            plain(&members[0].problem)
        );
        Line::raw(text)
    };
    let lines: Vec<Line<'static>> = groups.iter().map(row).collect();
    let place = groups.iter().position(|&first| Some(inspector.samples[first].group) == chosen);
    let heading = " group  right   reward  length * question              (* tokens are recorded)";
    if lines.is_empty() {
        none_passes(frame, area, inspector);
        return;
    }
    list(frame, area, heading, lines, place.unwrap_or(0), inspector.palette.muted());
}

fn none_passes(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let text = format!("No response is {}. f shows others.", inspector.filter.name());
    frame.render_widget(Paragraph::new(text), area);
}

fn samples(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let of_group = inspector.of_group();
    let Some(chosen) = inspector.samples.get(inspector.sample).filter(|_| !of_group.is_empty())
    else {
        none_passes(frame, area, inspector);
        return;
    };
    let [question, rows, response] =
        Layout::vertical([Constraint::Length(3), Constraint::Min(3), Constraint::Percentage(40)])
            .areas(area);
    let problem = format!("{}\nright answer: {}", plain(&chosen.problem), plain(&chosen.answer));
    frame.render_widget(Paragraph::new(problem).wrap(Wrap { trim: false }), question);
    let row = |&index: &usize| {
        let sample = &inspector.samples[index];
        let advantage =
            sample.advantage.map_or_else(|| "-".to_owned(), |value| format!("{value:+.3}"));
        let (cut, tokens) = (if sample.truncated { "cut" } else { "" }, sample.response_tokens);
        let recorded = if sample.tokens.is_some() { "*" } else { " " };
        Line::from(vec![
            Span::raw(format!("{index:>6} ")),
            Span::styled(
                format!("{:<9}", plain(&sample.verdict)),
                inspector.palette.verdict(&sample.verdict),
            ),
            Span::raw(format!(
                "{:>7.3}{advantage:>9}{tokens:>7} {cut:<4}{recorded} ",
                sample.reward
            )),
            Span::raw(plain(&sample.response)),
        ])
    };
    let place = of_group.iter().position(|&index| index == inspector.sample).unwrap_or(0);
    let heading = "sample verdict    reward advantage length     response (* tokens are recorded)";
    let lines = of_group.iter().map(row).collect();
    list(frame, rows, heading, lines, place, inspector.palette.muted());
    let text: Vec<Line<'_>> = std::iter::once(Line::styled(
        format!("-- sample {}: {}", inspector.sample, plain(&chosen.reason())),
        inspector.palette.muted(),
    ))
    .chain(chosen.response.lines().map(|line| Line::raw(plain(line))))
    .collect();
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }), response);
}

fn tokens(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let Some(sample) = inspector.samples.get(inspector.sample) else { return };
    let [question, body, detail] =
        Layout::vertical([Constraint::Length(2), Constraint::Min(1), Constraint::Length(3)])
            .areas(area);
    let muted = inspector.palette.muted();
    let asked = format!("{}  =>  {}", plain(&sample.problem), plain(&sample.answer));
    frame.render_widget(Line::styled(asked, muted), question);
    let width = usize::from(body.width);
    let texts: Vec<&str> = match &sample.tokens {
        Some(record) => record.text.iter().map(String::as_str).collect(),
        None => vec![&sample.response],
    };
    let text: String = texts.concat();
    let hits = matches(&text, &inspector.search);
    let lines = text_lines(texts, width);
    let thresholds = inspector.measure.thresholds(&inspector.samples);
    let style = |piece: &Piece| {
        let mut style = Style::new();
        if let Some(record) = &sample.tokens {
            let colour = strength(inspector.measure.of(record, piece.token), thresholds);
            style = inspector.palette.token(colour);
            if record.is_selected(piece.token) {
                style = style.add_modifier(Modifier::UNDERLINED);
            }
            if piece.token == inspector.token {
                style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
            }
        }
        let end = piece.start + piece.text.len();
        if hits.iter().any(|&(from, to)| from < end && piece.start < to) {
            style = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        }
        style
    };
    let height = usize::from(body.height);
    let chosen = line_of(&lines, inspector.token);
    let first = chosen.saturating_sub(height / 2).min(lines.len().saturating_sub(height));
    let shown = lines.iter().skip(first).take(height);
    let shown = shown.map(|line| {
        line.iter().map(|piece| Span::styled(piece.text.clone(), style(piece))).collect::<Line>()
    });
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), body);
    frame.render_widget(
        Paragraph::new(details(inspector, sample, thresholds)).wrap(Wrap { trim: true }),
        detail,
    );
}

fn details(
    inspector: &Inspector,
    sample: &ViewedSample,
    thresholds: [f64; 3],
) -> Vec<Line<'static>> {
    let Some(record) = &sample.tokens else {
        let text = "The tokens of this response were not recorded: metrics.token_groups says of how many groups they are.";
        return vec![Line::raw(text)];
    };
    if record.token_ids.is_empty() {
        return vec![Line::raw("The response has no tokens.")];
    }
    let mut legend = vec![Span::raw(format!("by {}: ", inspector.measure.name()))];
    if inspector.measure == TokenMeasure::Selected {
        legend.push(Span::styled("selected", inspector.palette.token(3)));
    } else {
        let mut bounds: Vec<(i8, String)> =
            (1..).zip(thresholds.map(|threshold| format!(">{threshold:.3}"))).collect();
        if matches!(inspector.measure, TokenMeasure::Covariance | TokenMeasure::Advantage) {
            let negative = thresholds.map(|threshold| format!("<{:.3}", -threshold));
            bounds.extend([-1, -2, -3].into_iter().zip(negative));
        }
        for (strength, bound) in bounds {
            legend.push(Span::styled(bound, inspector.palette.token(strength)));
            legend.push(Span::raw(" "));
        }
    }
    vec![Line::from(legend), Line::raw(TokenMeasure::describe(record, inspector.token))]
}
