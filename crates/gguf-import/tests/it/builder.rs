//! GGUF files put together byte by byte.

/// A GGUF file in the making.
pub(crate) struct Builder {
    pub(crate) metadata: Vec<(String, Vec<u8>)>,
    pub(crate) tensors: Vec<Tensor>,
}

/// Name, sizes fastest first (as in the file), `ggml_type`, bytes.
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) sizes: Vec<u64>,
    pub(crate) code: u32,
    pub(crate) bytes: Vec<u8>,
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

pub(crate) fn typed(kind: u32, payload: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes(), payload].concat()
}

pub(crate) fn string(value: &str) -> Vec<u8> {
    typed(8, &text(value))
}

pub(crate) fn count(value: u32) -> Vec<u8> {
    typed(4, &value.to_le_bytes())
}

pub(crate) fn float(value: f32) -> Vec<u8> {
    typed(6, &value.to_le_bytes())
}

pub(crate) fn strings(values: &[&str]) -> Vec<u8> {
    let mut bytes = typed(9, &8_u32.to_le_bytes());
    bytes.extend((values.len() as u64).to_le_bytes());
    bytes.extend(values.iter().flat_map(|value| text(value)));
    bytes
}

pub(crate) fn integers(values: &[i32]) -> Vec<u8> {
    let mut bytes = typed(9, &5_u32.to_le_bytes());
    bytes.extend((values.len() as u64).to_le_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

impl Builder {
    /// Replaces or adds a metadata entry.
    pub(crate) fn set(&mut self, key: &str, value: Vec<u8>) {
        self.metadata.retain(|(existing, _)| existing != key);
        self.metadata.push((key.to_owned(), value));
    }

    pub(crate) fn add(&mut self, name: &str, sizes: &[u64], code: u32, bytes: Vec<u8>) {
        self.tensors.push(Tensor { name: name.to_owned(), sizes: sizes.to_vec(), code, bytes });
    }

    /// An F32 tensor whose elements are `first`, `first + 1`, …
    pub(crate) fn add_ramp(&mut self, name: &str, sizes: &[u64], first: u16) {
        let elements = u16::try_from(sizes.iter().product::<u64>()).expect("a tiny tensor");
        let elements = (first..first + elements).flat_map(|n| f32::from(n).to_le_bytes());
        self.add(name, sizes, 0, elements.collect());
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            file.extend(text(key));
            file.extend(value);
        }
        let mut offset = 0_u64;
        for tensor in &self.tensors {
            file.extend(text(&tensor.name));
            file.extend(u32::try_from(tensor.sizes.len()).expect("few").to_le_bytes());
            file.extend(tensor.sizes.iter().flat_map(|size| size.to_le_bytes()));
            file.extend(tensor.code.to_le_bytes());
            file.extend(offset.to_le_bytes());
            offset += (tensor.bytes.len() as u64).next_multiple_of(32);
        }
        for tensor in &self.tensors {
            file.resize(file.len().next_multiple_of(32), 0);
            file.extend(&tensor.bytes);
        }
        file
    }
}

/// One block, hidden 8, two heads of width 4 with one key-value head, vocabulary of 4.
pub(crate) fn tiny_model(architecture: &str) -> Builder {
    let mut model = Builder { metadata: Vec::new(), tensors: Vec::new() };
    let pre = if architecture == "llama" { "smollm" } else { "qwen2" };
    model.set("general.architecture", string(architecture));
    for (key, value) in [
        ("block_count", 1),
        ("context_length", 64),
        ("embedding_length", 8),
        ("feed_forward_length", 6),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
    ] {
        model.set(&format!("{architecture}.{key}"), count(value));
    }
    model.set(&format!("{architecture}.attention.layer_norm_rms_epsilon"), float(1e-6));
    model.set(&format!("{architecture}.rope.freq_base"), float(1e5));
    model.set("tokenizer.ggml.model", string("gpt2"));
    model.set("tokenizer.ggml.pre", string(pre));
    model.set("tokenizer.ggml.tokens", strings(&["a", "b", "ab", "<|im_end|>"]));
    model.set("tokenizer.ggml.token_type", integers(&[1, 1, 1, 3]));
    model.set("tokenizer.ggml.merges", strings(&["a b"]));
    model.set("tokenizer.ggml.eos_token_id", count(3));
    model.set("tokenizer.chat_template", string("{{ messages }}"));
    model.add_ramp("token_embd.weight", &[8, 4], 0);
    model.add_ramp("blk.0.attn_q.weight", &[8, 8], 0);
    model.add_ramp("blk.0.attn_k.weight", &[8, 4], 0);
    model.add_ramp("blk.0.attn_v.weight", &[8, 4], 0);
    model.add_ramp("blk.0.attn_output.weight", &[8, 8], 0);
    model.add_ramp("blk.0.ffn_gate.weight", &[8, 6], 0);
    model.add_ramp("blk.0.ffn_up.weight", &[8, 6], 0);
    model.add_ramp("blk.0.ffn_down.weight", &[6, 8], 0);
    model.add_ramp("blk.0.attn_norm.weight", &[8], 0);
    model.add_ramp("blk.0.ffn_norm.weight", &[8], 0);
    model.add_ramp("output_norm.weight", &[8], 0);
    if architecture == "qwen2" {
        model.add_ramp("blk.0.attn_q.bias", &[8], 0);
        model.add_ramp("blk.0.attn_k.bias", &[4], 0);
        model.add_ramp("blk.0.attn_v.bias", &[4], 0);
    }
    if architecture == "qwen3" {
        model.set("qwen3.attention.key_length", count(4));
        model.add_ramp("blk.0.attn_q_norm.weight", &[4], 1);
        model.add_ramp("blk.0.attn_k_norm.weight", &[4], 5);
    }
    model
}
