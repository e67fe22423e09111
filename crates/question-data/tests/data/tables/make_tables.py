"""Writes the parquet files beside it: `python make_tables.py`, with pyarrow 26."""

import pyarrow as pa
import pyarrow.parquet as pq

SYSTEM = {"content": "Box your answer.", "role": "system"}


def user(text):
    return {"content": text, "role": "user"}


verl = pa.Table.from_pylist(
    [
        {
            "data_source": "math_dapo",
            "prompt": [user("What is $2+2$?")],
            "ability": "MATH",
            "reward_model": {"ground_truth": "4", "style": "rule"},
            "extra_info": {"index": "9a9b", "split": "train"},
        },
        {
            "data_source": "aime",
            "prompt": [SYSTEM, user("设 $x=3$。求 $x^2$。")],
            "ability": "MATH",
            "reward_model": {"ground_truth": "9", "style": "rule"},
            "extra_info": {"index": "77", "split": "train"},
        },
    ]
)
pq.write_table(verl, "verl_snappy.parquet", compression="snappy")
pq.write_table(
    verl,
    "verl_zstd_v2.parquet",
    compression="zstd",
    data_page_version="2.0",
    use_dictionary=False,
    column_encoding={"data_source": "DELTA_BYTE_ARRAY", "ability": "DELTA_LENGTH_BYTE_ARRAY"},
)

plain = pa.table(
    {
        "question": pa.array([f"What is {n}+{n}?" for n in range(1, 301)]).dictionary_encode(),
        "answer": pa.array([float(2 * n) for n in range(1, 301)], pa.float64()),
        "seen": pa.array([None] * 300, pa.timestamp("us")),
        "id": pa.array(range(1, 301), pa.int64()),
    }
)
# Several row groups, so that the reader has to go from one to the next.
pq.write_table(plain, "plain.parquet", compression="none", row_group_size=128)
pq.write_table(plain.slice(0, 2), "plain_gzip.parquet", compression="gzip")

as_text = pa.table({"prompt": ["What is 1+1?"], "ground_truth": [["2"]]})
pq.write_table(as_text, "prompt_text.parquet")
