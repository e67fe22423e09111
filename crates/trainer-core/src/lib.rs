//! The half of the trainer that needs no libtorch: configuration, data, prompts, metrics, manifests, reports.
