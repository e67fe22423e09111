//! A drawing of plain colours as a PDF of one page.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use resvg::tiny_skia::{Path, PathSegment, Point, Transform};
use resvg::usvg::{self, Color, FillRule, Group, LineCap, LineJoin, Node, Paint, Tree};

/// Points of a pixel of CSS.
const POINTS: f32 = 0.75;

/// Writes what charts consist of: filled and stroked paths, clipped and translucent groups, and letters as outlines. Gradients,
/// images and masks are left out. The opacity of a group goes to each of its paths.
pub(crate) fn pdf(tree: &Tree) -> Vec<u8> {
    let (width, height) = (POINTS * tree.size().width(), POINTS * tree.size().height());
    let mut page = Page::default();
    page.content += &format!("{POINTS} 0 0 -{POINTS} 0 {height:.2} cm\n");
    page.group(tree.root(), 1.0);
    let state = |(index, opacity): (usize, &f32)| {
        format!("/G{index} << /ca {opacity:.3} /CA {opacity:.3} >> ")
    };
    let states: String = page.opacities.iter().enumerate().map(state).collect();
    let mut encoder = ZlibEncoder::new(vec![], Compression::default());
    encoder.write_all(page.content.as_bytes()).expect("memory takes every byte");
    let content = encoder.finish().expect("memory takes every byte");
    let stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len());
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Contents 4 0 R \
             /Resources << /ExtGState << {states}>> >> >>"
        )
        .into_bytes(),
        [stream.as_bytes(), &content, b"\nendstream"].concat(),
    ];
    file(&objects)
}

/// Assembles numbered objects, of which the first is the catalogue.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    // Bytes above 127 tell programs that the file is binary.
    let mut file = b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n".to_vec();
    let mut offsets = String::new();
    for (index, object) in objects.iter().enumerate() {
        offsets += &format!("{:010} 00000 n \n", file.len());
        let open = format!("{} 0 obj\n", index + 1);
        file.extend([open.as_bytes(), object, b"\nendobj\n"].concat());
    }
    let (start, count) = (file.len(), objects.len() + 1);
    let trailer = format!(
        "xref\n0 {count}\n0000000000 65535 f \n{offsets}trailer\n<< /Size {count} /Root 1 0 R >>\n\
         startxref\n{start}\n%%EOF\n"
    );
    file.extend(trailer.into_bytes());
    file
}

#[derive(Default)]
struct Page {
    content: String,
    /// Opacities in use, one graphics state each.
    opacities: Vec<f32>,
}

impl Page {
    fn group(&mut self, group: &Group, opacity: f32) {
        let opacity = opacity * group.opacity().get();
        self.content += "q\n";
        self.content += &matrix(group.transform());
        if let Some(clip) = group.clip_path() {
            for node in clip.root().children() {
                let Node::Path(path) = node else { continue };
                let placed = path.data().clone().transform(clip.transform());
                self.content += &placed.map_or_else(String::new, |path| outline(&path) + "W n\n");
            }
        }
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, opacity),
                Node::Text(text) => self.group(text.flattened(), opacity),
                Node::Path(path) if path.is_visible() => self.path(path, opacity),
                Node::Path(_) | Node::Image(_) => {}
            }
        }
        self.content += "Q\n";
    }

    fn path(&mut self, path: &usvg::Path, opacity: f32) {
        if let Some(fill) = path.fill()
            && let Paint::Color(colour) = fill.paint()
        {
            let rule = if fill.rule() == FillRule::EvenOdd { "f*" } else { "f" };
            self.opacity(opacity * fill.opacity().get());
            self.content += &format!("{} rg\n{}{rule}\n", rgb(*colour), outline(path.data()));
        }
        if let Some(stroke) = path.stroke()
            && let Paint::Color(colour) = stroke.paint()
        {
            let cap = match stroke.linecap() {
                LineCap::Butt => 0,
                LineCap::Round => 1,
                LineCap::Square => 2,
            };
            let join = match stroke.linejoin() {
                LineJoin::Miter | LineJoin::MiterClip => 0,
                LineJoin::Round => 1,
                LineJoin::Bevel => 2,
            };
            let dashes: Vec<String> =
                stroke.dasharray().unwrap_or_default().iter().map(f32::to_string).collect();
            self.opacity(opacity * stroke.opacity().get());
            self.content += &format!(
                "{} RG {} w {cap} J {join} j [{}] {} d\n{}S\n",
                rgb(*colour),
                stroke.width().get(),
                dashes.join(" "),
                stroke.dashoffset(),
                outline(path.data())
            );
        }
    }

    fn opacity(&mut self, opacity: f32) {
        let known = self.opacities.iter().position(|one| (one - opacity).abs() < 1e-4);
        let index = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        self.content += &format!("/G{index} gs\n");
    }
}

fn rgb(colour: Color) -> String {
    let part = |value: u8| f32::from(value) / 255.0;
    format!("{:.4} {:.4} {:.4}", part(colour.red), part(colour.green), part(colour.blue))
}

fn matrix(transform: Transform) -> String {
    if transform.is_identity() {
        return String::new();
    }
    let Transform { sx, ky, kx, sy, tx, ty } = transform;
    format!("{sx:.6} {ky:.6} {kx:.6} {sy:.6} {tx:.4} {ty:.4} cm\n")
}

/// The operators of a path; a quadratic curve is raised to a cubic one.
fn outline(path: &Path) -> String {
    let (mut operators, mut last) = (String::new(), Point::zero());
    for segment in path.segments() {
        let (points, operator) = match segment {
            PathSegment::MoveTo(to) => (vec![to], "m\n"),
            PathSegment::LineTo(to) => (vec![to], "l\n"),
            PathSegment::QuadTo(by, to) => {
                let third = |from: f32, by: f32| from + 2.0 / 3.0 * (by - from);
                let towards =
                    |from: Point| Point::from_xy(third(from.x, by.x), third(from.y, by.y));
                (vec![towards(last), towards(to), to], "c\n")
            }
            PathSegment::CubicTo(one, two, to) => (vec![one, two, to], "c\n"),
            PathSegment::Close => (vec![], "h\n"),
        };
        for point in &points {
            operators += &format!("{:.3} {:.3} ", point.x, point.y);
        }
        operators += operator;
        last = points.last().copied().unwrap_or(last);
    }
    operators
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn paths_groups_and_clips_become_operators() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='96' height='48'>\
                   <rect width='96' height='48' fill='#ff0000'/>\
                   <svg x='8' y='8' width='16' height='16'>\
                   <path d='M0 0L32 32' stroke='#0000ff' stroke-dasharray='4 2' opacity='0.5'/></svg></svg>";
        let bytes = pdf(&Tree::from_str(svg, &usvg::Options::default()).unwrap());
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("%PDF-1.4") && text.ends_with("%%EOF\n"));
        assert!(text.contains("/MediaBox [0 0 72.00 36.00]"));
        assert!(text.contains("/ca 0.500 /CA 0.500"));
        let start = bytes.windows(7).position(|window| window == b"stream\n").unwrap() + 7;
        let mut content = String::new();
        flate2::read::ZlibDecoder::new(&bytes[start..]).read_to_string(&mut content).unwrap();
        for part in ["1.0000 0.0000 0.0000 rg\n", "W n\n", "[4 2] 0 d\n"] {
            assert!(content.contains(part), "{content}");
        }
        assert!(content.matches("q\n").count() >= 2, "{content}");
        assert_eq!(content.matches("q\n").count(), content.matches("Q\n").count());
    }

    /// Programs find objects by their offsets.
    #[test]
    fn the_table_points_at_the_objects() {
        let bytes = file(&[b"<< >>".to_vec(), b"[1 2]".to_vec()]);
        let text = String::from_utf8_lossy(&bytes[15..]);
        assert!(text.starts_with("1 0 obj\n<< >>\nendobj\n2 0 obj\n[1 2]"));
        assert!(text.contains("0000000015 00000 n \n0000000036 00000 n \n"), "{text}");
    }
}
