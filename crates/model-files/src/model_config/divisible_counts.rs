//! Numbers of equal tensor-parallel shards that a model can be split into.

use thiserror::Error;

use super::ModelShape;

/// Counts of a model that tensor-parallel shards divide equally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DivisibleCounts {
    /// Query heads.
    pub query_heads: usize,
    /// Key and value heads; if there are more shards than heads, neighbouring shards hold copies of one head.
    pub key_heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate: usize,
    /// Width of an expert, if some blocks have experts.
    pub expert: Option<usize>,
    /// Size of the vocabulary.
    pub vocabulary: usize,
}

/// The model cannot be split over this number of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{field}` is {found}, expected {expected} of parallel.tensor = {shards}; this model can be split into {}",
    list(.possible)
)]
pub struct NotDivisibleError {
    /// Field of `config.json`.
    pub field: &'static str,
    /// Value of the field.
    pub found: usize,
    /// Relation to the number of tensor-parallel ranks that it must have.
    pub expected: &'static str,
    /// Number of tensor-parallel ranks.
    pub shards: usize,
    /// Numbers of ranks that are possible, ascending.
    pub possible: Vec<usize>,
}

impl ModelShape {
    /// Returns the counts that shards divide.
    pub fn divisible_counts(&self) -> DivisibleCounts {
        DivisibleCounts {
            query_heads: self.num_attention_heads,
            key_heads: self.num_key_value_heads,
            intermediate: self.intermediate_size,
            expert: self.experts.as_ref().map(|experts| experts.intermediate_size),
            vocabulary: self.vocab_size,
        }
    }
}

impl DivisibleCounts {
    /// Checks that the model can be split into `shards` shards, at least 1.
    ///
    /// # Errors
    ///
    /// [`NotDivisibleError`] names the first count that cannot be divided, and the possible numbers of shards.
    pub fn check(&self, shards: usize) -> Result<(), NotDivisibleError> {
        match self.obstacle(shards) {
            None => Ok(()),
            Some((field, found, expected)) => {
                let possible = self.possible();
                Err(NotDivisibleError { field, found, expected, shards, possible })
            }
        }
    }

    /// Returns all possible numbers of shards, ascending.
    pub fn possible(&self) -> Vec<usize> {
        (1..=self.query_heads).filter(|&shards| self.obstacle(shards).is_none()).collect()
    }

    fn obstacle(&self, shards: usize) -> Option<(&'static str, usize, &'static str)> {
        let counts = [
            ("num_attention_heads", self.query_heads),
            ("intermediate_size", self.intermediate),
            ("vocab_size", self.vocabulary),
            // A width of 0 is divided by all.
            ("moe_intermediate_size", self.expert.unwrap_or(0)),
        ];
        if let Some((field, count)) =
            counts.into_iter().find(|(_, count)| !count.is_multiple_of(shards))
        {
            return Some((field, count, "a multiple"));
        }
        let heads = self.key_heads;
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
    use super::*;

    /// Counts of a Qwen2.5 model, in the words of its `config.json`.
    fn qwen(
        query_heads: usize,
        key_heads: usize,
        intermediate: usize,
        vocabulary: usize,
    ) -> DivisibleCounts {
        DivisibleCounts { query_heads, key_heads, intermediate, vocabulary, expert: None }
    }

    /// 18944 = 2⁹ · 37: seven shards divide the heads but not the feed-forward layer.
    #[test]
    fn the_published_models_can_be_split_in_few_ways() {
        assert_eq!(qwen(28, 4, 18_944, 152_064).possible(), [1, 2, 4], "7B");
        assert_eq!(qwen(40, 8, 27_648, 152_064).possible(), [1, 2, 4, 8], "32B");
        assert_eq!(qwen(16, 2, 11_008, 151_936).possible(), [1, 2, 4, 8, 16], "3B");
        assert_eq!(qwen(14, 2, 4864, 151_936).possible(), [1, 2], "0.5B");
    }

    #[test]
    fn a_number_of_shards_that_does_not_divide_is_named_with_those_that_do() {
        let refused = |shards: usize| qwen(28, 4, 18_944, 152_064).check(shards).unwrap_err();
        assert_eq!(
            refused(8).to_string(),
            "`num_attention_heads` is 28, expected a multiple of parallel.tensor = 8; this model can be split into 1, 2 or 4"
        );
        assert_eq!(
            refused(7).to_string(),
            "`intermediate_size` is 18944, expected a multiple of parallel.tensor = 7; this model can be split into 1, 2 or 4"
        );
        let keys = qwen(12, 2, 12, 12).check(3).unwrap_err();
        assert_eq!(
            keys.to_string(),
            "`num_key_value_heads` is 2, expected a multiple or a divisor of parallel.tensor = 3; this model can be split into 1, 2, 4, \
             6 or 12"
        );
        let experts = DivisibleCounts { expert: Some(6), ..qwen(12, 4, 24, 24) };
        assert_eq!(experts.possible(), [1, 2], "a width of six");
        assert!(
            experts.check(4).unwrap_err().to_string().starts_with("`moe_intermediate_size` is 6")
        );
        assert!(refused(0).to_string().contains("parallel.tensor = 0"));
        assert!(
            qwen(5, 1, 7, 11).check(5).unwrap_err().to_string().ends_with("can be split into 1")
        );
    }
}
