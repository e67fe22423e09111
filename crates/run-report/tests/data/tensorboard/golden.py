"""Records golden.tfevents with the package `tensorboard` (2.21.0): `python golden.py golden.tfevents`."""
import sys
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
path = sys.argv[1]
with open(path, "wb") as f:
    w = RecordWriter(f)
    def put(**k): w.write(event_pb2.Event(**k).SerializeToString(deterministic=True))
    put(wall_time=1700000000.25, file_version="brain.Event:2")
    put(wall_time=1700000000.25, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))
    h = summary_pb2.HistogramProto(min=3, max=3, num=4, sum=12, sum_squares=36, bucket_limit=[3.0], bucket=[4.0])
    V = summary_pb2.Summary.Value
    def about(text): return summary_pb2.SummaryMetadata(
        summary_description=text, data_class=summary_pb2.DATA_CLASS_SCALAR,
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="scalars"))
    put(wall_time=1700000001.5, step=7, summary=summary_pb2.Summary(value=[
        V(tag="critic/rewards/mean", simple_value=0.0, metadata=about("Mean reward over all responses. In reward.")),
        V(tag="made-up", simple_value=0.75),
        V(tag="response_length/distribution", histo=h)]))
