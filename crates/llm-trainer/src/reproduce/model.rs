//! The models of a study.

/// A model of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Name, by its number of parameters.
    pub name: &'static str,
    /// Width, width of the feed-forward layer, and blocks.
    pub sizes: [i64; 3],
    /// Learning rate of its runs: that of the demo, divided by how many times as wide the model is.
    pub learning_rate: f64,
}

/// The models, smallest first. Every method runs on the first, those of [`Role::Main`](run_report::study::method::Role::Main) on the second, GRPO on all.
pub const MODELS: [Model; 3] = [
    Model { name: "0.1M", sizes: [64, 160, 2], learning_rate: 3e-4 },
    Model { name: "0.3M", sizes: [96, 256, 3], learning_rate: 2e-4 },
    Model { name: "0.8M", sizes: [128, 352, 4], learning_rate: 1.5e-4 },
];
