use model_files::chat_template::Message;
use serde::{Deserialize, Serialize};

/// A question with its known answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Name of the row; unique within its source if the `id` in the file is.
    pub id: String,
    /// Last user turn.
    pub problem: String,
    /// The ground truth.
    pub answer: String,
    /// Name of the data set, used in metric names.
    pub source: String,
    /// Turns before the last user turn, for rows that are conversations; mostly empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Message>,
}

impl Question {
    /// Returns all turns except the system's, one a line.
    pub fn text(&self) -> String {
        let turns = self.context.iter().filter(|turn| turn.role != "system");
        let mut text: String = turns.flat_map(|turn| [turn.content.as_str(), "\n"]).collect();
        text.push_str(&self.problem);
        text
    }
}
