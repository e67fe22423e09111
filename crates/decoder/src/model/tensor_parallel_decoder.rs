//! A decoder that may be split over tensor-parallel ranks, see [`TensorGroup`].

use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;

use model_files::model_config::ModelConfig;
use sha2::{Digest, Sha256};
use tch::{Device, Kind, Tensor};
use torch_ext::size;

use super::adapter_config::base_of;
use super::block_gradients::block_of;
use super::decoder::{Decoder, EMBEDDING, HEAD};
use super::error::DecoderError;
use super::placement::Placement;
use super::shape::{numbers, place};
use super::sharded_blocks::OpenBlocks;
use super::weights::WeightFiles;
use crate::bf16_matmul::matmul;
use crate::head::Head;
use ranks::{RankError, Ranks};

/// A model with all of its parameters, for the guard's lifetime.
#[derive(Debug)]
pub struct FullModel<'a> {
    model: &'a Decoder,
    /// The model gathered from tensor-parallel ranks.
    gathered: Option<Decoder>,
    _open: OpenBlocks<'a>,
}

impl Deref for FullModel<'_> {
    type Target = Decoder;

    fn deref(&self) -> &Decoder {
        self.gathered.as_ref().unwrap_or(self.model)
    }
}

impl Decoder {
    /// Loads as [`load`](Self::load) does; this process keeps its shard of every large matrix, the other ranks of the group theirs.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load); also if the model cannot be split over so many ranks.
    pub fn load_sharded(
        directory: &Path,
        device: Device,
        kind: Kind,
        ranks: &Ranks,
    ) -> Result<Self, DecoderError> {
        if let Some(base) = base_of(directory)? {
            let mut decoder = Self::load_sharded(&base, device, kind, ranks)?;
            decoder.load_adapter(directory)?;
            return Ok(decoder);
        }
        let config = ModelConfig::read(&directory.join("config.json"))?;
        let placement = Placement::split_over(ranks, &config)?;
        let files = WeightFiles::open(directory)?;
        let mut wanted = Vec::new();
        let mut decoder = Self::assemble(config, device, kind, |name, shape| {
            wanted.push(name.to_owned());
            let local = |full| place(&placement.local(name, full), device, kind);
            files.tensor(name, shape, kind).map(local)
        })?;
        files.check_nothing_else(&wanted)?;
        decoder.source = Some(directory.canonicalize().unwrap_or_else(|_| directory.to_owned()));
        decoder.placement = placement;
        Ok(decoder)
    }

    /// Gathers the full model; all ranks must call it. Only those with `keeps` may read the result: the others may hold empty tensors.
    ///
    /// From tensor-parallel ranks it is gathered on the CPU. For a model with an adapter, only the adapter is; the base tensors are then
    /// empty.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank does not take part.
    pub fn full(&self, keeps: bool) -> Result<FullModel<'_>, RankError> {
        let open = self.open_blocks();
        self.check_blocks()?;
        let is_split = self.placement.group.is_some();
        let gathered = is_split.then(|| self.gather(keeps)).transpose()?;
        Ok(FullModel { model: self, gathered, _open: open })
    }

    fn gather(&self, keeps: bool) -> Result<Self, RankError> {
        let _no_grad = tch::no_grad_guard();
        let shards: HashMap<String, &Tensor> = self.trained_parameters().into_iter().collect();
        let nothing = || Tensor::zeros([0], (self.kind(), Device::Cpu));
        let gathered_or_empty = |name: &str, shard: &Tensor| {
            let full = self.placement.full(name, shard);
            if keeps { place(&full, Device::Cpu, self.kind()) } else { nothing() }
        };
        let config = self.config().clone();
        let mut gathered = Self::assemble_made(config, Device::Cpu, self.kind(), |name, _| {
            shards.get(name).map_or_else(nothing, |shard| gathered_or_empty(name, shard))
        });
        gathered.take_adapter(self, gathered_or_empty);
        self.check_blocks()?;
        gathered.source.clone_from(&self.source);
        Ok(gathered)
    }

    /// Index of the communication unit of a parameter, by its name: a block by its number, then the embedding, then an untied
    /// head. `None` for small parameters.
    pub fn unit_of(&self, name: &str) -> Option<usize> {
        block_of(name).or(match name {
            EMBEDDING => Some(self.embedding_unit()),
            HEAD => Some(self.block_count() + 1),
            _ => None,
        })
    }

    /// Communication unit of the embedding.
    pub(crate) fn embedding_unit(&self) -> usize {
        self.block_count()
    }

    /// Communication unit of the head, which may be the embedding.
    pub(crate) fn head_unit(&self) -> usize {
        self.block_count() + usize::from(!self.config().tie_word_embeddings)
    }

    /// Number of vocabulary rows on this rank.
    fn local_tokens(&self) -> i64 {
        let parts = self.placement.group.as_ref().map_or(1, |group| group.count());
        size(self.config().vocab_size) / parts
    }

    /// Fingerprint of the trained parameters: SHA-256 over up to 64 numbers of each, evenly spaced. An update changes
    /// it. All tensor-parallel ranks must call it, as split parameters are gathered.
    ///
    /// # Panics
    ///
    /// If memory runs out.
    pub fn fingerprint(&self) -> String {
        self.fingerprint_of(|name, local| self.placement.full(name, local))
    }

    /// Checks that `ranks` have copies of the same trained parameters, by a fingerprint of them. Shards of blocks, which differ
    /// everywhere, are not looked at.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank has other values or does not answer.
    pub fn check_copies(&self, what: &'static str, ranks: &Ranks) -> Result<(), RankError> {
        if ranks.count() == 1 || self.placement.blocks.is_some() {
            return Ok(());
        }
        ranks.same(what, &self.fingerprint_of(|_, local| local.shallow_clone()))
    }

    fn fingerprint_of(&self, whole: impl Fn(&str, &Tensor) -> Tensor) -> String {
        const LOOKED_AT: i64 = 64;
        let mut hash = Sha256::new();
        for (name, parameter) in self.trained_parameters() {
            let flat = whole(&name, &parameter.detach()).reshape(-1);
            let stride = (flat.size()[0] / LOOKED_AT).max(1);
            hash.update(name);
            for number in numbers::<f64>(&flat.slice(0, 0, flat.size()[0], stride)) {
                hash.update(number.to_le_bytes());
            }
        }
        format!("{:x}", hash.finalize())
    }

    /// Embedding vectors of the tokens in this rank's vocabulary shard, 0 for others, `[rows, len, hidden]`.
    pub(crate) fn embed_local(&self, token_ids: &Tensor) -> Tensor {
        // As transformers: looking up the padding token teaches its row nothing; -1 is none.
        let padding = self.config().pad_token_id.map_or(-1, i64::from);
        let Some(group) = &self.placement.group else {
            return Tensor::embedding(&self.embedding, token_ids, padding, false, false);
        };
        let tokens = self.local_tokens();
        let (ids, here) = group.local_ids(token_ids, tokens);
        let padding = padding - group.index() * tokens;
        let padding = if (0..tokens).contains(&padding) { padding } else { -1 };
        let rows = Tensor::embedding(&self.embedding, &ids, padding, false, false);
        rows * here.unsqueeze(-1).to_kind(self.kind())
    }

    /// Factor of the embedding vectors, rounded to the model's kind as transformers does; `None` for 1.
    pub(super) fn embedding_scale(&self) -> Option<f64> {
        let scale = || Tensor::from((self.config().hidden_size as f64).sqrt()).to_kind(self.kind());
        let is_scaled = self.config().architecture.block().scaled_embedding;
        is_scaled.then(|| scale().double_value(&[]))
    }

    /// Embedding rows that the tokens `ids`, i64 `[tokens]`, train: their indices within `ids`, and the rows. `None` if every id
    /// trains its own row.
    pub(crate) fn taught_rows(&self, ids: &Tensor) -> Option<(Tensor, Tensor)> {
        let padding = self.config().pad_token_id.map(|padding| ids.not_equal(i64::from(padding)));
        let local_ids =
            self.placement.group.as_ref().map(|group| group.local_ids(ids, self.local_tokens()));
        let (rows, taught) = match (local_ids, padding) {
            (None, None) => return None,
            (None, Some(taught)) => (ids.shallow_clone(), taught),
            (Some((rows, here)), None) => (rows, here),
            (Some((rows, here)), Some(taught)) => (rows, here.logical_and(&taught)),
        };
        let places = taught.nonzero().squeeze_dim(1);
        Some((places.shallow_clone(), rows.index_select(0, &places)))
    }

    /// The head, possibly a vocabulary shard.
    pub fn full_head(&self) -> Head<'_> {
        Head { weight: self.head(), group: self.placement.group.as_deref() }
    }

    /// Logits of final-normed hidden states, `[.., hidden]`, over the full vocabulary, without a graph, by a head of this model's
    /// shape, such as that of an earlier step; for a shard, by that of the same tokens.
    pub fn logits_with(&self, hidden: &Tensor, head: &Tensor) -> Tensor {
        let logits = matmul(hidden, &head.tr());
        match &self.placement.group {
            None => logits,
            Some(group) => group.gather_columns(&logits),
        }
    }

    /// Numbers of query heads and of key-value heads on this rank.
    pub(crate) fn local_heads(&self) -> [i64; 2] {
        let config = self.config();
        let [all, shared] = [config.num_attention_heads, config.num_key_value_heads].map(size);
        match &self.placement.group {
            None => [all, shared],
            Some(group) => [all / group.count(), shared / size(group.key_value_shards())],
        }
    }
}
