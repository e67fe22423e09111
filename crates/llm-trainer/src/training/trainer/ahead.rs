//! The responses of a later step, sampled by servers while the policy is updated.

use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use ranks::DeviceMesh;

use super::drawer::Drawer;
use crate::training::rollout::{Engine, Rollout, SamplingPass, asked_share, gather};
use crate::training::step_key::StepKey;

/// A rollout that a thread waits for.
#[derive(Debug)]
pub(super) struct RolloutAhead {
    /// The later step.
    pub(super) key: StepKey,
    /// Step whose weights the servers had when they were asked.
    pub(super) asked_at: u64,
    /// Questions that were asked, over all ranks.
    chosen: Vec<usize>,
    /// Waits for this rank's responses.
    thread: JoinHandle<anyhow::Result<Rollout>>,
}

impl RolloutAhead {
    /// Asks the servers for responses to the `chosen` questions.
    pub(super) fn begin(
        drawer: &Arc<Drawer>,
        mesh: &DeviceMesh,
        chosen: Vec<usize>,
        key: StepKey,
        asked_at: u64,
    ) -> anyhow::Result<Self> {
        let share = asked_share(mesh, chosen.len());
        let (drawer, asked) = (Arc::clone(drawer), chosen[share.clone()].to_vec());
        let thread = std::thread::Builder::new().name(format!("rollout of step {}", key.step));
        let thread = thread.spawn(move || {
            let engine = drawer.engine.as_ref().context("no servers to ask ahead of a step")?;
            let judge = drawer.rewarder.judge(drawer.run.config())?;
            let engine = Engine::External(engine, drawer.decoding());
            let pass = SamplingPass { engine, options: &drawer.options(), judge };
            pass.answer(&drawer.prompts(&asked), key, share.start as u64, &|_| {})
        })?;
        Ok(Self { key, asked_at, chosen, thread })
    }

    /// Waits for the responses of all ranks. Returns them with their questions. A failure of one rank is one of all.
    pub(super) fn finish(self, mesh: &DeviceMesh) -> anyhow::Result<(Vec<usize>, Rollout)> {
        let drawn = self.thread.join().unwrap_or_else(|_| Err(anyhow!("its thread has panicked")));
        Ok((self.chosen, gather(mesh, drawn)?))
    }
}
