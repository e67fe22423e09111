//! The adapter that a run trains.

use std::path::Path;

use training_run::config::LoraSection;

use crate::model::Decoder;

/// `model` with the adapter of the PEFT directory `saved`, which must have these settings, else with a fresh one.
///
/// # Errors
///
/// If `saved` cannot be read, or holds an adapter of other settings.
pub(super) fn adapted(
    mut model: Decoder,
    settings: &LoraSection,
    saved: Option<&Path>,
    seed: u64,
) -> anyhow::Result<Decoder> {
    let Some(saved) = saved else {
        model.add_adapter(settings, seed);
        return Ok(model);
    };
    model.load_adapter(saved)?;
    let found = model.adapter_settings();
    let mut expected = settings.clone();
    expected.targets.sort_unstable();
    anyhow::ensure!(
        found == Some(&expected),
        "{}: holds the adapter {found:?}, expected {expected:?} by [lora]",
        saved.display()
    );
    Ok(model)
}
