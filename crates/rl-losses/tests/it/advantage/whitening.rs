//! Advantages of mean 0 and variance 1 over a batch.

use rl_losses::whitened;

#[test]
fn what_does_not_vary_is_zero() {
    assert_eq!(whitened(&[0.1; 3]), [0.0; 3]);
    assert_eq!(whitened(&[5.0]), [0.0]);
    assert!(whitened(&[]).is_empty());
}
