//! Sixteen bytes looked up by codes of four bits, many at a time.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use std::arch::x86_64::__m256i;

use pulp::x86::V3;
use pulp::{NullaryFnOnce, cast};

use super::tile::{GROUP, WORDS};

/// Bytes that have a code.
pub(super) const CODES: usize = 16;

/// Proof that the processor has AVX2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lookup(V3);

impl Lookup {
    /// Returns `None` if the processor lacks the instructions.
    pub(super) fn new() -> Option<Self> {
        V3::try_new().map(Self)
    }

    /// Splits `words`, two bf16 each, into lower bytes and the codes of upper bytes. Returns false if some upper byte is
    /// not in `table`; the outputs are then invalid.
    ///
    /// The order makes [`Lookup::unpack`] cheapest: the lower byte of the number `32 v + 16 h + 8 l + i` lies at
    /// `p = 32 v + 16 l + 8 h + i`, its code in the byte `p % 32`, upper half for the later 32.
    pub(super) fn pack(
        self,
        table: &[u8; CODES],
        words: &[i32; WORDS],
        codes: &mut [u8; GROUP / 2],
        lower: &mut [u8; GROUP],
    ) -> bool {
        self.0.vectorize(Pack { simd: self.0, table, words, codes, lower })
    }

    /// Restores the words that [`Lookup::pack`] has split. For callers compiled with these instructions.
    #[inline(always)]
    pub(super) fn unpack(
        self,
        table: &[u8; CODES],
        codes: &[u8; GROUP / 2],
        lower: &[u8; GROUP],
    ) -> [i32; WORDS] {
        let (avx, avx2) = (self.0.avx, self.0.avx2);
        let table = avx2._mm256_broadcastsi128_si256(cast(*table));
        let low_half = avx._mm256_set1_epi8(15);
        let codes: __m256i = cast(*codes);
        let later = avx2._mm256_srli_epi16::<4>(codes);
        let [first_lower, second_lower]: [__m256i; 2] = cast(*lower);
        let first = avx2._mm256_shuffle_epi8(table, avx2._mm256_and_si256(codes, low_half));
        let second = avx2._mm256_shuffle_epi8(table, avx2._mm256_and_si256(later, low_half));
        let words: [__m256i; 4] = [
            avx2._mm256_unpacklo_epi8(first_lower, first),
            avx2._mm256_unpackhi_epi8(first_lower, first),
            avx2._mm256_unpacklo_epi8(second_lower, second),
            avx2._mm256_unpackhi_epi8(second_lower, second),
        ];
        cast(words)
    }
}

/// See [`Lookup::pack`].
struct Pack<'a> {
    simd: V3,
    table: &'a [u8; CODES],
    words: &'a [i32; WORDS],
    codes: &'a mut [u8; GROUP / 2],
    lower: &'a mut [u8; GROUP],
}

impl NullaryFnOnce for Pack<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let (avx, avx2) = (self.simd.avx, self.simd.avx2);
        let words: [__m256i; 4] = cast(*self.words);
        let low_byte = avx._mm256_set1_epi16(0xff);
        let mut lower = [avx._mm256_setzero_si256(); 2];
        let mut codes = lower;
        for ((words, lower), codes) in words.as_chunks().0.iter().zip(&mut lower).zip(&mut codes) {
            let [first, second]: [__m256i; 2] = *words;
            *lower = avx2._mm256_packus_epi16(
                avx2._mm256_and_si256(first, low_byte),
                avx2._mm256_and_si256(second, low_byte),
            );
            let upper = avx2._mm256_packus_epi16(
                avx2._mm256_srli_epi16::<8>(first),
                avx2._mm256_srli_epi16::<8>(second),
            );
            // One more than the code, 0 for a byte without one.
            for (number, byte) in (1..).zip(self.table) {
                let here = avx2._mm256_cmpeq_epi8(upper, avx._mm256_set1_epi8(byte.cast_signed()));
                let number = avx2._mm256_and_si256(here, avx._mm256_set1_epi8(number));
                *codes = avx2._mm256_or_si256(*codes, number);
            }
        }
        let known = avx2._mm256_min_epu8(codes[0], codes[1]);
        let unknown = avx2._mm256_cmpeq_epi8(known, avx._mm256_setzero_si256());
        let one = avx._mm256_set1_epi8(1);
        let first = avx2._mm256_sub_epi8(codes[0], one);
        let second = avx2._mm256_sub_epi8(codes[1], one);
        *self.lower = cast(lower);
        // Codes are below 16: nothing of one byte reaches the next.
        *self.codes = cast(avx2._mm256_or_si256(first, avx2._mm256_slli_epi16::<4>(second)));
        avx2._mm256_movemask_epi8(unknown) == 0
    }
}
