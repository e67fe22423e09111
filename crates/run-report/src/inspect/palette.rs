//! Colours within the means of the terminal.

use ratatui::style::{Color, Modifier, Style};

/// Number of colours of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// No colours: `NO_COLOR` is set, or the terminal is dumb.
    Plain,
    /// The 16 colours of every terminal.
    Sixteen,
    /// 256 colours.
    Many,
}

impl Palette {
    /// Chooses by the environment variables `NO_COLOR`, `TERM` and `COLORTERM`, read through `variable`.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).unwrap_or_default();
        let term = value("TERM");
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            Self::Plain
        } else if term.contains("256color") || !value("COLORTERM").is_empty() {
            Self::Many
        } else {
            Self::Sixteen
        }
    }

    /// Style of a token whose strength is −3..=3.
    pub fn token(self, strength: i8) -> Style {
        let style = Style::new();
        match self {
            Self::Plain => match strength.abs() {
                0 => style.add_modifier(Modifier::DIM),
                1 => style,
                2 => style.add_modifier(Modifier::BOLD),
                _ => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            },
            Self::Sixteen => match strength {
                -3 => style.fg(Color::White).bg(Color::Blue),
                -2 => style.fg(Color::LightBlue),
                -1 => style.fg(Color::Cyan),
                1 => style.fg(Color::Yellow),
                2 => style.fg(Color::LightRed),
                3 => style.fg(Color::White).bg(Color::Red),
                _ => style,
            },
            Self::Many => match strength {
                -3 => style.fg(Color::Indexed(231)).bg(Color::Indexed(25)),
                -2 => style.fg(Color::Indexed(16)).bg(Color::Indexed(110)),
                -1 => style.fg(Color::Indexed(16)).bg(Color::Indexed(153)),
                1 => style.fg(Color::Indexed(16)).bg(Color::Indexed(223)),
                2 => style.fg(Color::Indexed(16)).bg(Color::Indexed(215)),
                3 => style.fg(Color::Indexed(231)).bg(Color::Indexed(160)),
                _ => style,
            },
        }
    }

    /// Style of a verdict: `right`, `wrong` or another.
    pub fn verdict(self, verdict: &str) -> Style {
        match (self, verdict) {
            (Self::Plain, _) => Style::new(),
            (_, "right") => Style::new().fg(Color::Green),
            (_, "wrong") => Style::new().fg(Color::Red),
            _ => Style::new().fg(Color::Yellow),
        }
    }

    /// Style of secondary text.
    pub fn muted(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Sixteen | Self::Many => Style::new().fg(Color::DarkGray),
        }
    }
}
