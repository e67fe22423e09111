//! Number formats that tensors are written in.

use half::{bf16, f16};

use super::dequantise::BlockFormat;

/// Number format of the written weights; rounding is to nearest, ties to even.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TensorDtype {
    /// bfloat16.
    #[default]
    Bf16,
    /// IEEE half precision.
    F16,
    /// Single precision: exactly the values of the blocks.
    F32,
}

impl TensorDtype {
    /// Name in `config.json`.
    pub fn torch_name(self) -> &'static str {
        match self {
            Self::Bf16 => "bfloat16",
            Self::F16 => "float16",
            Self::F32 => "float32",
        }
    }

    /// The format as GGUF has it; safetensors files give it the same name.
    pub(super) fn format(self) -> BlockFormat {
        match self {
            Self::Bf16 => BlockFormat::Bf16,
            Self::F16 => BlockFormat::F16,
            Self::F32 => BlockFormat::F32,
        }
    }

    /// Replaces `out` with the little-endian bytes of `elements`; fails with the index of the first
    /// element that is not finite afterwards.
    pub(super) fn encode(self, elements: &[f32], out: &mut Vec<u8>) -> Result<(), usize> {
        out.clear();
        for (index, element) in elements.iter().enumerate() {
            let finite = match self {
                Self::Bf16 => {
                    let rounded = bf16::from_f32(*element);
                    out.extend(rounded.to_le_bytes());
                    rounded.is_finite()
                }
                Self::F16 => {
                    let rounded = f16::from_f32(*element);
                    out.extend(rounded.to_le_bytes());
                    rounded.is_finite()
                }
                Self::F32 => {
                    out.extend(element.to_le_bytes());
                    element.is_finite()
                }
            };
            if !finite {
                return Err(index);
            }
        }
        Ok(())
    }
}
