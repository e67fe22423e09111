//! One recorded case: a prediction, a ground truth and the expected verdict.

use std::path::{Path, PathBuf};

use reward_math::{Gold, Options, Side, Verdict};
use serde::Deserialize;

/// A row of a file of cases. A long text is stored as runs, `[[piece, count], …]`.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// `verify`: a response against a ground truth; `marked`: by marks of an answer alone; `extract`: the text to find; else
    /// one answer against another.
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) category: String,
    #[serde(default)]
    prediction: Option<String>,
    #[serde(default)]
    prediction_rle: Vec<(String, usize)>,
    #[serde(default)]
    gold: Option<String>,
    #[serde(default)]
    gold_rle: Vec<(String, usize)>,
    /// The question, where the verifier knows it.
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    pub(crate) expected: serde_json::Value,
    #[serde(default)]
    pub(crate) disputed: bool,
}

impl Case {
    pub(crate) fn prediction(&self) -> String {
        expanded(self.prediction.as_ref(), &self.prediction_rle)
    }

    pub(crate) fn gold(&self) -> String {
        expanded(self.gold.as_ref(), &self.gold_rle)
    }

    /// Returns the verifier's verdict on the pair.
    pub(crate) fn verdict(&self) -> Verdict {
        let prediction = self.prediction();
        let marked = self.kind == "marked";
        let options = if marked { Options::default() } else { Options::lenient() };
        match Gold::parse(&self.gold(), &options) {
            Ok(gold) if marked || self.kind == "verify" => {
                let gold = self.question.iter().fold(gold, |gold, question| gold.asked(question));
                gold.verify(&prediction)
            }
            Ok(gold) => gold.verify_answer(&prediction),
            Err(why) => Verdict::Unparsed { which: Side::GroundTruth, why },
        }
    }
}

fn expanded(plain: Option<&String>, runs: &[(String, usize)]) -> String {
    plain
        .cloned()
        .unwrap_or_else(|| runs.iter().map(|(piece, count)| piece.repeat(*count)).collect())
}

pub(crate) fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("the file of cases can be read");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a case is one JSON object a line"))
        .collect()
}

/// Returns the path of the development set, which is not part of the project; `None` if it is absent.
pub(crate) fn development_set() -> Option<PathBuf> {
    let folder = std::env::var_os("SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    Some(folder.join("mathcases_dev.jsonl")).filter(|path| path.exists())
}
