use model_files::model_config::{Architecture, ExpertOptions, ModelConfig, ModelShape};
use serde::Serialize;
use training_run::config::{LoraSection, LoraTarget};

/// Widths and counts of one model, in parameters or elements, not bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelSizes {
    /// Name of the model.
    pub name: String,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward layer; of experts, of those together that a token goes to.
    pub intermediate: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Width of all query heads together.
    pub query_width: usize,
    /// Width of all key heads together; the values have the same.
    pub key_width: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Its configuration, for what the other fields leave out.
    #[serde(skip)]
    pub config: ModelConfig,
    /// True if the head is the embedding.
    pub tied: bool,
    /// Parameters of one block.
    pub block_parameters: usize,
    /// Weights of one block that a token is multiplied with: all but norms, biases and idle experts.
    pub block_matrix_parameters: usize,
    /// Parameters outside of blocks: embedding, untied head and last norm.
    pub outer_parameters: usize,
}

impl ModelSizes {
    /// Computes the sizes of a model.
    pub fn of(name: &str, config: &ModelConfig) -> Self {
        let query_width = config.num_attention_heads * config.head_dim;
        let key_width = config.num_key_value_heads * config.head_dim;
        let attention = config.hidden_size * (2 * query_width + 2 * key_width);
        let intermediate = config.active_intermediate_size();
        let routers =
            config.blocks_with_experts().map_or(0, |(experts, blocks)| blocks * experts.count);
        let block_matrix_parameters = attention
            + config.hidden_size * (3 * intermediate + routers / config.num_hidden_layers);
        let tables = if config.tie_word_embeddings { 1 } else { 2 };
        let outer_parameters = tables * config.vocab_size * config.hidden_size + config.hidden_size;
        let block_parameters =
            (config.parameter_count() - outer_parameters) / config.num_hidden_layers;
        Self {
            name: name.to_owned(),
            vocabulary: config.vocab_size,
            hidden: config.hidden_size,
            intermediate,
            blocks: config.num_hidden_layers,
            query_width,
            key_width,
            head_dim: config.head_dim,
            config: config.clone(),
            tied: config.tie_word_embeddings,
            block_parameters,
            block_matrix_parameters,
            outer_parameters,
        }
    }

    /// All parameters, a tied head counted once.
    pub fn parameters(&self) -> usize {
        self.blocks * self.block_parameters + self.outer_parameters
    }

    /// Weights of the head, which are the embedding's where it is tied.
    pub fn head_parameters(&self) -> usize {
        self.vocabulary * self.hidden
    }

    /// Weights in matrix products of one predicted token: the blocks' and the head's.
    pub fn matrix_parameters(&self) -> usize {
        self.blocks * self.block_matrix_parameters + self.head_parameters()
    }

    /// Weights of one predicted token that `rows` tokens read in a step, as a mean over equally likely experts: those of
    /// [`matrix_parameters`](Self::matrix_parameters), and of the experts that other rows go to.
    pub(super) fn read_parameters(&self, rows: f64) -> f64 {
        let idle = self.config.experts.as_ref().map_or(0.0, |experts| {
            let [count, per_token] = [experts.count, experts.per_token].map(|count| count as f64);
            let touched = count * (1.0 - (1.0 - per_token / count).powf(rows));
            self.blocks as f64
                * (touched / per_token - 1.0)
                * (3 * self.hidden * self.intermediate) as f64
        });
        self.matrix_parameters() as f64 + idle
    }

    /// Parameters that compute one token, of which the others are idle experts.
    pub(super) fn active_parameters(&self) -> usize {
        let idle = self.config.experts.as_ref().map_or(0, |experts| {
            let all = 3 * self.hidden * self.intermediate * (experts.count - experts.per_token);
            self.blocks * all / experts.per_token
        });
        self.parameters() - idle
    }

    /// Copies of a token's vector that its experts take; 0 without experts.
    pub(super) fn routed_copies(&self) -> usize {
        self.config.experts.as_ref().map_or(0, |experts| experts.per_token)
    }

    /// Elements of the KV cache for one token, in all blocks.
    pub fn cached_elements_per_token(&self) -> usize {
        2 * self.blocks * self.key_width
    }

    /// Twice the tokens that a token of a sequence of `length` tokens attends to on average, summed over the blocks: the sequence's
    /// length, or `w (2 - w / length)` under a shorter window of `w` tokens.
    pub(super) fn attended_tokens(&self, length: f64) -> f64 {
        let of_block =
            |index| match self.config.attention.window_of(index).map(|window| window as f64) {
                Some(window) if window < length => window * (2.0 - window / length),
                _ => length,
            };
        (0..self.blocks).map(of_block).sum()
    }

    /// Parameters of an adapter in every block: `rank · (inputs + outputs)` for each target.
    pub(super) fn adapter_parameters(&self, lora: &LoraSection) -> usize {
        let (replicated, cut) = self.adapter_factors(lora, (1, 1));
        replicated + cut
    }

    /// Adapter parameters on one of `tensor` tensor-parallel ranks, with keys and values in `key_shards` shards: of the factors that
    /// every rank has whole, and of the rank's shards of the others.
    pub(super) fn adapter_factors(
        &self,
        lora: &LoraSection,
        (tensor, key_shards): (usize, usize),
    ) -> (usize, usize) {
        // One of inputs and outputs is the residual stream, which is not sharded.
        let width = |target: &LoraTarget| match target {
            LoraTarget::QProj | LoraTarget::OProj => self.query_width.div_ceil(tensor),
            LoraTarget::KProj | LoraTarget::VProj => self.key_width.div_ceil(key_shards),
            LoraTarget::GateProj | LoraTarget::UpProj | LoraTarget::DownProj => {
                self.intermediate.div_ceil(tensor)
            }
        };
        let of_all = |count: usize| self.blocks * lora.rank * count;
        let cut: usize = lora.targets.iter().map(width).sum();
        (of_all(lora.targets.len() * self.hidden), of_all(cut))
    }
}

/// Shapes that can be planned without their files: name, architecture, then hidden, intermediate, blocks, query heads, key heads,
/// vocabulary, tied. Source: `config.json` of `Qwen/Qwen2.5-{0.5B,…,72B}` and `Qwen/Qwen3-{0.6B,…,30B-A3B}` on Hugging Face.
type Row = (&'static str, Architecture, usize, usize, usize, usize, usize, usize, bool);

/// Known shapes.
pub const MODEL_PRESETS: [Row; 14] = {
    use Architecture::{Qwen2, Qwen3, Qwen3Moe};
    [
        ("0.5b", Qwen2, 896, 4864, 24, 14, 2, 151_936, true),
        ("1.5b", Qwen2, 1536, 8960, 28, 12, 2, 151_936, true),
        ("3b", Qwen2, 2048, 11_008, 36, 16, 2, 151_936, true),
        ("7b", Qwen2, 3584, 18_944, 28, 28, 4, 152_064, false),
        ("14b", Qwen2, 5120, 13_824, 48, 40, 8, 152_064, false),
        ("32b", Qwen2, 5120, 27_648, 64, 40, 8, 152_064, false),
        ("72b", Qwen2, 8192, 29_568, 80, 64, 8, 152_064, false),
        ("qwen3-0.6b", Qwen3, 1024, 3072, 28, 16, 8, 151_936, true),
        ("qwen3-1.7b", Qwen3, 2048, 6144, 28, 16, 8, 151_936, true),
        ("qwen3-4b", Qwen3, 2560, 9728, 36, 32, 8, 151_936, true),
        ("qwen3-8b", Qwen3, 4096, 12_288, 36, 32, 8, 151_936, false),
        ("qwen3-14b", Qwen3, 5120, 17_408, 40, 40, 8, 151_936, false),
        ("qwen3-32b", Qwen3, 5120, 25_600, 64, 64, 8, 151_936, false),
        ("qwen3-30b-a3b", Qwen3Moe, 2048, 6144, 48, 32, 4, 151_936, false),
    ]
};

/// Experts of Qwen3-30B-A3B.
const EXPERTS: ExpertOptions = ExpertOptions {
    count: 128,
    per_token: 8,
    intermediate_size: 768,
    normalised: true,
    block_step: 1,
    dense_blocks: Vec::new(),
};

/// The shape of that name in [`MODEL_PRESETS`]: a size of Qwen2.5, such as `7b`, or a model of Qwen3, such as `qwen3-0.6b`; `None` for
/// another name.
///
/// # Panics
///
/// Never: every row is tested to be a valid shape.
pub fn preset_model(name: &str) -> Option<ModelConfig> {
    let wanted = name.to_ascii_lowercase();
    let (_, architecture, hidden, intermediate, blocks, heads, key_heads, vocabulary, tied) =
        MODEL_PRESETS.into_iter().find(|row| row.0 == wanted)?;
    let is_qwen2 = architecture == Architecture::Qwen2;
    let config = ModelConfig::new(ModelShape {
        architecture,
        hidden_size: hidden,
        intermediate_size: intermediate,
        num_hidden_layers: blocks,
        num_attention_heads: heads,
        num_key_value_heads: key_heads,
        head_dim: if is_qwen2 { hidden / heads } else { 128 },
        rms_norm_eps: 1e-6,
        rope_theta: 1e6,
        rope_scaling: None,
        vocab_size: vocabulary,
        max_position_embeddings: if is_qwen2 { 32_768 } else { 40_960 },
        tie_word_embeddings: tied,
        attention: architecture.attention(),
        experts: (architecture == Architecture::Qwen3Moe).then_some(EXPERTS),
        initializer_range: 0.02,
        bos_token_id: None,
        eos_token_ids: vec![if is_qwen2 { 151_643 } else { 151_645 }],
        pad_token_id: None,
    });
    Some(config.expect("every row of the table is tested"))
}

#[cfg(test)]
mod tests {
    use model_files::model_config::SlidingWindow;

    use super::*;

    /// Number of parameters as Hugging Face counts the published weights; files of Qwen3 that hold a tied head once more are larger by it.
    #[test]
    fn presets_have_the_parameters_of_the_published_models() {
        let head = |hidden: usize| 151_936 * hidden;
        let published: [usize; 14] = [
            494_032_768,
            1_543_714_304,
            3_085_938_688,
            7_615_616_512,
            14_770_033_664,
            32_763_876_352,
            72_706_203_648,
            751_632_384 - head(1024),
            2_031_739_904 - head(2048),
            4_022_468_096,
            8_190_735_360,
            14_768_307_200,
            32_762_123_264,
            30_532_122_624,
        ];
        for (row, published) in MODEL_PRESETS.iter().zip(published) {
            let config = preset_model(row.0).unwrap();
            let sizes = ModelSizes::of(row.0, &config);
            assert_eq!(sizes.parameters(), published, "{}", row.0);
            assert_eq!(config.parameter_count(), published);
        }
        assert_eq!(preset_model("9b"), None);
    }

    /// The model card: 30.5B parameters, 3.3B of them active, the embedding among them. A token is multiplied with all of these but the
    /// embedding and the norms.
    #[test]
    fn a_token_of_qwen3_30b_a3b_is_multiplied_with_a_tenth_of_it() {
        let sizes = ModelSizes::of("30b-a3b", &preset_model("Qwen3-30B-A3B").unwrap());
        assert_eq!(sizes.active_parameters(), 3_353_032_704);
        // 48 · (2048 · (2 · 4096 + 2 · 512 + 128) + 3 · 2048 · 768 · 8) + 151936 · 2048
        assert_eq!(sizes.matrix_parameters(), 3_041_656_832);
    }

    /// A model of two experts of four: one row reads two, many rows read all.
    #[test]
    fn rows_share_the_experts_that_they_read() {
        let config = preset_model("0.5b").unwrap();
        let mut shape = (*config).clone();
        let (count, per_token, intermediate_size) = (4, 2, 100);
        shape.experts = Some(ExpertOptions { count, per_token, intermediate_size, ..EXPERTS });
        let config = ModelConfig::new(shape).unwrap();
        let sizes = ModelSizes::of("experts", &config);
        assert_eq!(sizes.parameters(), config.parameter_count());
        assert_eq!(sizes.active_parameters(), config.parameter_count() - 24 * 2 * 3 * 896 * 100);
        let matrices = sizes.matrix_parameters() as f64;
        let two = f64::from(24 * 3 * 896 * 2 * 100);
        let read = [1.0, 2.0, 1e3].map(|rows| (sizes.read_parameters(rows) - matrices) / two);
        for (read, exact) in read.into_iter().zip([0.0, 0.5, 1.0]) {
            assert!((read - exact).abs() < 1e-12, "{read} {exact}");
        }
    }

    /// Token `t` of a sequence sees the last `min(t, window)` tokens; the window is that of all blocks but the first three.
    #[test]
    fn a_window_bounds_what_a_token_attends_to() {
        let config = preset_model("0.5b").unwrap();
        let sizes = ModelSizes::of("0.5b", &config);
        assert_eq!(sizes.attended_tokens(1000.0).to_bits(), 24_000_f64.to_bits());
        let mut shape = (*config).clone();
        shape.attention.sliding_window = Some(SlidingWindow::from_block(3, 100));
        let sizes = ModelSizes::of("0.5b", &ModelConfig::new(shape).unwrap());
        let pairs = |window: u32| (1..=1000).map(|t| f64::from(window.min(t))).sum::<f64>() / 500.0;
        let exact = 3.0 * pairs(1000) + 21.0 * pairs(100);
        assert!((sizes.attended_tokens(1000.0) / exact - 1.0).abs() < 1e-3);
        assert_eq!(sizes.attended_tokens(100.0).to_bits(), 2400_f64.to_bits());
    }
}
