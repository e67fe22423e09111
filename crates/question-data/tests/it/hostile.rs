//! Files made to take all memory or all time: an error of one line, within a bound of both.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::read_questions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use question_data::dataset::QuestionFile;

/// Error of a file, within half a minute.
fn refused(path: &Path) -> String {
    let start = Instant::now();
    let error = read_questions(&QuestionFile::new(path)).expect_err("must be refused").to_string();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    error.replace(&path.parent().expect("a file in a folder").display().to_string(), "DIR")
}

#[test]
fn devices_and_pipes_are_refused_before_they_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["jsonl", "json", "csv", "parquet", "jsonl.zst"] {
        let device = folder.path().join(format!("device.{ending}"));
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        assert_eq!(refused(&device), format!("DIR/device.{ending}: cannot read: not a file"));
        let pipe = folder.path().join(format!("pipe.{ending}"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(refused(&pipe), format!("DIR/pipe.{ending}: cannot read: not a file"));
    }
}

/// A name of a column began a line of the error.
#[test]
fn names_of_columns_stay_in_the_line_of_the_error() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("set.csv", "\"x\nerror: y\u{1b}[31m\",b\n1,2\n"),
        ("set.jsonl", "{\"x\\nerror: y\": 1}\n"),
        ("rows.jsonl", "{\"problem\": \"q\", \"answer\": \"1\"}\n{\"x\\nerror: y\": 1}\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let error = refused(&path);
        assert!(error.contains("x\\nerror: y") && !error.contains("\nerror"), "{error}");
    }
}

/// A zstd frame of `count` blocks, each 128 KiB of one byte in four bytes of the file (RFC 8878).
fn zstd_of(byte: u8, count: usize) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 128 << 10;
    // Magic number, descriptor, and a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    for index in 1..=count {
        let header = u32::from(index == count) | 1 << 1 | BLOCK_BYTES << 3;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(byte);
    }
    frame
}

#[test]
fn packed_text_is_unpacked_as_it_is_read_and_up_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.jsonl.zst");
    // One line of 5 GiB.
    std::fs::write(&path, zstd_of(b'x', 40 << 10)).unwrap();
    assert_eq!(
        refused(&path),
        "DIR/set.jsonl.zst: cannot read: line 1 is longer than 33554432 bytes"
    );
    // A gigabyte of line breaks, of which 32 kB unpack to no more than 130 MiB.
    std::fs::write(&path, zstd_of(b'\n', 8 << 10)).unwrap();
    let error = refused(&path);
    assert_eq!(error, "DIR/set.jsonl.zst: cannot read: 32774 bytes unpack to more than 136315264");
}

/// A table of two columns of text, every value of `bytes` bytes.
fn table(path: &Path, rows: usize, bytes: usize) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_page_size_limit(1 << 30)
        .build();
    table_with(path, properties, rows, bytes);
}

fn table_with(path: &Path, properties: WriterProperties, rows: usize, bytes: usize) {
    let schema = parse_message_type(
        "message schema { REQUIRED BYTE_ARRAY problem (UTF8); REQUIRED BYTE_ARRAY answer (UTF8); }",
    );
    let file = std::fs::File::create(path).expect("a table is written");
    let mut writer = SerializedFileWriter::new(
        file,
        Arc::new(schema.expect("a table is written")),
        Arc::new(properties),
    )
    .expect("a table is written");
    let mut group = writer.next_row_group().expect("a table is written");
    for value in ["x".repeat(bytes), "1".to_owned()] {
        let values = vec![ByteArray::from(value.as_str()); rows];
        let mut column =
            group.next_column().expect("a table is written").expect("a table is written");
        column
            .typed::<ByteArrayType>()
            .write_batch(&values, None, None)
            .expect("a table is written");
        column.close().expect("a table is written");
    }
    group.close().expect("a table is written");
    writer.close().expect("a table is written");
}

/// The `parquet` crate reserved memory by a count in the page, whose product was 2^58 bytes: an abort, which no error can be made of.
#[test]
fn a_page_may_not_name_more_values_than_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.parquet");
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .build();
        table_with(&path, properties, 200, 1);
        assert_eq!(read_questions(&QuestionFile::new(&path)).unwrap().questions.len(), 200);
        let mut bytes = std::fs::read(&path).unwrap();
        // Differences in blocks of 128 numbers and four parts; 200 numbers.
        let header = [0x80, 1, 4, 0xc8, 1];
        let places = bytes.windows(header.len()).enumerate();
        let places: Vec<usize> =
            places.filter(|(_, window)| *window == header).map(|(place, _)| place + 3).collect();
        assert!(places.len() >= 2, "{encoding}: {places:?}");
        for place in places {
            let before = bytes.splice(place..place + 2, [0xff, 0x7f]).collect::<Vec<_>>();
            std::fs::write(&path, &bytes).unwrap();
            let error = refused(&path);
            assert!(
                error.contains("damaged page: 16383 values, more than a page holds"),
                "{error}"
            );
            bytes.splice(place..place + 2, before);
        }
    }
}

/// A page of snappy is filled with zeros to its claimed length before it is unpacked.
#[test]
fn a_page_may_not_claim_two_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.parquet");
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::SNAPPY)
        .build();
    table_with(&path, properties, 20, 100);
    assert_eq!(read_questions(&QuestionFile::new(&path)).unwrap().questions.len(), 20);
    let mut bytes = std::fs::read(&path).unwrap();
    // The first page lies behind the file's four letters: its kind, then 20 texts with their lengths.
    let (header, claim) = ([0x15, 0, 0x15, 0xc0, 0x20], [0xfe, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(bytes[4..9], header);
    bytes.splice(7..9, claim);
    std::fs::write(&path, bytes).unwrap();
    let error = refused(&path);
    assert!(error.contains("a page of 2147483647 bytes, expected at most 268435456"), "{error}");
}

/// A dictionary of one value holds it once for all rows.
#[test]
fn a_table_may_not_unpack_to_far_more_than_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.parquet");
    table(&path, 40, 8 << 20);
    let packed = std::fs::metadata(&path).unwrap().len();
    assert!(packed < 10_000, "{packed}");
    let error = refused(&path);
    assert!(
        error.starts_with(&format!(
            "DIR/set.parquet: cannot read: as parquet: {packed} bytes unpack to more"
        )),
        "{error}"
    );
    table(&path, 3, 40 << 20);
    let error = refused(&path);
    assert!(
        error.contains("a row of 41943") && error.contains("expected at most 33554432"),
        "{error}"
    );
    // Refused before its one page is unpacked.
    table(&path, 1, 40 << 20);
    let error = refused(&path);
    assert!(error.contains("1 values of column problem have"), "{error}");
    table(&path, 20, 100);
    assert_eq!(read_questions(&QuestionFile::new(&path)).unwrap().questions.len(), 20);
}
