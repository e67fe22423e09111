//! Files of a run with edits: read or refused, without a panic and in time.

use std::path::Path;

use proptest::prelude::*;
use training_run::config::RunConfig;
use training_run::manifest;
use training_run::metrics::read_metrics;
use workspace_tests::files::folder;
use workspace_tests::fuzz::{edited, in_time};

use crate::config::SMALL;

fn configurations() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let paths = std::fs::read_dir(folder).expect("it is there");
    let paths = paths.map(|entry| entry.expect("it can be read").path());
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut all: Vec<Vec<u8>> =
        files.map(|path| std::fs::read(path).expect("it is there")).collect();
    all.push(SMALL.as_bytes().to_vec());
    all
}

proptest! {
    #[test]
    fn fuzz_configuration(bytes in edited(configurations())) {
        let text = String::from_utf8_lossy(&bytes);
        in_time(|| {
            let run = RunConfig::parse(&text, Path::new("run.toml"), &[]).ok()?.resolve().ok()?;
            Some(run.batch_arithmetic())
        });
    }

    #[test]
    fn fuzz_override(bytes in edited(vec![b"algorithm.policy_loss.clip-cov.fraction=0.1".to_vec()])) {
        let argument = String::from_utf8_lossy(&bytes).into_owned();
        let _read = in_time(|| RunConfig::parse(SMALL, Path::new("run.toml"), &[argument]));
    }

    #[test]
    fn fuzz_metrics(bytes in edited(vec![b"{\"step\":1,\"a\":0.5}\n{\"step\":2,\"a\":1e3}\n".to_vec()])) {
        let folder = folder(&[]);
        let path = folder.path().join("metrics.jsonl");
        std::fs::write(&path, bytes).unwrap();
        let _read = in_time(|| read_metrics(&path));
    }

    #[test]
    fn fuzz_manifest(bytes in edited(manifests())) {
        let folder = folder(&[("trainer/state.json", "{\"step\": 2}")]);
        std::fs::write(folder.path().join("trainer/manifest.json"), bytes).unwrap();
        in_time(|| manifest::check(folder.path(), (0, 1)));
    }
}

fn manifests() -> Vec<Vec<u8>> {
    let folder = folder(&[("trainer/state.json", "{\"step\": 2}"), ("model.safetensors", "x")]);
    let manifest = manifest::Manifest::default().complete(folder.path()).expect("it can be read");
    manifest.write(folder.path()).expect("a temporary folder is writable");
    vec![std::fs::read(folder.path().join("trainer/manifest.json")).expect("just written")]
}
