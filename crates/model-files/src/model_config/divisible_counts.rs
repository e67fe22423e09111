//! Numbers of equal tensor-parallel shards that a model can be split into.

use thiserror::Error;

use super::ModelShape;

/// The model cannot be split over a number of ranks: the field that does not divide, and the numbers that are possible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NotDivisibleError(String);

impl ModelShape {
    /// Checks that the model can be split into `shards` shards, at least 1.
    ///
    /// # Errors
    ///
    /// [`NotDivisibleError`] names the first count that cannot be divided, and the possible numbers of shards.
    pub fn check_shards(&self, shards: usize) -> Result<(), NotDivisibleError> {
        let Some((field, value, expected)) = self.obstacle(shards) else { return Ok(()) };
        let possible = list(&self.possible_shards());
        Err(NotDivisibleError(format!(
            "`{field}` is {value}, expected {expected} of parallel.tensor = {shards}; this model can be split into {possible}"
        )))
    }

    /// Returns all possible numbers of shards, ascending.
    fn possible_shards(&self) -> Vec<usize> {
        (1..=self.num_attention_heads).filter(|&shards| self.obstacle(shards).is_none()).collect()
    }

    fn obstacle(&self, shards: usize) -> Option<(&'static str, usize, &'static str)> {
        let counts = [
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("vocab_size", self.vocab_size),
            // A width of 0 is divided by all.
            (
                "moe_intermediate_size",
                self.experts.as_ref().map_or(0, |experts| experts.intermediate_size),
            ),
        ];
        if let Some((field, count)) =
            counts.into_iter().find(|(_, count)| !count.is_multiple_of(shards))
        {
            return Some((field, count, "a multiple"));
        }
        let heads = self.num_key_value_heads;
        // If there are more shards than heads, neighbouring shards hold copies of one head.
        let fits = heads.is_multiple_of(shards) || shards.is_multiple_of(heads);
        (!fits).then_some(("num_key_value_heads", heads, "a multiple or a divisor"))
    }
}

fn list(numbers: &[usize]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "no number of shards".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::model_config::ModelConfig;

    /// A mixture of experts of width `expert`, with its other counts in the words of its `config.json`.
    fn model([heads, key_heads, width, vocabulary, expert]: [usize; 5]) -> ModelConfig {
        let object = json!({
            "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64, "head_dim": 2, "num_hidden_layers": 1,
            "num_attention_heads": heads, "num_key_value_heads": key_heads, "intermediate_size": width,
            "vocab_size": vocabulary, "max_position_embeddings": 512, "moe_intermediate_size": expert,
        });
        ModelConfig::parse(&object.to_string(), Path::new("m/config.json")).unwrap()
    }

    const QWEN_7B: [usize; 5] = [28, 4, 18_944, 152_064, 18_944];
    const MIXTURE: [usize; 5] = [12, 4, 24, 24, 6];

    /// 18944 = 2⁹ · 37: seven shards divide the heads but not the feed-forward layer.
    #[test]
    fn models_can_be_split_in_few_ways() {
        for (counts, possible) in [
            (QWEN_7B, &[1, 2, 4][..]),
            ([40, 8, 27_648, 152_064, 27_648], &[1, 2, 4, 8]),
            ([16, 2, 11_008, 151_936, 11_008], &[1, 2, 4, 8, 16]),
            ([14, 2, 4864, 151_936, 4864], &[1, 2]),
            (MIXTURE, &[1, 2]),
        ] {
            assert_eq!(model(counts).possible_shards(), possible, "{counts:?}");
        }
    }

    #[test]
    fn a_number_of_shards_that_does_not_divide_is_named_with_those_that_do() {
        for (counts, shards, problem, possible) in [
            (QWEN_7B, 8, "`num_attention_heads` is 28, expected a multiple", "1, 2 or 4"),
            (QWEN_7B, 7, "`intermediate_size` is 18944, expected a multiple", "1, 2 or 4"),
            (QWEN_7B, 0, "`num_attention_heads` is 28, expected a multiple", "1, 2 or 4"),
            (
                [12, 2, 12, 12, 12],
                3,
                "`num_key_value_heads` is 2, expected a multiple or a divisor",
                "1, 2, 4, 6 or 12",
            ),
            (MIXTURE, 4, "`moe_intermediate_size` is 6, expected a multiple", "1 or 2"),
            ([5, 1, 7, 11, 7], 5, "`intermediate_size` is 7, expected a multiple", "1"),
        ] {
            let text = model(counts).check_shards(shards).unwrap_err().to_string();
            let rest =
                format!("of parallel.tensor = {shards}; this model can be split into {possible}");
            assert_eq!(text, format!("{problem} {rest}"));
        }
    }
}
