//! The shapes of markers.

/// A shape of its own for each colour, of about `size` units from the middle to the rim.
pub(crate) fn marker(colour: usize, x: f64, y: f64, size: f64, class: &str, title: &str) -> String {
    let double = 2.0 * size;
    let shape = match colour % 4 {
        0 => {
            let arc = format!("a{size:.1} {size:.1} 0 1 0");
            format!("M{:.1} {y:.1}{arc} {double:.1} 0{arc} -{double:.1} 0z", x - size)
        }
        1 => {
            let (to_corner, edge) = (0.9 * size, 1.8 * size);
            format!("M{:.1} {:.1}h{edge:.1}v{edge:.1}h-{edge:.1}z", x - to_corner, y - to_corner)
        }
        2 => {
            let (half, tall) = (1.15 * size, 2.1 * size);
            let base = 2.0 * half;
            format!("M{x:.1} {:.1}l{half:.1} {tall:.1}h-{base:.1}z", y - 1.25 * size)
        }
        _ => {
            let half = 1.3 * size;
            let top = y - half;
            format!(
                "M{x:.1} {top:.1}l{half:.1} {half:.1}l-{half:.1} {half:.1}l-{half:.1} -{half:.1}z"
            )
        }
    };
    let open = format!("<path class=\"{class}\" d=\"{shape}\"");
    if title.is_empty() { open + "/>" } else { format!("{open}><title>{title}</title></path>") }
}
