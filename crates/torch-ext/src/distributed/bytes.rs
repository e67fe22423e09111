//! Sends bytes of any length between ranks, over the CPU's back-end.

use tch::{Device, Kind, Tensor};

use super::error::GroupError;
use super::group::ProcessGroup;
use super::work::extent;

impl ProcessGroup {
    /// Gathers the bytes of every rank of the group, in rank order; lengths may differ.
    ///
    /// Every rank receives, from each rank, as many bytes as the longest has.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::all_gather`].
    pub fn all_gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, GroupError> {
        let lengths = self.gathered_lengths(bytes.len())?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut padded = bytes.to_vec();
        padded.resize(longest, 0);
        let output = byte_tensor(longest * lengths.len());
        self.all_gather(&Tensor::from_slice(&padded), &output)?;
        let all = bytes_of(&output);
        let part = |(rank, &length): (usize, &usize)| all[rank * longest..][..length].to_vec();
        Ok(lengths.iter().enumerate().map(part).collect())
    }

    fn gathered_lengths(&self, own_length: usize) -> Result<Vec<usize>, GroupError> {
        let output = Tensor::zeros([extent(self.world_size())], (Kind::Int64, Device::Cpu));
        self.all_gather(&Tensor::from_slice(&[extent(own_length)]), &output)?;
        let length = |rank| usize::try_from(output.int64_value(&[rank])).unwrap_or(0);
        Ok((0..extent(self.world_size())).map(length).collect())
    }
}

fn byte_tensor(length: usize) -> Tensor {
    Tensor::zeros([extent(length)], (Kind::Uint8, Device::Cpu))
}

fn bytes_of(tensor: &Tensor) -> Vec<u8> {
    let mut bytes = vec![0; tensor.numel()];
    let length = bytes.len();
    tensor.copy_data(&mut bytes, length);
    bytes
}
