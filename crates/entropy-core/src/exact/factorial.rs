//! Inverse factorials, for the series of the exponential.

/// `1/n!` from `n = 2` on, each as the nearest `f64` and what that leaves out.
pub(super) const INVERSE_FACTORIALS: [(f64, f64); 14] = [
    (0.5, 0.0),
    (0.166_666_666_666_666_66, 9.251_858_538_542_97e-18),
    (0.041_666_666_666_666_664, 2.312_964_634_635_742_7e-18),
    (0.008_333_333_333_333_333, 1.156_482_317_317_871_4e-19),
    (0.001_388_888_888_888_889, -5.300_543_954_373_577e-20),
    (0.000_198_412_698_412_698_4, 1.720_955_829_342_070_5e-22),
    (2.480_158_730_158_73e-5, 2.151_194_786_677_588_2e-23),
    (2.755_731_922_398_589_3e-6, -1.858_393_274_046_472e-22),
    (2.755_731_922_398_589e-7, 2.376_771_462_225_029_7e-23),
    (2.505_210_838_544_172e-8, -1.448_814_070_935_912e-24),
    (2.087_675_698_786_81e-9, -1.207_345_059_113_26e-25),
    (1.605_904_383_682_161_3e-10, 1.258_529_458_875_209_8e-26),
    (1.147_074_559_772_972_5e-11, 2.065_551_275_283_074_5e-28),
    (7.647_163_731_819_816e-13, 7.038_728_777_334_53e-30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_the_one_before_divided_by_its_number() {
        let mut previous = (1.0f64, 0.0f64);
        for (index, (high, low)) in INVERSE_FACTORIALS.into_iter().enumerate() {
            let number = index as f64 + 2.0;
            // What n·(high + low) differs by from the one before, without rounding in its first part.
            let error = high.mul_add(number, -previous.0) + low.mul_add(number, -previous.1);
            assert!(error.abs() <= 1e-31 * previous.0, "1/{number}!: {error:e}");
            previous = (high, low);
        }
    }
}
