//! The sampling mask of a response: the tokens that each of its tokens was drawn from.

use serde::{Deserialize, Serialize};

/// For each token of a response the ids it was drawn from, ascending; an empty list stands for the full vocabulary.
///
/// `top_k`, `top_p` and `min_p` restrict sampling to a part of the vocabulary. The sampling policy is then the softmax over
/// that part, and so is its log-probability:
///
/// ```text
/// log π(y) = z_y / T - ln Σ_{k ∈ mask} exp(z_k / T)
/// ```
///
/// A training pass over the full vocabulary would see every ratio below 1 before the first update. So the mask is stored with
/// the response, and every log-probability of its tokens, current, old and reference, is normalised over it.
///
/// Source: "Keep Sampling Mask" of DeepSeek-V3.2, arXiv:2512.02556, Sec. 3.1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Vec<u32>>", into = "Vec<Vec<u32>>")]
pub struct SamplingMask {
    ids: Vec<u32>,
    /// End of each token's list in `ids`.
    ends: Vec<usize>,
}

impl SamplingMask {
    /// Appends the list of the next token.
    pub fn push(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
        self.ends.push(self.ids.len());
    }

    /// Number of tokens that have a list.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if no token has a list.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Iterates over the lists, token by token.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|token| self.of(token))
    }

    /// Returns the list of one token.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn of(&self, token: usize) -> &[u32] {
        let start = token.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start..self.ends[token]]
    }

    /// Returns the fault of these lists for `response` of a model with `vocab_size` tokens, or `None`.
    pub fn fault(&self, response: &[u32], vocab_size: usize) -> Option<String> {
        if self.len() != response.len() {
            let (lists, tokens) = (self.len(), response.len());
            return Some(format!("{lists} lists of kept tokens for {tokens} tokens"));
        }
        for (position, (token, mask)) in response.iter().zip(self.iter()).enumerate() {
            let ascending = mask.windows(2).all(|pair| pair[0] < pair[1]);
            let known = mask.last().is_none_or(|&last| (last as usize) < vocab_size);
            if !ascending || !known {
                return Some(format!(
                    "the kept tokens of token {position} are not ascending ids below {vocab_size}"
                ));
            }
            if !mask.is_empty() && mask.binary_search(token).is_err() {
                return Some(format!("token {position}, {token}, is none of those kept for it"));
            }
        }
        None
    }
}

impl From<Vec<Vec<u32>>> for SamplingMask {
    fn from(lists: Vec<Vec<u32>>) -> Self {
        let mut mask = Self::default();
        for list in &lists {
            mask.push(list);
        }
        mask
    }
}

impl From<SamplingMask> for Vec<Vec<u32>> {
    fn from(mask: SamplingMask) -> Self {
        mask.iter().map(<[u32]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_token_by_token() {
        let lists = vec![vec![3, 9], vec![], vec![1]];
        let mask = SamplingMask::from(lists.clone());
        assert_eq!(mask.len(), 3);
        assert_eq!((mask.of(0), mask.of(1), mask.of(2)), (&[3, 9][..], &[][..], &[1][..]));
        assert_eq!(Vec::from(mask), lists);
    }

    #[test]
    fn lists_that_do_not_fit_their_response_are_named() {
        let mask = SamplingMask::from(vec![vec![3, 9], vec![]]);
        assert_eq!(mask.fault(&[9, 4], 10), None);
        assert_eq!(mask.fault(&[9], 10).unwrap(), "2 lists of kept tokens for 1 tokens");
        assert_eq!(mask.fault(&[4, 4], 10).unwrap(), "token 0, 4, is none of those kept for it");
        assert!(mask.fault(&[9, 4], 9).unwrap().contains("below 9"));
        assert!(
            SamplingMask::from(vec![vec![9, 3]]).fault(&[3], 10).unwrap().contains("ascending")
        );
    }
}
