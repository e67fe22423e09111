//! The part of TensorBoard's messages that is written here: field numbers of `event.proto` and `summary.proto`.

use prost::{Message, Oneof};

/// First event of every file.
pub(super) const FILE_VERSION: &str = "brain.Event:2";

/// [`SummaryMetadata::data_class`] of numbers, one a step.
pub(super) const SCALAR: i32 = 1;

/// One entry of an event file.
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    pub wall_time: f64,
    /// Training step.
    #[prost(int64, tag = "2")]
    pub step: i64,
    /// What happened.
    #[prost(oneof = "What", tags = "3, 5, 7")]
    pub what: Option<What>,
}

/// What an [`Event`] says.
#[derive(Clone, PartialEq, Oneof)]
pub enum What {
    /// Version of the format: the first event of a file.
    #[prost(string, tag = "3")]
    FileVersion(String),
    /// Values of a step.
    #[prost(message, tag = "5")]
    Summary(Summary),
    /// A process began or ended.
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// A process that writes began, or ended.
#[derive(Clone, PartialEq, Message)]
pub struct SessionLog {
    /// 1 is the start, after which steps from the event's on are void.
    #[prost(int32, tag = "1")]
    pub status: i32,
}

/// Values of one step.
#[derive(Clone, PartialEq, Message)]
pub struct Summary {
    /// The values.
    #[prost(message, repeated, tag = "1")]
    pub value: Vec<Value>,
}

/// One value.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    /// Name of the metric.
    #[prost(string, tag = "1")]
    pub tag: String,
    /// The number or the numbers.
    #[prost(oneof = "ValueKind", tags = "2, 5")]
    pub kind: Option<ValueKind>,
    /// What the metric is; with its first value.
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<SummaryMetadata>,
}

/// A number, or how many there are of which size.
#[derive(Clone, PartialEq, Oneof)]
pub enum ValueKind {
    /// A number, to single precision: the format has no more.
    #[prost(float, tag = "2")]
    SimpleValue(f32),
    /// Numbers in buckets.
    #[prost(message, tag = "5")]
    Histogram(HistogramProto),
}

/// What a metric is.
#[derive(Clone, PartialEq, Message)]
pub struct SummaryMetadata {
    /// What draws the metric.
    #[prost(message, optional, tag = "1")]
    pub plugin_data: Option<PluginData>,
    /// Shown beside the chart.
    #[prost(string, tag = "3")]
    pub summary_description: String,
    /// Kind of the values; without it TensorBoard's fast reader drops the description.
    #[prost(int32, tag = "4")]
    pub data_class: i32,
}

/// Which part of TensorBoard draws a metric.
#[derive(Clone, PartialEq, Message)]
pub struct PluginData {
    /// `scalars`
    #[prost(string, tag = "1")]
    pub plugin_name: String,
}

/// Numbers in buckets.
#[derive(Clone, PartialEq, Message)]
pub struct HistogramProto {
    /// Smallest number.
    #[prost(double, tag = "1")]
    pub min: f64,
    /// Largest number.
    #[prost(double, tag = "2")]
    pub max: f64,
    /// How many numbers.
    #[prost(double, tag = "3")]
    pub num: f64,
    /// Their sum.
    #[prost(double, tag = "4")]
    pub sum: f64,
    /// Sum of their squares.
    #[prost(double, tag = "5")]
    pub sum_squares: f64,
    /// Upper end of each bucket, ascending.
    #[prost(double, repeated, tag = "6")]
    pub bucket_limit: Vec<f64>,
    /// Numbers in each bucket.
    #[prost(double, repeated, tag = "7")]
    pub bucket: Vec<f64>,
}
