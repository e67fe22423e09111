//! Drawing of the inspector.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use training_run::token_record::strength;

use super::filter::{ALL, matches};
use super::inspector::{Inspector, Level, Typing};
use super::measure::describe;
use super::metric_rows::{curve_rows, heading, row};
use super::text_lines::{Piece, line_of, plain, text_lines};
use crate::run_view::ViewedSample;

const HELP: &str = include_str!("help.txt");

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
    let mut text = plain(&inspector.view.name);
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
    if inspector.filter != ALL {
        text += &format!("  [only {}]", inspector.filter);
    }
    text
}

fn footer(inspector: &Inspector) -> String {
    match &inspector.typing {
        Some((Typing::Search, text)) => format!("/{text}_"),
        Some((Typing::Step, text)) => format!("step: {text}_"),
        None if !inspector.message.is_empty() => plain(&inspector.message),
        None if inspector.level == Level::Tokens => {
            "c e p a s tab: colour by  left right: token  [ ]: response  / search  ? keys"
                .to_owned()
        }
        None => "up down move  enter open  esc back  / search  : step  f filter  ? keys  q leave"
            .to_owned(),
    }
}

/// Entries around the chosen one, as many as fit into `height` lines.
fn around<T>(all: Vec<T>, chosen: usize, height: u16) -> impl Iterator<Item = T> {
    let height = usize::from(height);
    let first = chosen.saturating_sub(height / 2).min(all.len().saturating_sub(height));
    all.into_iter().skip(first).take(height)
}

/// Draws a heading, then as many lines as fit, the chosen one among them.
fn list(frame: &mut Frame, area: Rect, heading: Line<'_>, mut lines: Vec<Line<'_>>, chosen: usize) {
    let [top, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    frame.render_widget(heading, top);
    if let Some(line) = lines.get_mut(chosen) {
        line.style = line.style.add_modifier(Modifier::REVERSED);
    }
    let shown: Vec<Line<'_>> = around(lines, chosen, rest.height).collect();
    frame.render_widget(Paragraph::new(shown), rest);
}

fn steps(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let view = &inspector.view;
    let lines = view.steps.iter().map(|&step| Line::raw(row(step, view.metrics_of(step))));
    if view.steps.is_empty() {
        return frame.render_widget(Paragraph::new("No step is done yet."), area);
    }
    // Most of the screen is the list's.
    let mut curves = curve_rows(&inspector.view, usize::from(area.width));
    curves.truncate(usize::from(area.height / 3));
    let height = u16::try_from(curves.len()).unwrap_or(0);
    let [rows, below] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(height)]).areas(area);
    let heading = Line::styled(heading(), inspector.palette.muted());
    list(frame, rows, heading, lines.collect(), inspector.step);
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
        Line::raw(format!(
            "{group:>6} {right:>3}/{count:<3}{:>8.3}{:>8.1} {tokens} {}",
            mean(|sample| sample.reward),
            mean(|sample| sample.response_tokens as f64),
            plain(&members[0].problem)
        ))
    };
    if groups.is_empty() {
        return none_passes(frame, area, inspector);
    }
    let place = groups.iter().position(|&first| Some(inspector.samples[first].group) == chosen);
    let heading = " group  right   reward  length * question              (* tokens are recorded)";
    let heading = Line::styled(heading, inspector.palette.muted());
    list(frame, area, heading, groups.iter().map(row).collect(), place.unwrap_or(0));
}

fn none_passes(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let text = format!("No response is {}. f shows others.", inspector.filter);
    frame.render_widget(Paragraph::new(text), area);
}

fn samples(frame: &mut Frame, area: Rect, inspector: &Inspector) {
    let of_group = inspector.of_group();
    let Some(chosen) = inspector.samples.get(inspector.sample).filter(|_| !of_group.is_empty())
    else {
        return none_passes(frame, area, inspector);
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
        let (reward, response) = (sample.reward, plain(&sample.response));
        let verdict = format!("{:<9}", plain(&sample.verdict));
        Line::from(vec![
            Span::raw(format!("{index:>6} ")),
            Span::styled(verdict, inspector.palette.verdict(&sample.verdict)),
            Span::raw(format!("{reward:>7.3}{advantage:>9}{tokens:>7} {cut:<4}{recorded} ")),
            Span::raw(response),
        ])
    };
    let place = of_group.iter().position(|&index| index == inspector.sample).unwrap_or(0);
    let heading = "sample verdict    reward advantage length     response (* tokens are recorded)";
    let muted = inspector.palette.muted();
    list(frame, rows, Line::styled(heading, muted), of_group.iter().map(row).collect(), place);
    let reason = format!("-- sample {}: {}", inspector.sample, plain(&chosen.reason()));
    let mut text = vec![Line::styled(reason, muted)];
    text.extend(chosen.response.lines().map(|line| Line::raw(plain(line))));
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
    let thresholds = inspector.measure().thresholds(&inspector.samples);
    let style = |piece: &Piece| {
        let mut style = Style::new();
        if let Some(record) = &sample.tokens {
            let colour = strength((inspector.measure().value)(record, piece.token), thresholds);
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
    let chosen = line_of(&lines, inspector.token);
    let line = |pieces: Vec<Piece>| -> Line<'_> {
        pieces.iter().map(|piece| Span::styled(piece.text.clone(), style(piece))).collect()
    };
    let shown: Vec<Line<'_>> = around(lines, chosen, body.height).map(line).collect();
    frame.render_widget(Paragraph::new(shown), body);
    let details = Paragraph::new(details(inspector, sample, thresholds));
    frame.render_widget(details.wrap(Wrap { trim: true }), detail);
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
    let measure = inspector.measure();
    let mut legend = vec![Span::raw(format!("by {}: ", measure.name))];
    if measure.key == 's' {
        legend.push(Span::styled("selected", inspector.palette.token(3)));
    } else {
        let mut bounds: Vec<(i8, String)> =
            (1..).zip(thresholds.map(|threshold| format!(">{threshold:.3}"))).collect();
        if matches!(measure.key, 'c' | 'a') {
            let negative = thresholds.map(|threshold| format!("<{:.3}", -threshold));
            bounds.extend([-1, -2, -3].into_iter().zip(negative));
        }
        for (strength, bound) in bounds {
            legend.push(Span::styled(bound, inspector.palette.token(strength)));
            legend.push(Span::raw(" "));
        }
    }
    vec![Line::from(legend), Line::raw(describe(record, inspector.token))]
}
