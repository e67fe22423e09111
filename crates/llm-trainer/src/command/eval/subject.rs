//! The subject of an evaluation: a model, a checkpoint, or a run.

use std::path::{Path, PathBuf};

use anyhow::bail;
use hub_files::ModelParts;
use model_files::model_place::advice;
use run_report::evaluation::settings::EvaluationFile;
use toml::Value;
use training_run::config::RunConfig;
use training_run::run_directory::{RunDirectory, TRAINER_FOLDER};

use crate::command::hub_names;
use crate::command::model_options::{last_name, latest_checkpoint};

#[derive(Debug)]
pub(super) struct Subject {
    pub(super) directory: PathBuf,
    /// Its name in the table.
    pub(super) name: String,
    /// Default folder of the results.
    pub(super) output: PathBuf,
    /// Configuration of the run that made the model.
    run: Option<RunConfig>,
}

impl Subject {
    /// Resolves `path`: a run to one of its checkpoints, a checkpoint of a run to itself, anything else to a model.
    pub(super) fn find(path: &Path, step: Option<u64>) -> anyhow::Result<Self> {
        if let Some(name) = hub_names::name(path) {
            anyhow::ensure!(
                step.is_none(),
                "--step is given, expected none where {name} is no run"
            );
            let directory = hub_names::model(path, ModelParts::All)?;
            let output = Path::new("evaluations").join(&name.repository);
            return Ok(Self { directory, name: name.to_string(), output, run: None });
        }
        if !path.is_dir() {
            let advice = advice(path).map_or_else(String::new, |advice| format!("; {advice}"));
            let path = path.display();
            bail!("{path}: not a folder, expected a Hugging Face directory or a run{advice}");
        }
        if let Ok(run) = RunDirectory::open(path) {
            let directory =
                if let Some(step) = step { run.checkpoint(step) } else { latest_checkpoint(&run)? };
            if !directory.is_dir() {
                bail!("{}: no such checkpoint", directory.display());
            }
            return Self::of_run(path, directory);
        }
        if let Some(step) = step {
            bail!("--step is {step}, expected no step where {} is no run", path.display());
        }
        let root = path.parent().and_then(Path::parent);
        let is_run =
            |root: &&Path| path.join(TRAINER_FOLDER).is_dir() && root.join("config.toml").is_file();
        if let Some(root) = root.filter(is_run) {
            return Self::of_run(root, path.to_path_buf());
        }
        let name = last_name(path);
        let output = Path::new("evaluations").join(&name);
        Ok(Self { directory: path.to_path_buf(), name, output, run: None })
    }

    fn of_run(root: &Path, directory: PathBuf) -> anyhow::Result<Self> {
        let config = root.join("config.toml");
        let run = RunConfig::load(&config, &[])?;
        let step = last_name(&directory);
        let output = root.join("evaluations").join(&step);
        Ok(Self { name: format!("{} {step}", run.name), directory, output, run: Some(run) })
    }

    /// Fills in prompts, grading, lengths and stops from the run, where the file says nothing.
    pub(super) fn fill_in(&self, file: &mut EvaluationFile) {
        let Some(run) = &self.run else { return };
        file.prompt.get_or_insert_with(|| run.data.prompt.clone());
        if file.grading == reward_math::Options::default() {
            file.grading = run.reward.grading.clone();
        }
        let tokens = i64::try_from(run.rollout.max_response_tokens).unwrap_or(i64::MAX);
        file.sampling.entry("max_response_tokens").or_insert(Value::Integer(tokens));
        let stops = run.rollout.stop.iter().cloned().map(Value::String).collect();
        file.sampling.entry("stop").or_insert(Value::Array(stops));
    }
}
