//! Import of one GGUF file into a Hugging Face directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model_files::model_config::ModelShape;
use whole_file::DirectoryInProgress;

use super::error::GgufError;
use super::hyperparameters::{self, config_json, generation_config_json};
use super::names::{PlannedTensor, plan, source_of, unpermute};
use super::reader::GgufFile;
use super::safetensors_stream::{Entry, SafetensorsStream};
use super::tensor_dtype::TensorDtype;
use super::tokenizer;

/// Treatment of an output matrix in the file beside the embedding.
///
/// Conversion tools write a second, differently quantised copy of a matrix that the model shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TiePolicy {
    /// [`TiePolicy::Output`] if both agree (cosine above 0.99), else [`TiePolicy::Keep`].
    #[default]
    Auto,
    /// Write both; the model is not tied.
    Keep,
    /// Share the output matrix, as a rule the finer copy.
    Output,
    /// Share the embedding.
    Embedding,
}

/// Options of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// Number format of the written weights.
    pub dtype: TensorDtype,
    /// Treatment of an output matrix.
    pub tie: TiePolicy,
}

/// Progress of an import, reported before each tensor and once at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportProgress<'a> {
    /// Hugging Face name of the next tensor; empty at the end.
    pub tensor: &'a str,
    /// Bytes of `model.safetensors` written.
    pub written_bytes: u64,
    /// Total bytes of the tensors.
    pub total_bytes: u64,
}

/// Result of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportSummary {
    /// The finished directory.
    pub directory: PathBuf,
    /// `model_type` of its `config.json`.
    pub architecture: &'static str,
    /// Tensors in `model.safetensors`.
    pub tensors: usize,
    /// Size of `model.safetensors`, in bytes.
    pub bytes: u64,
    /// SHA-256 of `model.safetensors`, in hexadecimal.
    pub sha256: String,
    /// True if embedding and output share a matrix.
    pub tied: bool,
    /// Cosine between embedding and output matrix, if it decided.
    pub cosine: Option<f64>,
}

/// Writes `config.json`, `generation_config.json`, `model.safetensors`, `tokenizer.json` and
/// `tokenizer_config.json` into `directory`, which must be new or empty.
///
/// Memory stays near the size of the largest attention matrix. Until everything is written and
/// flushed, the files are in a temporary directory beside the target, which is removed on failure.
///
/// # Errors
///
/// [`GgufError`]: the input is not readable, not a whole GGUF file, not a model that can be
/// represented, or the output cannot be written.
pub fn import(
    gguf: &Path,
    directory: &Path,
    options: &ImportOptions,
    progress: &mut dyn FnMut(ImportProgress<'_>),
) -> Result<ImportSummary, GgufError> {
    let gguf = GgufFile::open(gguf)?;
    let mut model = hyperparameters::read(&gguf)?;
    let (tokenizer, tokenizer_config) = tokenizer::build(&gguf.metadata, &model)?;
    let (embedding, tied, cosine) = choose_embedding(&gguf, &model, options.tie)?;
    model.tie_word_embeddings = tied;
    let planned = plan(&gguf, &model, embedding)?;

    // A trailing `/` or `.` would hide the name; `file_name` looks past both.
    let Some(name) = directory.file_name() else {
        let problem = std::io::Error::other("expected a path that ends in a name");
        return Err(GgufError::io(directory, "create")(problem));
    };
    let directory = directory.with_file_name(name);
    refuse_occupied(&directory)?;
    let staging = DirectoryInProgress::begin(&directory)?;
    let write = |file: &str, contents: &[u8]| {
        let path = staging.path().join(file);
        fs::write(&path, contents).map_err(GgufError::io(&path, "write"))
    };
    let json = |value: &serde_json::Value| format!("{value:#}\n").into_bytes();
    write("config.json", &json(&config_json(&gguf, &model, options.dtype)?))?;
    write("generation_config.json", &json(&generation_config_json(&model)))?;
    write("tokenizer.json", tokenizer.as_bytes())?;
    write("tokenizer_config.json", &json(&tokenizer_config))?;

    let path = staging.path().join("model.safetensors");
    let file = File::create(&path).map_err(GgufError::io(&path, "create"))?;
    let (bytes, sha256) = write_tensors(file, &path, &gguf, &planned, options.dtype, progress)?;
    // Minutes have passed: what came there since is not replaced either.
    refuse_occupied(&directory)?;
    staging.commit()?;
    Ok(ImportSummary {
        directory,
        architecture: model.architecture.model_type(),
        tensors: planned.len(),
        bytes,
        sha256,
        tied,
        cosine,
    })
}

fn refuse_occupied(target: &Path) -> Result<(), GgufError> {
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(GgufError::io(target, "read")(error)),
        Ok(status) => {
            let empty = status.is_dir()
                && fs::read_dir(target).map_err(GgufError::io(target, "read"))?.next().is_none();
            if empty { Ok(()) } else { Err(GgufError::Occupied { path: target.to_owned() }) }
        }
    }
}

/// Returns the tensor that becomes the embedding, and whether the output shares it.
fn choose_embedding(
    gguf: &GgufFile,
    model: &ModelShape,
    tie: TiePolicy,
) -> Result<(&'static str, bool, Option<f64>), GgufError> {
    const EMBEDDING: &str = "token_embd.weight";
    const OUTPUT: &str = "output.weight";
    if gguf.tensor(OUTPUT).is_none() {
        return Ok((EMBEDDING, true, None));
    }
    Ok(match tie {
        TiePolicy::Keep => (EMBEDDING, false, None),
        TiePolicy::Output => (OUTPUT, true, None),
        TiePolicy::Embedding => (EMBEDDING, true, None),
        TiePolicy::Auto => {
            let cosine = cosine(gguf, model, EMBEDDING, OUTPUT)?;
            let agree = cosine > 0.99;
            (if agree { OUTPUT } else { EMBEDDING }, agree, Some(cosine))
        }
    })
}

/// Cosine between about 4,096 evenly spaced rows of two `[vocabulary, hidden]` matrices.
fn cosine(gguf: &GgufFile, model: &ModelShape, left: &str, right: &str) -> Result<f64, GgufError> {
    let shape = [model.vocab_size, model.hidden_size];
    let matrix = |source: &str| source_of(gguf, "lm_head.weight", source, &shape);
    let (left, right) = (matrix(left)?, matrix(right)?);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let (mut product, mut squares) = (0.0, [0.0, 0.0]);
    let step = (model.vocab_size / 4096).max(1);
    for row in (0..model.vocab_size).step_by(step) {
        gguf.read_run(left, row * model.hidden_size, model.hidden_size, &mut a)?;
        gguf.read_run(right, row * model.hidden_size, model.hidden_size, &mut b)?;
        for (a, b) in a.iter().zip(&b) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            product += a * b;
            squares[0] += a * a;
            squares[1] += b * b;
        }
    }
    Ok(product / (squares[0] * squares[1]).sqrt())
}

/// Streams header and tensors into `file`; returns byte count and SHA-256.
fn write_tensors(
    file: File,
    path: &Path,
    gguf: &GgufFile,
    planned: &[PlannedTensor],
    dtype: TensorDtype,
    progress: &mut dyn FnMut(ImportProgress<'_>),
) -> Result<(u64, String), GgufError> {
    let entries = planned.iter().map(|tensor| Entry {
        name: tensor.name.clone(),
        dtype: dtype.format().name(),
        shape: tensor.source.shape.clone(),
        bytes: (tensor.source.elements() * dtype.format().block_bytes()) as u64,
    });
    let entries = entries.collect::<Vec<_>>();
    let total_bytes = entries.iter().map(|entry| entry.bytes).sum();
    let mut stream =
        SafetensorsStream::start(file, &entries).map_err(GgufError::io(path, "write"))?;
    let mut encoded = Vec::new();
    for tensor in planned {
        let written_bytes = stream.written_bytes;
        progress(ImportProgress { tensor: &tensor.name, written_bytes, total_bytes });
        let mut before = 0;
        let mut put = |elements: &[f32]| {
            dtype.encode(elements, &mut encoded).map_err(|index| {
                let problem = format!(
                    "element {} is {} as {}, expected a finite number",
                    before + index,
                    elements[index],
                    dtype.torch_name()
                );
                GgufError::tensor(&gguf.path, &tensor.source.name, problem)
            })?;
            before += elements.len();
            stream.write(&encoded).map_err(GgufError::io(path, "write"))
        };
        match tensor.permuted_heads {
            None => gguf.read_elements(&tensor.source, put)?,
            Some(heads) => {
                let mut elements = Vec::new();
                gguf.read_run(&tensor.source, 0, tensor.source.elements(), &mut elements)?;
                let columns = tensor.source.shape.get(1).map_or(1, |columns| *columns);
                put(&unpermute(&elements, heads, columns))?;
            }
        }
    }
    let written_bytes = stream.written_bytes;
    progress(ImportProgress { tensor: "", written_bytes, total_bytes });
    let (_, sha256) = stream.finish();
    Ok((written_bytes, sha256))
}
