//! Files that are broken or mean harm: one line with file and tensor, no panic, bounded memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use decoder::model::Decoder;
use serde_json::{Map, Value, json};
use tch::{Device, Kind};

use crate::fixture::{copy_to, one_thread};

const NORM: &str = "model.norm.weight";

fn load(directory: &Path) -> Result<(), String> {
    one_thread();
    match Decoder::load(directory, Device::Cpu, Kind::Float) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string().replace(&directory.display().to_string(), "DIR")),
    }
}

fn refusal(directory: &Path) -> String {
    let message = load(directory).expect_err("must be refused");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.len() < 1000, "{} bytes", message.len());
    message
}

/// A model whose weight file a test may spoil.
struct Victim {
    folder: tempfile::TempDir,
    header: Map<String, Value>,
    data: Vec<u8>,
}

impl Victim {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy_to("tiny_qwen2_tied", folder.path());
        let bytes = fs::read(folder.path().join("model.safetensors")).expect("just copied");
        let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")))
            .expect("a small header");
        let header = serde_json::from_slice(&bytes[8..8 + length]).expect("a JSON header");
        Self { folder, header, data: bytes[8 + length..].to_vec() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, header: &str, data: &[u8]) {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        fs::write(self.path().join("model.safetensors"), bytes).expect("a temporary folder");
    }

    /// Returns the error after one entry of the header was changed.
    fn with_entry(&self, name: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut header = self.header.clone();
        change(header.get_mut(name).expect("it is there"));
        self.write(&Value::Object(header).to_string(), &self.data);
        refusal(self.path())
    }

    fn offsets(&self, name: &str) -> (usize, usize) {
        let bound = |index: usize| {
            let offset = self.header[name]["data_offsets"][index].as_u64();
            usize::try_from(offset.expect("a number")).expect("a small file")
        };
        (bound(0), bound(1))
    }
}

#[test]
fn headers_that_lie_are_refused() {
    let victim = Victim::new();
    let (first, end) = victim.offsets(NORM);
    let starts = |said: &str, expected: &str| {
        assert!(said.starts_with(&format!("DIR/model.safetensors: {expected}")), "{said}");
    };
    let overlap = victim.with_entry(NORM, |entry| entry["data_offsets"][0] = json!(first - 4));
    assert!(
        overlap.contains("of the data, expected")
            && overlap.contains("neither overlap nor leave gaps"),
        "{overlap}"
    );
    let gap = victim.with_entry(NORM, |entry| entry["data_offsets"][0] = json!(first + 4));
    assert!(gap.contains("neither overlap nor leave gaps") || gap.contains("by its F32"), "{gap}");
    let beyond = victim.with_entry(NORM, |entry| entry["data_offsets"][1] = json!(u64::MAX));
    starts(&beyond, &format!("tensor `{NORM}` runs from byte {first} to {}", u64::MAX));
    let backwards = victim.with_entry(NORM, |entry| entry["data_offsets"] = json!([first, 0]));
    starts(&backwards, &format!("tensor `{NORM}` "));
    let dtype = victim.with_entry(NORM, |entry| entry["dtype"] = json!("F64"));
    starts(
        &dtype,
        &format!(
            "tensor `{NORM}` runs from byte {first} to {end} of the data, expected 512 bytes by its F64"
        ),
    );
    let unknown = victim.with_entry(NORM, |entry| entry["dtype"] = json!("F7"));
    starts(&unknown, &format!("header: tensor `{NORM}`: unknown variant `F7`"));
    let integer = victim.with_entry(NORM, |entry| entry["dtype"] = json!("I32"));
    assert_eq!(
        integer,
        format!("DIR/model.safetensors: tensor `{NORM}` is I32, expected F32, F16 or BF16")
    );
    let shape = victim.with_entry(NORM, |entry| entry["shape"] = json!([8, 8]));
    assert_eq!(
        shape,
        format!("DIR/model.safetensors: tensor `{NORM}` has shape [8, 8], expected [64]")
    );
    let negative = victim.with_entry(NORM, |entry| entry["shape"] = json!([-64]));
    starts(&negative, &format!("header: tensor `{NORM}`: invalid value: integer `-64`"));
    let overflow =
        victim.with_entry(NORM, |entry| entry["shape"] = json!([1_u64 << 40, 1_u64 << 40]));
    assert!(
        overflow.contains("fewer elements than its shape [1099511627776, 1099511627776]"),
        "{overflow}"
    );
    let long = victim.with_entry(NORM, |entry| entry["shape"] = json!(vec![1; 100_000]));
    starts(&long, &format!("tensor `{NORM}` has 100000 dimensions, expected at most 16"));
    let nothing = victim.with_entry(NORM, |entry| *entry = json!("here"));
    starts(&nothing, &format!("header: tensor `{NORM}`: invalid type"));
}

#[test]
fn headers_that_are_none_are_refused() {
    let victim = Victim::new();
    let message_of = |header: &str, data: &[u8]| {
        victim.write(header, data);
        refusal(victim.path())
    };
    let header_text = Value::Object(victim.header.clone()).to_string();
    let twice = header_text.replacen('{', &format!("{{\"{NORM}\":{},", victim.header[NORM]), 1);
    assert!(
        message_of(&twice, &victim.data)
            .contains(&format!("header: tensor `{NORM}` stands there twice"))
    );
    let trailing = message_of(&header_text, &[victim.data.as_slice(), b"more"].concat());
    assert_eq!(trailing, "DIR/model.safetensors: 4 bytes after the last tensor, expected none");
    assert!(message_of("[]", &[]).contains("header: invalid type"));
    assert!(message_of("{\"a\"", &[]).contains("EOF while parsing"));
    assert!(
        message_of(&format!("{{\"a\":{}", "[".repeat(100_000)), &[]).contains("header: tensor `a`")
    );
    let name = format!("{{\"{}\\n\":{{\"dtype\":\"F7\"}}}}", "x".repeat(1_000_000));
    assert!(message_of(&name, &[]).contains("xxx…`"));
    assert!(message_of("{}", &[]).contains("tensor `model.embed_tokens.weight` is missing"));
    // A length that no memory would hold, in a file as long as that which is all holes.
    let path = victim.path().join("model.safetensors");
    fs::write(&path, (1_u64 << 36).to_le_bytes()).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 37).unwrap();
    assert_eq!(
        refusal(victim.path()),
        "DIR/model.safetensors: header of 68719476736 bytes in a file of 137438953472, expected at most 33554432: \
         truncated, or not safetensors"
    );
}

#[test]
fn weights_that_are_not_finite_are_counted_and_named() {
    let victim = Victim::new();
    let (first, _) = victim.offsets(NORM);
    let header = Value::Object(victim.header.clone()).to_string();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut data = victim.data.clone();
        for element in [3, 5] {
            data[first + 4 * element..][..4].copy_from_slice(&value.to_le_bytes());
        }
        victim.write(&header, &data);
        assert_eq!(
            refusal(victim.path()),
            format!(
                "DIR/model.safetensors: tensor `{NORM}` has 2 values that are not finite, expected none"
            )
        );
    }
}

/// A changed byte of the header gives a model that loads, or a one-line error.
#[test]
fn a_damaged_header_never_panics() {
    let victim = Victim::new();
    let header_text = Value::Object(victim.header.clone()).to_string();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let mut refused = 0;
    for _ in 0..300 {
        let mut bytes = header_text.clone().into_bytes();
        for _ in 0..=random(3) {
            let place = random(bytes.len());
            bytes[place] = b" \"{}[],:0129eE-.\\nulx\xff"[random(22)];
        }
        let mut file = (bytes.len() as u64).to_le_bytes().to_vec();
        file.extend(bytes);
        file.extend(&victim.data);
        fs::write(victim.path().join("model.safetensors"), file).unwrap();
        if let Err(said) = load(victim.path()) {
            assert!(
                said.starts_with("DIR/model.safetensors") && said.lines().count() == 1,
                "{said}"
            );
            refused += 1;
        }
    }
    assert!(refused > 200, "{refused}");
}

/// A model in a shard `one.safetensors`, and the index that names it.
fn sharded(folder: &Path) -> impl Fn(&str) -> Result<(), String> {
    copy_to("tiny_qwen2_tied", folder);
    fs::rename(folder.join("model.safetensors"), folder.join("one.safetensors")).expect("copied");
    let folder = folder.to_path_buf();
    move |file| {
        let index = json!({ "weight_map": { "model.norm.weight": file } }).to_string();
        fs::write(folder.join("model.safetensors.index.json"), index).expect("a temporary folder");
        load(&folder)
    }
}

#[test]
fn an_index_stays_in_its_directory() {
    let [folder, outside] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let with = sharded(folder.path());
    with("one.safetensors").unwrap();
    let secret = outside.path().join("secret.safetensors");
    fs::copy(folder.path().join("one.safetensors"), &secret).unwrap();
    for file in
        ["../secret.safetensors", secret.to_str().unwrap(), "a/one.safetensors", "..", "", "."]
    {
        let message = with(file).unwrap_err();
        assert!(
            message.starts_with(&format!(
                "DIR/model.safetensors.index.json: `weight_map.model.norm.weight` is {file:?}"
            )),
            "{message}"
        );
    }
    symlink(&secret, folder.path().join("link.safetensors")).unwrap();
    let message = with("link.safetensors").unwrap_err();
    assert!(
        message.contains("\"link.safetensors\" is a link that leads out of the directory"),
        "{message}"
    );
    symlink("one.safetensors", folder.path().join("inside.safetensors")).unwrap();
    with("inside.safetensors").unwrap();
}

/// Links as `huggingface_hub` creates them in its download cache.
#[test]
fn links_of_the_download_cache_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (snapshot, blobs) = (folder.path().join("snapshots/abc"), folder.path().join("blobs"));
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir(&blobs).unwrap();
    let with = sharded(&snapshot);
    fs::rename(snapshot.join("one.safetensors"), blobs.join("4242")).unwrap();
    symlink("../../blobs/4242", snapshot.join("one.safetensors")).unwrap();
    with("one.safetensors").unwrap();
}

#[test]
fn files_without_end_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let with = sharded(folder.path());
    let index = folder.path().join("model.safetensors.index.json");
    let endless = |path: &Path| {
        let file = fs::File::create(path).expect("a temporary folder");
        file.set_len(1 << 40).expect("a file of holes");
    };
    endless(&index);
    assert_eq!(
        refusal(folder.path()),
        "DIR/model.safetensors.index.json: longer than 33554432 bytes"
    );
    fs::remove_file(&index).unwrap();
    let pipe = folder.path().join("pipe.safetensors");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(
        with("pipe.safetensors").unwrap_err(),
        "DIR/pipe.safetensors: not a file, expected safetensors"
    );
    fs::copy(folder.path().join("one.safetensors"), folder.path().join("two.safetensors")).unwrap();
    let both =
        json!({ "weight_map": { "a": "one.safetensors", "b": "two.safetensors" } }).to_string();
    fs::write(&index, both).unwrap();
    let message = refusal(folder.path());
    assert!(
        message.starts_with(
            "DIR/two.safetensors: tensor `model.embed_tokens.weight` is in DIR/one.safetensors too"
        ),
        "{message}"
    );
    endless(&folder.path().join("config.json"));
    let message = refusal(folder.path());
    assert!(
        message.contains("DIR/config.json") && message.contains("longer than 8388608 bytes"),
        "{message}"
    );
}

#[test]
fn adapters_of_another_kind_are_refused_by_field() {
    let folder = tempfile::tempdir().unwrap();
    let (base, adapter) = (folder.path().join("base"), folder.path().join("adapter"));
    copy_to("tiny_qwen2_tied", &base);
    let mut model = Decoder::load(&base, Device::Cpu, Kind::Float).unwrap();
    model.add_adapter(&training_run::config::LoraSection { rank: 2, ..Default::default() }, 0);
    model.save(&adapter, &base).unwrap();
    load(&adapter).unwrap();
    let config = adapter.join("adapter_config.json");
    let original: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    let with = |field: &str, value: Value| {
        let mut changed = original.clone();
        changed[field] = value;
        fs::write(&config, changed.to_string()).expect("a temporary folder");
        refusal(&adapter)
    };
    for (field, value, expected) in [
        ("peft_type", json!("IA3"), "expected \"LORA\""),
        ("use_dora", json!(true), "expected false"),
        ("use_rslora", json!(true), "expected false"),
        ("bias", json!("all"), "expected \"none\""),
        ("modules_to_save", json!(["lm_head"]), "expected null"),
        ("rank_pattern", json!({"q_proj": 4}), "expected null"),
        ("r", json!(0), "expected a whole number of at least 1"),
        ("lora_alpha", json!("x"), "expected a number above 0"),
        ("target_modules", json!("all-linear"), "expected a list of q_proj"),
        ("target_modules", json!(["lm_head"]), "expected a list of q_proj"),
        ("target_modules", json!([]), "expected at least one"),
        ("base_model_name_or_path", json!(null), "expected the directory of the model"),
        (
            "base_model_name_or_path",
            json!("Qwen/Qwen2.5-7B"),
            "expected the directory of a model with config.json",
        ),
    ] {
        let message = with(field, value);
        assert!(
            message.starts_with(&format!("DIR/adapter_config.json: `{field}` is ")),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
    }
    assert!(with("r", json!(3)).contains("adapter_model.safetensors: tensor `base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight` has shape [2, 64], expected [3, 64]"));
    let fewer = with("target_modules", json!(["q_proj"]));
    assert!(fewer.contains("has no place in an adapter of this adapter_config.json"), "{fewer}");
}
