//! Tensors concatenated in memory and used as one: several products of one input become one.

use tch::Tensor;
use torch_ext::{autograd_function, byte_count};

/// Concatenates tensors, `[rows, ..]` that differ in `rows` alone, in memory, and makes each a view of its part.
pub(super) fn stack(parts: &mut [&mut Tensor]) {
    let _no_grad = tch::no_grad_guard();
    if stacked(&parts.iter().map(|part| &**part).collect::<Vec<_>>()).is_some() {
        return;
    }
    let joined = Tensor::cat(parts, 0);
    let mut first = 0;
    for part in parts {
        let rows = part.size()[0];
        // Detached, a view is a parameter as any other.
        **part = joined.narrow(0, first, rows).detach();
        first += rows;
    }
}

/// Returns adjacent tensors as one, `[Σ rows, ..]`, sharing their memory; each receives its own gradient. `None` if they are
/// not adjacent.
pub(super) fn stacked(parts: &[&Tensor]) -> Option<Tensor> {
    let (first, rest) = parts.split_first()?;
    let mut shape = first.size();
    let mut end = end_of(first)?;
    for part in rest {
        let size = part.size();
        if part.data_ptr() as usize != end || size[1..] != shape[1..] || part.kind() != first.kind()
        {
            return None;
        }
        shape[0] += size[0];
        end = end_of(part)?;
    }
    let joined = {
        let _no_grad = tch::no_grad_guard();
        // Fails where they are neighbours by chance, in pieces of memory of their own.
        first.detach().f_as_strided(shape.as_slice(), first.stride(), None::<i64>).ok()?
    };
    let rows: Vec<i64> = parts.iter().map(|part| part.size()[0]).collect();
    autograd_function(parts, || joined, move |cotangent| cotangent.split_with_sizes(&rows, 0)).ok()
}

/// Address after the last number; `None` if there are gaps between numbers.
fn end_of(part: &Tensor) -> Option<usize> {
    part.is_contiguous().then(|| part.data_ptr() as usize + byte_count(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::wide_wave;

    fn three() -> [Tensor; 3] {
        [(4, 0.3), (2, 0.7), (3, 1.1)].map(|(rows, step)| wide_wave(&[rows, 5], step))
    }

    fn stacked_three() -> [Tensor; 3] {
        let mut parts = three();
        stack(&mut parts.each_mut());
        parts
    }

    #[test]
    fn stacked_parts_keep_their_numbers_and_share_memory_with_the_whole() {
        let parts = stacked_three();
        for (part, before) in parts.iter().zip(three()) {
            assert!(part.equal(&before) && part.is_contiguous());
        }
        let joined = stacked(&parts.each_ref()).unwrap();
        assert!(joined.equal(&Tensor::cat(&three(), 0)));
        let _filled = parts[1].shallow_clone().fill_(7.0);
        assert!(joined.narrow(0, 4, 2).equal(&parts[1]), "no copy");
        let addresses = parts.each_ref().map(Tensor::data_ptr);
        let mut again = parts;
        stack(&mut again.each_mut());
        assert_eq!(again.each_ref().map(Tensor::data_ptr), addresses, "nothing moves twice");
    }

    #[test]
    fn what_does_not_lie_one_after_another_is_not_one() {
        let parts = stacked_three();
        let [first, second, third] = parts.each_ref();
        assert!(stacked(&[first, third]).is_none(), "a gap");
        assert!(stacked(&[second, first]).is_none(), "another order");
        assert!(stacked(&three().each_ref()).is_none(), "memory of their own");
        assert!(stacked(&[&first.narrow(1, 0, 4), second]).is_none(), "gaps between rows");
        assert!(stacked(&[first, &second.view([-1])]).is_none(), "another shape");
        assert!(stacked(&[]).is_none());
    }

    /// Parameters sharded over ranks get their memory this way.
    #[test]
    fn views_that_data_was_set_to_are_one() {
        let memory = wide_wave(&[45], 0.4);
        let mut parts = three().map(|part| part.set_requires_grad(true));
        let mut first = 0;
        for (part, rows) in parts.iter_mut().zip([4, 2, 3]) {
            part.set_data(&memory.narrow(0, first, rows * 5).view([rows, 5]));
            first += rows * 5;
        }
        assert!(stacked(&parts.each_ref()).unwrap().equal(&memory.view([9, 5])));
    }
}
