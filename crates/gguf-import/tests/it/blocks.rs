//! Each block format against values worked out from its definition. All are exact in `f32`.

use gguf_import::dequantise::BlockFormat;
use half::f16;

fn half(value: f32) -> [u8; 2] {
    f16::from_f32(value).to_le_bytes()
}

#[track_caller]
fn assert_block(format: BlockFormat, block: &[u8], expected: impl Iterator<Item = i32>, unit: f32) {
    assert_eq!(block.len(), format.block_bytes());
    let mut values = Vec::new();
    // Twice, so that a block must end where the next begins.
    format.dequantise(&[block, block].concat(), &mut values);
    let expected = expected
        .map(|units| unit * f32::from(i16::try_from(units).expect("small")))
        .map(f32::to_bits)
        .collect::<Vec<_>>();
    // `+ 0.0` makes one zero of both.
    let values = values.into_iter().map(|value| (value + 0.0).to_bits()).collect::<Vec<_>>();
    assert_eq!(values, [expected.clone(), expected].concat());
}

/// Low nibbles count up, high nibbles down.
fn nibbles() -> impl Iterator<Item = u8> {
    (0..16).map(|i| i | (15 - i) << 4)
}

#[test]
fn q4_1_is_scale_times_quant_plus_minimum() {
    let block = [half(0.5), half(-1.0)].into_iter().flatten().chain(nibbles()).collect::<Vec<_>>();
    let expected = (0..16).chain((0..16).rev()).map(|q| q - 2);
    assert_block(BlockFormat::Q4_1, &block, expected, 0.5);
}

#[test]
fn q5_0_takes_its_fifth_bits_from_the_word_and_centres_on_16() {
    let fifth = 0xffff_0000_u32.to_le_bytes();
    let block = half(2.0).into_iter().chain(fifth).chain(nibbles()).collect::<Vec<_>>();
    let expected = (0..16).map(|q| q - 16).chain((0..16).rev());
    assert_block(BlockFormat::Q5_0, &block, expected, 2.0);
}

#[test]
fn q8_0_is_scale_times_signed_byte() {
    let quants = (0..32_i8).map(|i| 8 * (i - 16) + i % 3);
    let bytes = quants.clone().map(i8::cast_unsigned);
    let block = half(0.25).into_iter().chain(bytes).collect::<Vec<_>>();
    assert_block(BlockFormat::Q8_0, &block, quants.map(i32::from), 0.25);
}

#[test]
fn q4_k_has_a_six_bit_scale_and_minimum_for_each_32() {
    let scale = [1, 9, 22, 35, 48, 63, 17, 40_u8];
    let minimum = [63, 5, 31, 44, 2, 58, 33, 19_u8];
    let quant = |element: usize| u8::try_from((7 * element + element / 16) % 16).expect("< 16");
    let mut block = [half(0.5), half(0.25)].concat();
    for j in 0..4 {
        block.push(scale[j] | scale[j + 4] >> 4 << 6);
    }
    for j in 0..4 {
        block.push(minimum[j] | minimum[j + 4] >> 4 << 6);
    }
    for j in 4..8 {
        block.push(scale[j] & 15 | (minimum[j] & 15) << 4);
    }
    for pair in 0..4 {
        block.extend((0..32).map(|i| quant(64 * pair + i) | quant(64 * pair + 32 + i) << 4));
    }
    let expected = (0..256)
        .map(|e| 2 * i32::from(scale[e / 32]) * i32::from(quant(e)) - i32::from(minimum[e / 32]));
    assert_block(BlockFormat::Q4K, &block, expected, 0.25);
}

#[test]
fn q6_k_has_an_eight_bit_scale_for_each_16() {
    let scale = |run: usize| i8::try_from(run).expect("16 runs") * 8 - 60;
    let quant = |element: usize| u8::try_from((11 * element + element / 64) % 64).expect("< 64");
    let (mut low, mut high) = ([0_u8; 128], [0_u8; 64]);
    for element in 0..256 {
        let (side, run, index) = (element / 128, element % 128 / 32, element % 32);
        low[64 * side + 32 * (run % 2) + index] |= (quant(element) & 15) << (4 * (run / 2));
        high[32 * side + index] |= quant(element) >> 4 << (2 * run);
    }
    let scales = (0..16).map(|run| scale(run).cast_unsigned()).collect::<Vec<_>>();
    let block = [&low[..], &high, &scales, &half(0.125)].concat();
    let expected = (0..256).map(|e| i32::from(scale(e / 16)) * (i32::from(quant(e)) - 32));
    assert_block(BlockFormat::Q6K, &block, expected, 0.125);
}

#[test]
fn floats_are_taken_as_they_are() {
    for (format, bytes) in [
        (BlockFormat::F32, [1.5_f32.to_le_bytes(), (-0.1_f32).to_le_bytes()].concat()),
        (BlockFormat::F16, [half(1.5), half(-0.1)].concat()),
        (BlockFormat::Bf16, vec![0xc0, 0x3f, 0xcd, 0xbd]),
    ] {
        let mut values = Vec::new();
        format.dequantise(&bytes, &mut values);
        assert_eq!(values.len(), 2, "{format:?}");
        assert!((values[0] - 1.5).abs() < f32::EPSILON, "{format:?} {values:?}");
        assert!((values[1] + 0.1).abs() < 2e-3 * 0.2, "{format:?} {values:?}");
    }
}
