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
    fn with_experts(
        expert: usize,
        [heads, key_heads, width, vocabulary]: [usize; 4],
    ) -> ModelConfig {
        let object = json!({
            "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64, "head_dim": 2, "num_hidden_layers": 1,
            "num_attention_heads": heads, "num_key_value_heads": key_heads, "intermediate_size": width,
            "vocab_size": vocabulary, "max_position_embeddings": 512, "moe_intermediate_size": expert,
        });
        ModelConfig::parse(&object.to_string(), Path::new("m/config.json")).unwrap()
    }

    /// Counts of a Qwen2.5 model. No number of shards is refused by the width of its experts.
    fn qwen(
        query_heads: usize,
        key_heads: usize,
        intermediate: usize,
        vocabulary: usize,
    ) -> ModelConfig {
        with_experts(intermediate, [query_heads, key_heads, intermediate, vocabulary])
    }

    /// 18944 = 2⁹ · 37: seven shards divide the heads but not the feed-forward layer.
    #[test]
    fn the_published_models_can_be_split_in_few_ways() {
        assert_eq!(qwen(28, 4, 18_944, 152_064).possible_shards(), [1, 2, 4], "7B");
        assert_eq!(qwen(40, 8, 27_648, 152_064).possible_shards(), [1, 2, 4, 8], "32B");
        assert_eq!(qwen(16, 2, 11_008, 151_936).possible_shards(), [1, 2, 4, 8, 16], "3B");
        assert_eq!(qwen(14, 2, 4864, 151_936).possible_shards(), [1, 2], "0.5B");
    }

    #[test]
    fn a_number_of_shards_that_does_not_divide_is_named_with_those_that_do() {
        let refused =
            |shards: usize| qwen(28, 4, 18_944, 152_064).check_shards(shards).unwrap_err();
        assert_eq!(
            refused(8).to_string(),
            "`num_attention_heads` is 28, expected a multiple of parallel.tensor = 8; this model can be split into 1, 2 or 4"
        );
        assert_eq!(
            refused(7).to_string(),
            "`intermediate_size` is 18944, expected a multiple of parallel.tensor = 7; this model can be split into 1, 2 or 4"
        );
        let keys = qwen(12, 2, 12, 12).check_shards(3).unwrap_err();
        assert_eq!(
            keys.to_string(),
            "`num_key_value_heads` is 2, expected a multiple or a divisor of parallel.tensor = 3; this model can be split into 1, 2, 4, \
             6 or 12"
        );
        let experts = with_experts(6, [12, 4, 24, 24]);
        assert_eq!(experts.possible_shards(), [1, 2], "a width of six");
        assert!(
            experts
                .check_shards(4)
                .unwrap_err()
                .to_string()
                .starts_with("`moe_intermediate_size` is 6")
        );
        assert!(refused(0).to_string().contains("parallel.tensor = 0"));
        assert!(
            qwen(5, 1, 7, 11)
                .check_shards(5)
                .unwrap_err()
                .to_string()
                .ends_with("can be split into 1")
        );
    }
}
