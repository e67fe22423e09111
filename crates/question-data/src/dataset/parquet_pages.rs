//! Pages of a parquet table whose counts are checked before the `parquet` crate reserves memory by them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length, RowGroupReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::record::Row;
use parquet::record::reader::{RowIter, TreeBuilder};
use parquet::schema::types::{ColumnDescPtr, Type as SchemaType};

/// Most bytes of an unpacked page; writers end one after about a MiB.
const LONGEST_PAGE_BYTES: u64 = 256 << 20;

/// A table with checked pages.
pub(super) struct CheckedTable {
    pub(super) metadata: ParquetMetaData,
    pages: Arc<PageFile>,
}

struct CheckedGroup<'a> {
    metadata: &'a RowGroupMetaData,
    pages: Arc<PageFile>,
}

/// A file whose reads begin at the header of a page.
struct PageFile(File);

struct CheckedPages {
    pages: Box<dyn PageReader>,
    column: ColumnDescPtr,
}

impl CheckedTable {
    /// Reads the table's metadata.
    pub(super) fn new(file: File) -> Result<Self> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
        Ok(Self { metadata, pages: Arc::new(PageFile(file)) })
    }

    /// Reads the rows of all groups. After an error the place is undefined.
    pub(super) fn rows(self) -> impl Iterator<Item = Result<Row>> {
        let Self { metadata, pages } = self;
        let schema = metadata.file_metadata().schema_descr_ptr();
        (0..metadata.num_row_groups()).flat_map(move |index| {
            let metadata = metadata.row_group(index);
            let group = CheckedGroup { metadata, pages: Arc::clone(&pages) };
            let (rows, error) = match TreeBuilder::new().as_iter(Arc::clone(&schema), &group) {
                Ok(rows) => (Some(rows), None),
                Err(error) => (None, Some(Err(error))),
            };
            rows.into_iter().flatten().chain(error)
        })
    }
}

impl RowGroupReader for CheckedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata
    }

    fn num_columns(&self) -> usize {
        self.metadata.num_columns()
    }

    fn get_column_page_reader(&self, index: usize) -> Result<Box<dyn PageReader>> {
        let rows = usize::try_from(self.metadata.num_rows())?;
        let file = Arc::clone(&self.pages);
        let pages = SerializedPageReader::new(file, self.metadata.column(index), rows, None)?;
        let column = self.metadata.schema_descr().column(index);
        Ok(Box::new(CheckedPages { pages: Box::new(pages), column }))
    }

    fn get_column_bloom_filter(&self, _: usize) -> Option<&Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

impl Length for PageFile {
    fn len(&self) -> u64 {
        Length::len(&self.0)
    }
}

impl ChunkReader for PageFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut read = self.0.get_read(start)?;
        check_header(read.fill_buf()?)?;
        Ok(read)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            let levels = (self.column.max_rep_level(), self.column.max_def_level());
            check(page, levels, self.column.physical_type())?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// Refuses a header that names more unpacked bytes than a page has, before the `parquet` crate reserves as many.
///
/// The header begins with the kind of page and these bytes, each an `i32` of Thrift's compact protocol.
fn check_header(header: &[u8]) -> Result<()> {
    const NEXT_FIELD_I32: u8 = 0x15;
    let mut rest = header;
    let mut numbers = [0; 2];
    for value in &mut numbers {
        rest = rest.strip_prefix(&[NEXT_FIELD_I32]).ok_or_else(short)?;
        *value = number(&mut rest)?;
    }
    // The lowest bit is the sign.
    let bytes = numbers[1] >> 1;
    if bytes > LONGEST_PAGE_BYTES {
        let problem = format!("a page of {bytes} bytes, expected at most {LONGEST_PAGE_BYTES}");
        return Err(ParquetError::General(problem));
    }
    Ok(())
}

/// Refuses a page that names more values than it can hold.
fn check(page: &Page, levels: (i16, i16), kind: Type) -> Result<()> {
    let values = u64::from(page.num_values());
    if let Page::DictionaryPage { buf, .. } = page {
        // Each value takes a byte at least, and a text the four of its length.
        let shortest = if kind == Type::BYTE_ARRAY { 4 } else { 1 };
        return if values.saturating_mul(shortest) > buf.len() as u64 {
            Err(beyond(values, "the dictionary holds"))
        } else {
            Ok(())
        };
    }
    let texts = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => false,
        Encoding::DELTA_BYTE_ARRAY => true,
        _ => return Ok(()),
    };
    let mut bytes = values_of(page, levels)?;
    // Lengths of common beginnings come first, then those of the rest.
    if texts {
        bytes = after_numbers(bytes, values)?;
    }
    after_numbers(bytes, values).map(|_| ())
}

/// Returns the bytes of a data page after its levels.
fn values_of(page: &Page, (repetition, definition): (i16, i16)) -> Result<&[u8]> {
    match page {
        Page::DataPageV2 { buf, rep_levels_byte_len, def_levels_byte_len, .. } => {
            let levels = u64::from(*rep_levels_byte_len) + u64::from(*def_levels_byte_len);
            after(buf, levels)
        }
        Page::DataPage { buf, num_values, rep_level_encoding, def_level_encoding, .. } => {
            let levels = [(repetition, *rep_level_encoding), (definition, *def_level_encoding)];
            levels.iter().filter(|(most, _)| *most > 0).try_fold(&buf[..], |bytes, level| {
                let (most, encoding) = *level;
                let length = if encoding == Encoding::RLE {
                    let length = bytes.first_chunk().copied().map(u32::from_le_bytes);
                    u64::from(length.ok_or_else(short)?) + 4
                } else {
                    let bits = u64::from(i16::BITS - most.leading_zeros());
                    (u64::from(*num_values) * bits).div_ceil(8)
                };
                after(bytes, length)
            })
        }
        Page::DictionaryPage { buf, .. } => Ok(buf),
    }
}

/// Returns the bytes after a list of numbers as differences, which may hold `most`.
///
/// Source: *Apache Parquet: Encodings*, delta encoding.
fn after_numbers(bytes: &[u8], most: u64) -> Result<&[u8]> {
    let mut rest = bytes;
    let block = number(&mut rest)?;
    let parts = number(&mut rest)?;
    let count = number(&mut rest)?;
    let _first = number(&mut rest)?;
    if count > most {
        return Err(beyond(count, "a page holds"));
    }
    let of_part = block.checked_div(parts).filter(|&count| count > 0).ok_or_else(short)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let _least = number(&mut rest)?;
        let parts = usize::try_from(parts).map_err(|_| short())?;
        let (widths, numbers) = rest.split_at_checked(parts).ok_or_else(short)?;
        rest = numbers;
        for width in widths {
            if left == 0 {
                break;
            }
            let length = u64::from(*width).checked_mul(of_part).ok_or_else(short)? / 8;
            rest = after(rest, length)?;
            left = left.saturating_sub(of_part);
        }
    }
    Ok(rest)
}

/// Returns the bytes after the first `count`.
fn after(bytes: &[u8], count: u64) -> Result<&[u8]> {
    usize::try_from(count).ok().and_then(|count| bytes.get(count..)).ok_or_else(short)
}

/// Takes a number of seven bits a byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or_else(short)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(short())
}

fn short() -> ParquetError {
    ParquetError::General("damaged page: it ends before its values".to_owned())
}

fn beyond(count: u64, place: &str) -> ParquetError {
    ParquetError::General(format!("damaged page: {count} values, more than {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists are those of the specification: 1 to 5, and 7, 5, 3, 1, 2, 3, 4, 5, in one block of four parts of 32.
    #[test]
    fn a_list_of_differences_ends_after_its_last_part() {
        let equal = [128, 1, 4, 5, 2, 2, 0, 0, 0, 0, 99];
        assert_eq!(after_numbers(&equal, 5).unwrap(), [99]);
        assert!(after_numbers(&equal, 4).is_err());
        let mut varied = vec![128, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        varied.extend([0; 8]);
        varied.push(99);
        assert_eq!(after_numbers(&varied, 8).unwrap(), [99]);
        assert!(after_numbers(&varied[..17], 8).is_err());
        assert!(after_numbers(&[128, 1, 0, 5, 2], 5).is_err());
        assert!(after_numbers(&[0xff; 20], 5).is_err());
    }
}
