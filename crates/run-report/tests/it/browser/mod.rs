//! The report in a real browser of Chromium's family, if one is installed: opened from disk without network, at the width of a
//! desktop and of a phone, and printed.

mod chromium;
#[path = "../../../examples/sample_report/runs.rs"]
mod runs;

use std::fs;
use std::path::Path;

use chromium::Chromium;
use serde::Deserialize;

/// Page that shows another in frames of several widths and measures it there.
const PROBE: &str = include_str!("probe.html");

/// Measurements of the probe in one frame.
#[derive(Debug, Deserialize)]
struct Found {
    /// Width of the frame, in CSS pixels.
    width: u32,
    /// Width of the page minus the width of the frame.
    overflow: f64,
    /// The first elements that reach beyond the right edge, by name and class.
    beyond: Vec<String>,
    /// Charts that are large enough to read.
    charts: usize,
    /// Charts that are too small to read.
    hidden: usize,
    /// Lines, dots and bars of the charts that take up space.
    marks: usize,
    /// Addresses that the page fetched, or tried to.
    fetched: Vec<String>,
    /// Smallest text on the page, in CSS pixels on the screen.
    smallest_text: f64,
}

/// Measures a page in a browser: its frames, its console and its requests.
fn look(browser: &Chromium, page: &str) -> (Vec<Found>, chromium::Visit) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("report.html"), page).expect("a writable folder");
    let probe = folder.path().join("probe.html");
    fs::write(&probe, PROBE).expect("a writable folder");
    let visit = browser.visit(&probe, &["--dump-dom"]);
    let json =
        visit.output.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split('<').next());
    let json = json.unwrap_or_else(|| panic!("the probe did not run: {visit:?}"));
    (serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}")), visit)
}

fn here() -> Option<Chromium> {
    let browser = Chromium::find();
    if browser.is_none() {
        eprintln!("not run: no chromium or chrome here; BROWSER names one");
    }
    browser
}

#[test]
fn the_report_is_whole_on_a_desk_and_on_a_phone() {
    let Some(browser) = here() else { return };
    let (frames, visit) = look(&browser, &runs::sample().render());
    assert_eq!(frames.iter().map(|frame| frame.width).collect::<Vec<_>>(), [1280, 390]);
    let charts = runs::sample().charts().len();
    for frame in &frames {
        assert_eq!((frame.charts, frame.hidden), (charts, 0), "{frame:?}");
        assert!(frame.marks > 10 * charts, "{frame:?}");
        assert!(frame.overflow <= 0.0 && frame.beyond.is_empty(), "{frame:?}");
        assert!(frame.fetched.is_empty(), "{frame:?}");
        assert!(frame.smallest_text >= 9.0, "{frame:?}");
    }
    assert_eq!((visit.console, visit.asked), (vec![], vec![]));
}

/// A page with every fault: the probe finds each of them.
#[test]
fn the_look_finds_what_is_wrong() {
    let Some(browser) = here() else { return };
    let page = "<!doctype html><body><div class=wide style='width:500px'>wide</div><p style='font-size:4px'>small</p>\
                <svg class=chart style='display:none'><path class=line d='M0 0L9 9'/></svg>\
                <img src='http://report.example/pixel.png'><script>console.error('a complaint')</script>";
    let (frames, visit) = look(&browser, page);
    let (desk, phone) = (&frames[0], &frames[1]);
    assert_eq!((desk.overflow > 0.0, phone.overflow > 0.0), (false, true), "{frames:?}");
    assert_eq!(phone.beyond, ["DIV.wide"]);
    assert_eq!((desk.charts, desk.hidden, desk.marks), (0, 1, 0));
    assert!(desk.smallest_text < 9.0);
    assert_eq!(desk.fetched, ["http://report.example/pixel.png"]);
    assert!(visit.console.iter().any(|line| line.contains("a complaint")), "{visit:?}");
    assert!(visit.asked.iter().any(|line| line.contains("report.example")), "{visit:?}");
}

#[test]
fn the_report_prints_on_several_pages_of_paper() {
    let Some(browser) = here() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("report.html");
    runs::sample().write(&page).expect("a writable folder");
    let printed = folder.path().join("report.pdf");
    // The reader prefers a dark screen.
    let dark = "--blink-settings=preferredColorScheme=0";
    browser.visit(&page, &[dark, "--no-pdf-header-footer", &option("--print-to-pdf", &printed)]);
    let pdf = fs::read(&printed).expect("the browser prints");
    let text = String::from_utf8_lossy(&pdf);
    let pages = text.matches("/Type /Page\n").count();
    assert!(pdf.starts_with(b"%PDF") && (3..40).contains(&pages), "{pages} pages");
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
