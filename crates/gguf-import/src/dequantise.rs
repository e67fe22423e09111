//! Quantised blocks to `f32`.
//!
//! The arithmetic is done in `f32` in the order of the reference (`ggml-quants.c`,
//! `dequantize_row_*`), so results are equal bit for bit. `d` and `m` are half-precision scales.
//!
//! | format | elements | bytes | element |
//! |---|---|---|---|
//! | `Q4_1` | 32 | 20 | `d·q + m`, 4 bits |
//! | `Q5_0` | 32 | 22 | `d·(q - 16)`, 5 bits |
//! | `Q8_0` | 32 | 34 | `d·q`, 8 bits |
//! | `Q4_K` | 256 | 144 | `(d·s)·q - (m·t)`, 4 bits; 6-bit `s`, `t` for each 32 |
//! | `Q6_K` | 256 | 210 | `(d·s)·(q - 32)`, 6 bits; 8-bit `s` for each 16 |

use half::{bf16, f16};

/// How the elements of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockFormat {
    /// 32-bit floats.
    F32,
    /// IEEE half-precision floats.
    F16,
    /// The upper halves of 32-bit floats.
    Bf16,
    /// 4 bits, scale and minimum for each 32.
    Q4_1,
    /// 5 bits, scale for each 32.
    Q5_0,
    /// 8 bits, scale for each 32.
    Q8_0,
    /// 4 bits, two-level scales and minima over 256.
    Q4K,
    /// 6 bits, two-level scales over 256.
    Q6K,
}

/// Every format in the order of [`BlockFormat`]: its `ggml_type` number, the name that GGUF tools print, elements and bytes of a block.
const LAYOUTS: [(BlockFormat, u32, &str, usize, usize); 8] = [
    (BlockFormat::F32, 0, "F32", 1, 4),
    (BlockFormat::F16, 1, "F16", 1, 2),
    (BlockFormat::Bf16, 30, "BF16", 1, 2),
    (BlockFormat::Q4_1, 3, "Q4_1", 32, 20),
    (BlockFormat::Q5_0, 6, "Q5_0", 32, 22),
    (BlockFormat::Q8_0, 8, "Q8_0", 32, 34),
    (BlockFormat::Q4K, 12, "Q4_K", 256, 144),
    (BlockFormat::Q6K, 14, "Q6_K", 256, 210),
];

impl BlockFormat {
    /// Names of the formats that can be read.
    pub(super) fn names() -> String {
        LAYOUTS.map(|layout| layout.2).join(", ")
    }

    /// The format of a `ggml_type` number, if it can be read.
    pub(super) fn from_code(code: u32) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.1 == code).map(|layout| layout.0)
    }

    /// The name that GGUF tools print.
    pub fn name(self) -> &'static str {
        LAYOUTS[self as usize].2
    }

    /// Elements of one block; the row length of a tensor is a multiple of it.
    pub(super) fn block_elements(self) -> usize {
        LAYOUTS[self as usize].3
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> usize {
        LAYOUTS[self as usize].4
    }

    /// Appends the elements of whole blocks to `out`.
    ///
    /// # Panics
    ///
    /// If `bytes` is not a whole number of blocks.
    pub fn dequantise(self, bytes: &[u8], out: &mut Vec<f32>) {
        assert!(
            bytes.len().is_multiple_of(self.block_bytes()),
            "{} bytes are not whole {} blocks",
            bytes.len(),
            self.name()
        );
        out.reserve(bytes.len() / self.block_bytes() * self.block_elements());
        match self {
            Self::F32 => out.extend(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
            Self::F16 => out.extend(bytes.as_chunks().0.iter().map(|b| half_scale(*b))),
            Self::Bf16 => {
                out.extend(bytes.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32()));
            }
            Self::Q4_1 => each_block(bytes, |block| q4_1(block, out)),
            Self::Q5_0 => each_block(bytes, |block| q5_0(block, out)),
            Self::Q8_0 => each_block(bytes, |block| q8_0(block, out)),
            Self::Q4K => each_block(bytes, |block| q4_k(block, out)),
            Self::Q6K => each_block(bytes, |block| q6_k(block, out)),
        }
    }
}

fn each_block<const BYTES: usize>(bytes: &[u8], block: impl FnMut(&[u8; BYTES])) {
    bytes.as_chunks().0.iter().for_each(block);
}

fn half_scale(bytes: [u8; 2]) -> f32 {
    f16::from_le_bytes(bytes).to_f32()
}

fn signed(byte: u8) -> f32 {
    f32::from(byte.cast_signed())
}

/// `d`, `m`, 16 bytes: low nibbles are elements 0..16, high nibbles 16..32.
fn q4_1(block: &[u8; 20], out: &mut Vec<f32>) {
    let (d, m) = (half_scale([block[0], block[1]]), half_scale([block[2], block[3]]));
    let quants = &block[4..];
    out.extend(quants.iter().map(|q| d * f32::from(q & 0x0f) + m));
    out.extend(quants.iter().map(|q| d * f32::from(q >> 4) + m));
}

/// `d`, 32 fifth bits, 16 bytes of nibbles as in `Q4_1`.
fn q5_0(block: &[u8; 22], out: &mut Vec<f32>) {
    let d = half_scale([block[0], block[1]]);
    let fifth = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    let nibbles = block[6..].iter().map(|q| q & 0x0f).chain(block[6..].iter().map(|q| q >> 4));
    out.extend(nibbles.enumerate().map(|(index, low)| {
        let high = u8::from(fifth >> index & 1 == 1) << 4;
        d * (f32::from(low | high) - 16.0)
    }));
}

/// `d`, 32 signed bytes.
fn q8_0(block: &[u8; 34], out: &mut Vec<f32>) {
    let d = half_scale([block[0], block[1]]);
    out.extend(block[2..].iter().map(|q| d * signed(*q)));
}

/// `d`, `m`, 12 bytes of packed scales, 128 bytes of nibbles: each 32 bytes hold two runs of 32.
fn q4_k(block: &[u8; 144], out: &mut Vec<f32>) {
    let (d, m) = (half_scale([block[0], block[1]]), half_scale([block[2], block[3]]));
    let packed = &block[4..16];
    for (run, quants) in block[16..].chunks_exact(32).enumerate() {
        for (half, shift) in [(0, 0), (1, 4)] {
            let (scale, minimum) = q4_k_scale(packed, 2 * run + half);
            let (scale, minimum) = (d * f32::from(scale), m * f32::from(minimum));
            out.extend(quants.iter().map(|q| scale * f32::from(q >> shift & 0x0f) - minimum));
        }
    }
}

/// The 6-bit scale and minimum of run `index` in 0..8: the first four stand in the low bits of
/// bytes 0..4 and 4..8; the others are nibbles of bytes 8..12 with their top bits in bytes 0..8.
fn q4_k_scale(packed: &[u8], index: usize) -> (u8, u8) {
    if index < 4 {
        (packed[index] & 0x3f, packed[index + 4] & 0x3f)
    } else {
        let nibbles = packed[index + 4];
        (nibbles & 0x0f | packed[index - 4] >> 2 & 0x30, nibbles >> 4 | packed[index] >> 2 & 0x30)
    }
}

/// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 signed scales, `d`.
/// Each half of the block is four runs of 32: run `r` takes nibble `r / 2` of the low bytes
/// `32 (r % 2)..` and bit pair `r` of the upper bytes.
fn q6_k(block: &[u8; 210], out: &mut Vec<f32>) {
    let d = half_scale([block[208], block[209]]);
    for side in 0..2 {
        let low = &block[64 * side..][..64];
        let high = &block[128 + 32 * side..][..32];
        for run in 0..4 {
            let scales = &block[192 + 8 * side + 2 * run..][..2];
            let low = &low[32 * (run % 2)..][..32];
            out.extend(low.iter().zip(high).enumerate().map(|(index, (low, high))| {
                let quant = low >> (4 * (run / 2)) & 0x0f | (high >> (2 * run) & 0x03) << 4;
                d * signed(scales[index / 16]) * (f32::from(quant) - 32.0)
            }));
        }
    }
}
