//! The processes that play, each one rollout at a time.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use question_data::dataset::Question;
use serde::Serialize;
use training_run::config::EnvironmentSection;

use crate::serve::Work;
use crate::training::line_process::LineProcess;

/// News of rollouts.
pub(super) enum Event {
    Asked(Work),
    /// The rollout at `place` has ended with a line, or failed with the reason.
    Ended {
        place: usize,
        answer: Result<String, String>,
    },
}

/// A rollout as a harness is given it, one line of JSON.
#[derive(Debug, Serialize)]
pub(super) struct Task<'a> {
    pub(super) rollout: &'a str,
    /// Address for a client of OpenAI's interface.
    pub(super) base_url: String,
    pub(super) api_key: &'a str,
    pub(super) model: &'a str,
    /// The question with its known answer: `id`, `problem`, `answer`, `source` and `context`.
    pub(super) question: &'a Question,
    /// The prompt of a run without harness.
    pub(super) prompt_token_ids: &'a [u32],
}

/// The processes; each starts with its first rollout, and again after a failure.
#[derive(Debug)]
pub(super) struct Harnesses {
    command: Vec<String>,
    wait: Duration,
    processes: Vec<Arc<Mutex<Option<LineProcess>>>>,
}

impl Harnesses {
    pub(super) fn new(section: &EnvironmentSection) -> Self {
        let new = || Arc::new(Mutex::new(None));
        Self {
            command: section.command.clone(),
            wait: Duration::from_secs_f64(section.timeout_seconds),
            processes: std::iter::repeat_with(new).take(section.workers).collect(),
        }
    }

    /// Gives a rollout to a process that has none; a thread waits for the answer.
    pub(super) fn play(
        &self,
        harness: usize,
        place: usize,
        task: &Task<'_>,
        events: &Sender<Event>,
    ) -> anyhow::Result<()> {
        let slot = Arc::clone(&self.processes[harness]);
        let idle = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut process = idle.map_or_else(|| LineProcess::start(&self.command), Ok)?;
        let line = serde_json::to_string(task)? + "\n";
        let (wait, events) = (self.wait, events.clone());
        std::thread::Builder::new().name(format!("rollout {}", task.rollout)).spawn(move || {
            let answers = process.answers(&[line], wait);
            let answer = answers.map(|mut lines| lines.pop().unwrap_or_default());
            let answer = answer.map_err(|error| format!("{error:#}"));
            let kept = answer.is_ok().then_some(process);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = kept;
            // The run may have ended.
            let _heard = events.send(Event::Ended { place, answer });
        })?;
        Ok(())
    }
}
