use std::path::{Path, PathBuf};

use model_files::hub_name::{HubName, Snapshot};
use whole_file::FileError;

use crate::cache::{CachedRepository, is_commit};
use crate::client::{Client, Failure, escaped, refused};
use crate::data_files::{chosen, missing_shard};
use crate::download::download;
use crate::listing::{Listing, RemoteFile};
use crate::model_parts::ModelParts;

/// Longest list of authorities that is read, in bytes.
const LONGEST_AUTHORITIES: u64 = 8 << 20;

/// The hub with its cache: models and data sets by name.
#[derive(Debug)]
pub struct Hub {
    cache: PathBuf,
    /// Absent where the hub is not to be asked.
    client: Option<Client>,
}

/// One repository of either kind, at a revision.
struct Repository<'a> {
    name: &'a HubName,
    /// Parts of a model that are asked for; `None` for a data set, whose part the name has.
    parts: Option<ModelParts>,
    /// Branch, tag or commit.
    revision: &'a str,
    cached: CachedRepository,
}

impl Hub {
    /// Reads the variables of `huggingface_hub`: `HF_HUB_CACHE`, `HF_HOME`, `HF_HUB_OFFLINE`, `HF_ENDPOINT`, `HF_TOKEN`.
    ///
    /// `SSL_CERT_FILE` names authorities in place of those of Mozilla, which are built in.
    pub fn from_env() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = || {
            let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
            cache.unwrap_or_default().join("huggingface")
        };
        let home = variable("HF_HOME").map_or_else(home, PathBuf::from);
        let cache = variable("HF_HUB_CACHE").map_or_else(|| home.join("hub"), PathBuf::from);
        let is_set = |name: &str| {
            let value = variable(name).unwrap_or_default().to_ascii_lowercase();
            matches!(value.as_str(), "1" | "on" | "yes" | "true")
        };
        if is_set("HF_HUB_OFFLINE") || is_set("TRANSFORMERS_OFFLINE") {
            return Self::new(cache, None);
        }
        let endpoint = variable("HF_ENDPOINT");
        let endpoint = endpoint.as_deref().unwrap_or("https://huggingface.co");
        let in_file = || {
            let path = variable("HF_TOKEN_PATH").map_or_else(|| home.join("token"), PathBuf::from);
            whole_file::read_text_at_most(&path, 4096).ok()
        };
        let token = variable("HF_TOKEN").or_else(in_file).map(|token| token.trim().to_owned());
        let authorities = variable("SSL_CERT_FILE")
            .and_then(|path| whole_file::read_at_most(Path::new(&path), LONGEST_AUTHORITIES).ok());
        let token = token.filter(|token| !token.is_empty());
        Self { cache, client: Some(Client::new(endpoint, token, authorities.as_deref())) }
    }

    /// A hub at `endpoint`, with its cache; without an endpoint the cache alone.
    pub fn new(cache: PathBuf, endpoint: Option<&str>) -> Self {
        Self { cache, client: endpoint.map(|endpoint| Client::new(endpoint, None, None)) }
    }

    /// Returns the directory of a model, at `commit` or at the revision of the name. `say` is told each file to download.
    ///
    /// # Errors
    ///
    /// [`FileError`], which names the model.
    pub fn model(
        &self,
        name: &HubName,
        commit: Option<&str>,
        parts: ModelParts,
        say: &dyn Fn(&str),
    ) -> Result<Snapshot, FileError> {
        if !name.part.is_empty() {
            let problem = format!("has the part {:?}, expected a model without one", name.part);
            return Err(FileError::at(name, problem));
        }
        self.snapshot(&self.repository(name, Some(parts), commit), say)
    }

    /// Returns the files of a data set's part, like [`Hub::model`].
    ///
    /// # Errors
    ///
    /// [`FileError`], which names the data set; a part that is not one split.
    pub fn data_set(
        &self,
        name: &HubName,
        commit: Option<&str>,
        say: &dyn Fn(&str),
    ) -> Result<Snapshot, FileError> {
        self.snapshot(&self.repository(name, None, commit), say)
    }

    fn repository<'a>(
        &self,
        name: &'a HubName,
        parts: Option<ModelParts>,
        commit: Option<&'a str>,
    ) -> Repository<'a> {
        let written = if name.revision.is_empty() { "main" } else { &name.revision };
        let cached = CachedRepository::new(&self.cache, kind(parts), &name.repository);
        Repository { name, parts, revision: commit.unwrap_or(written), cached }
    }

    fn snapshot(
        &self,
        repository: &Repository<'_>,
        say: &dyn Fn(&str),
    ) -> Result<Snapshot, FileError> {
        // A commit never changes; of a description, the cache may have a part.
        let is_part = repository.parts == Some(ModelParts::Description);
        let is_fixed = is_commit(repository.revision) && !is_part;
        let held = is_fixed.then(|| repository.held(repository.revision));
        if let Some(Ok((snapshot, None))) = held {
            return Ok(snapshot);
        }
        let because = match &self.client {
            None => "the hub is not asked (HF_HUB_OFFLINE)".to_owned(),
            Some(client) => match repository.listing(client)? {
                Ok(listing) => return repository.fetch(client, &listing, say),
                Err(problem) => format!("the hub cannot be reached: {problem}"),
            },
        };
        let name = repository.name;
        let commit = repository.cached.commit(repository.revision);
        let commit = commit.filter(|commit| repository.cached.snapshot(commit).is_dir());
        let Some(commit) = commit else {
            let problem = format!(
                "no directory here, not in the hub's cache {}, and {because}; expected a directory, or a name of the hub (`hf \
                 download {name}` fills the cache where there is a network)",
                self.cache.display()
            );
            return Err(FileError::at(name, problem));
        };
        match repository.held(&commit) {
            Ok((snapshot, None)) => Ok(snapshot),
            Ok((Snapshot { folder, .. }, Some(missing))) => {
                let cache = folder.display();
                let problem = format!("the hub's cache {cache} lacks {missing}, and {because}");
                Err(FileError::at(name, problem))
            }
            Err(problem) => {
                let problem = format!("{problem} in the hub's cache, and {because}");
                Err(FileError::at(name, problem))
            }
        }
    }
}

/// Name of the kind of repository, in addresses and in the cache.
fn kind(parts: Option<ModelParts>) -> &'static str {
    if parts.is_some() { "models" } else { "datasets" }
}

impl Repository<'_> {
    /// The first file that is needed and not there.
    fn missing(&self, folder: &Path, files: &[String]) -> Option<String> {
        self.parts.map_or_else(|| missing_shard(files), |parts| parts.missing(folder))
    }

    /// The files asked for, of those that there are; the error describes why there are none.
    fn wanted(&self, files: &[String]) -> Result<Vec<String>, String> {
        self.parts.map_or_else(|| chosen(files, &self.name.part), |parts| Ok(parts.wanted(files)))
    }

    /// The files of a commit that the cache has, and the first one that it lacks.
    fn held(&self, commit: &str) -> Result<(Snapshot, Option<String>), String> {
        let folder = self.cached.snapshot(commit);
        let files = self.wanted(&self.cached.files(commit))?;
        let missing = self.missing(&folder, &files);
        Ok((snapshot(commit, folder, &files), missing))
    }

    /// The revision's files; the inner error says why the hub cannot be reached.
    fn listing(&self, client: &Client) -> Result<Result<Listing, String>, FileError> {
        let Self { name, parts, revision, .. } = self;
        let revision = escaped(revision).replace('/', "%2F");
        let path =
            format!("api/{}/{}/revision/{revision}?blobs=true", kind(*parts), name.repository);
        match client.text(&path) {
            Ok(text) => Listing::read(&name.to_string(), &text).map(Ok),
            Err(Failure::Unreachable(problem)) => Ok(Err(problem)),
            Err(Failure::Status(status)) => Err(FileError::at(name, refused(status))),
        }
    }

    /// Downloads the wanted files that the cache lacks.
    fn fetch(
        &self,
        client: &Client,
        listing: &Listing,
        say: &dyn Fn(&str),
    ) -> Result<Snapshot, FileError> {
        let Listing { commit, files } = listing;
        let (folder, name) = (self.cached.snapshot(commit), self.name.to_string());
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        let names = self.wanted(&names).map_err(|problem| FileError::at(&name, problem))?;
        let prefix = if self.parts.is_none() { "datasets/" } else { "" };
        for file in files.iter().filter(|file| names.contains(&file.name)) {
            if folder.join(&file.name).is_file() {
                continue;
            }
            let RemoteFile { name: path, bytes, checksum, .. } = file;
            say(&format!("{name}: downloading {path}, {bytes} bytes"));
            let repository = &self.name.repository;
            let address = format!("{prefix}{repository}/resolve/{commit}/{}", escaped(path));
            download(client, &name, &address, file, &self.cached)?;
            self.cached.link(commit, path, checksum)?;
        }
        if let Some(missing) = self.missing(&folder, &names) {
            let problem = format!("the repository has no {missing}, which is needed");
            return Err(FileError::at(name, problem));
        }
        self.cached.set_commit(self.revision, commit)?;
        Ok(snapshot(commit, folder, &names))
    }
}

fn snapshot(commit: &str, folder: PathBuf, files: &[String]) -> Snapshot {
    let files = files.iter().map(|file| folder.join(file)).collect();
    Snapshot { commit: commit.to_owned(), folder, files }
}
