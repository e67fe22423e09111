//! TensorBoard messages that are written here, with the field numbers of `event.proto` and `summary.proto`.

use prost::{Message, Oneof};

/// Version in the first event of every file.
pub(super) const FILE_VERSION: &str = "brain.Event:2";

/// [`SummaryMetadata::data_class`] of scalars.
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
    /// Content of the event.
    #[prost(oneof = "EventContent", tags = "3, 5, 7")]
    pub content: Option<EventContent>,
}

/// Content of an [`Event`].
#[derive(Clone, PartialEq, Oneof)]
pub enum EventContent {
    /// Version of the format: the first event of a file.
    #[prost(string, tag = "3")]
    FileVersion(String),
    /// Values of a step.
    #[prost(message, tag = "5")]
    Summary(Summary),
    /// Start or end of a writing process.
    #[prost(message, tag = "7")]
    SessionLog(SessionLog),
}

/// Start or end of a writing process.
#[derive(Clone, PartialEq, Message)]
pub struct SessionLog {
    /// Status; 1 is the start, which voids earlier steps from the event's step on.
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
    /// A number or a histogram.
    #[prost(oneof = "ValueKind", tags = "2, 5")]
    pub kind: Option<ValueKind>,
    /// Description of the metric, sent with its first value.
    #[prost(message, optional, tag = "9")]
    pub metadata: Option<SummaryMetadata>,
}

/// A number or a histogram.
#[derive(Clone, PartialEq, Oneof)]
pub enum ValueKind {
    /// A number, to single precision: the format has no more.
    #[prost(float, tag = "2")]
    SimpleValue(f32),
    /// A histogram.
    #[prost(message, tag = "5")]
    Histogram(HistogramProto),
}

/// Description of a metric.
#[derive(Clone, PartialEq, Message)]
pub struct SummaryMetadata {
    /// Plugin that draws the metric.
    #[prost(message, optional, tag = "1")]
    pub plugin_data: Option<PluginData>,
    /// Text beside the chart.
    #[prost(string, tag = "3")]
    pub summary_description: String,
    /// Kind of the values; without it TensorBoard's fast reader drops the description.
    #[prost(int32, tag = "4")]
    pub data_class: i32,
}

/// The TensorBoard plugin that draws a metric.
#[derive(Clone, PartialEq, Message)]
pub struct PluginData {
    /// Name of the plugin, `scalars`.
    #[prost(string, tag = "1")]
    pub plugin_name: String,
}

/// Histogram of numbers in buckets.
#[derive(Clone, PartialEq, Message)]
pub struct HistogramProto {
    /// Smallest number.
    #[prost(double, tag = "1")]
    pub min: f64,
    /// Largest number.
    #[prost(double, tag = "2")]
    pub max: f64,
    /// Count of numbers.
    #[prost(double, tag = "3")]
    pub num: f64,
    /// Sum of the numbers.
    #[prost(double, tag = "4")]
    pub sum: f64,
    /// Sum of the squares of the numbers.
    #[prost(double, tag = "5")]
    pub sum_squares: f64,
    /// Upper end of each bucket, ascending.
    #[prost(double, repeated, tag = "6")]
    pub bucket_limit: Vec<f64>,
    /// Numbers in each bucket.
    #[prost(double, repeated, tag = "7")]
    pub bucket: Vec<f64>,
}

/// Number of buckets; TensorBoard shows 30.
const BUCKETS: usize = 30;

/// Counts `values` in buckets, except those that are not finite. `None` where no value is left.
pub fn histogram(values: impl IntoIterator<Item = f64>) -> Option<HistogramProto> {
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    let width = (max - min) / BUCKETS as f64;
    let buckets = if width > 0.0 { BUCKETS } else { 1 };
    let limit =
        |index: usize| if index + 1 == buckets { max } else { min + width * (index + 1) as f64 };
    let bucket_limit: Vec<f64> = (0..buckets).map(limit).collect();
    let mut bucket = vec![0.0; buckets];
    for value in &values {
        // The first bucket whose upper end is not below the value.
        let place = bucket_limit.partition_point(|limit| limit < value);
        bucket[place.min(buckets - 1)] += 1.0;
    }
    Some(HistogramProto {
        min,
        max,
        num: values.len() as f64,
        sum: values.iter().sum(),
        sum_squares: values.iter().map(|value| value * value).sum(),
        bucket_limit,
        bucket,
    })
}
