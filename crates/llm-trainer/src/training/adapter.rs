//! The adapter that a run trains.

use std::path::Path;

use training_run::config::LoraSection;

use decoder::model::Decoder;

/// Adds an adapter to `model`: that of the PEFT directory `saved`, which must have these settings, or a fresh one.
pub(super) fn adapted(
    mut model: Decoder,
    settings: &LoraSection,
    saved: Option<&Path>,
    seed: u64,
) -> anyhow::Result<Decoder> {
    let Some(saved) = saved else {
        if let Some(problem) = settings.problem_with(model.config().experts.as_ref()) {
            anyhow::bail!("{problem}");
        }
        model.add_adapter(settings, seed);
        return Ok(model);
    };
    model.load_adapter(saved)?;
    let adapter = model.adapter_settings();
    let mut expected = settings.clone();
    expected.targets.sort_unstable();
    anyhow::ensure!(
        adapter == Some(&expected),
        "{}: holds the adapter {adapter:?}, expected {expected:?} by [lora]",
        saved.display()
    );
    Ok(model)
}
