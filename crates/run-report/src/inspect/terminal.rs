//! Loop of the inspector on a real terminal.

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use thiserror::Error;

use super::draw::draw;
use super::inspector::Inspector;

/// Interval between looks at the run's files.
const REFRESH: Duration = Duration::from_secs(2);

/// Why the terminal cannot be used.
#[derive(Debug, Error)]
#[error("the terminal cannot be used: {0}; --once prints a summary")]
pub struct InspectError(#[from] std::io::Error);

/// Shows a run on the terminal of this process until a key ends it, then restores the terminal.
///
/// # Errors
///
/// [`InspectError`] where there is no terminal.
pub fn run(mut inspector: Inspector) -> Result<(), InspectError> {
    let mut terminal = ratatui::try_init()?;
    let outcome = loop_on(&mut terminal, &mut inspector);
    ratatui::try_restore()?;
    Ok(outcome?)
}

fn loop_on(
    terminal: &mut ratatui::DefaultTerminal,
    inspector: &mut Inspector,
) -> std::io::Result<()> {
    let mut refreshed = Instant::now();
    while !inspector.is_done() {
        terminal.draw(|frame| draw(frame, inspector))?;
        let left = REFRESH.saturating_sub(refreshed.elapsed());
        if event::poll(left)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => inspector.key(key),
                _ => {}
            }
        }
        if refreshed.elapsed() >= REFRESH {
            inspector.refresh();
            refreshed = Instant::now();
        }
    }
    Ok(())
}
