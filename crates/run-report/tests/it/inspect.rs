//! The inspector as somebody at an 80 by 24 terminal sees it.

mod palette;

use std::fs;
use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier, Style};
use run_report::inspect::{Inspector, Palette, draw, summary};
use run_report::run_view::RunView;
use training_run::token_record::{TokenRecord, token_lines};

const HOSTILE: &str = "\u{1b}[31mred\u{7}";

/// One response as a line of `samples/step-N.jsonl`.
fn sample(group: usize, problem: &str, response: &str, verdict: &str, truncated: bool) -> String {
    let reward = if verdict == "right" { 1.0 } else { 0.0 };
    let line = serde_json::json!({
        "group": group, "question": format!("q-{group}"), "problem": problem, "answer": "5",
        "response": response, "reward": reward, "advantage": reward - 0.5, "response_tokens": 4,
        "truncated": truncated, "verdict": verdict, "how": {"rung": "number"},
    });
    format!("{line}\n")
}

fn metrics(step: u64) -> String {
    let step_number = step as f64;
    let line = serde_json::json!({
        "step": step, "actor/entropy": 1.0 - 0.1 * step_number, "critic/rewards/mean": 0.1 * step_number,
        "entropy/measured_change": -0.1, "cov/mean": 0.25, "response_length/mean": 4.0,
        "rollout/truncated_fraction": 0.25, "timing_s/step": 1.5,
    });
    format!("{line}\n")
}

/// A run of three steps, the last of which is not done, in `root/run`.
fn make_run(root: &Path) {
    let samples = root.join("run/samples");
    fs::create_dir_all(&samples).expect("a temporary folder");
    let lines = metrics(1) + &metrics(2) + "{\"step\":3,\"actor";
    fs::write(root.join("run/metrics.jsonl"), lines).expect("a temporary folder");
    for step in 1..=3 {
        let lines = sample(0, "What is 2 + 3?", "It is 5.\n#### 5", "right", false)
            + &sample(0, "What is 2 + 3?", "It is 6.", "wrong", false)
            + &sample(1, "How many?", &format!("{HOSTILE} step {step}"), "unparsed", true)
            + &sample(1, "How many?", "Five", "right", true);
        fs::write(samples.join(format!("step-{step}.jsonl")), lines).expect("a temporary folder");
    }
    let record = TokenRecord {
        sample: 0,
        token_ids: vec![11, 12, 13, 14],
        text: ["It is", " 5.\n", "#### ", "5"].map(str::to_owned).to_vec(),
        log_prob: vec![-0.5, -2.0, -0.01, -4.0],
        entropy: vec![0.05, 0.3, 1.0, 2.0],
        advantage: vec![0.5; 4],
        covariance: vec![0.01, -0.4, 0.02, 0.9],
        selected: Some(vec![3]),
    };
    fs::write(samples.join("step-2.tokens.jsonl"), token_lines(&[record]))
        .expect("a temporary folder");
}

struct Screen {
    inspector: Inspector,
    terminal: Terminal<TestBackend>,
    folder: tempfile::TempDir,
}

impl Screen {
    fn new(palette: Palette) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        make_run(folder.path());
        let view = RunView::open(&folder.path().join("run")).expect("a run");
        let terminal = Terminal::new(TestBackend::new(80, 24)).expect("a screen in memory");
        Self { inspector: Inspector::new(view, palette), terminal, folder }
    }

    /// Types: letters as they are, `>` for enter, `<` for escape.
    fn after(&mut self, keys: &str) -> String {
        for key in keys.chars() {
            let code = match key {
                '>' => KeyCode::Enter,
                '<' => KeyCode::Esc,
                letter => KeyCode::Char(letter),
            };
            self.inspector.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        self.terminal.draw(|frame| draw(frame, &self.inspector)).expect("a screen in memory");
        let lines = self.terminal.backend().to_string();
        let line = |line: &str| {
            let inner = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
            inner.unwrap_or(line).trim_end().to_owned() + "\n"
        };
        lines.lines().map(line).collect()
    }

    /// The style of the last character of `text`, where it stands first.
    fn style_of(&self, text: &str) -> Style {
        let buffer = self.terminal.backend().buffer();
        for row in 0..24 {
            let line: String = (0..80).map(|column| buffer[(column, row)].symbol()).collect();
            if let Some(place) = line.find(text) {
                let end = line[..place + text.len()].chars().count() - 1;
                let column = u16::try_from(end).expect("80 columns");
                return buffer[(column, row)].style();
            }
        }
        panic!("{text:?} is not on the screen");
    }
}

#[test]
fn every_level_fits_the_smallest_terminal() {
    let mut screen = Screen::new(Palette::Sixteen);
    // The step that is under way has responses and no metrics yet.
    insta::assert_snapshot!("inspect_steps", screen.after(""));
    insta::assert_snapshot!("inspect_groups", screen.after("k>"));
    insta::assert_snapshot!("inspect_samples", screen.after(">j"));
    insta::assert_snapshot!("inspect_tokens", screen.after("k>l"));
    insta::assert_snapshot!("inspect_without_tokens", screen.after("<<j>>"));
    insta::assert_snapshot!("inspect_help", screen.after("?"));
}

#[test]
fn tokens_are_coloured_by_what_the_keys_say() {
    let mut screen = Screen::new(Palette::Sixteen);
    screen.after("k>>>l");
    // The largest of four is exceeded by none, so the second largest and the largest stand out.
    assert_eq!(screen.style_of("It is").fg, Some(Color::Reset));
    let last = |screen: &Screen| screen.style_of("#### 5");
    assert_eq!(last(&screen).fg, Some(Color::Yellow));
    assert!(last(&screen).add_modifier.contains(Modifier::UNDERLINED), "selected");
    screen.after("e");
    assert_eq!(screen.style_of("####").fg, Some(Color::LightRed));
    assert_eq!(last(&screen).bg, Some(Color::Red));
    screen.after("p");
    assert_eq!(screen.style_of("####").fg, Some(Color::Reset));
    screen.after("a");
    assert_eq!(screen.style_of("It is").fg, Some(Color::Yellow));
    screen.after("s");
    assert_eq!(last(&screen).bg, Some(Color::Red));
    assert_eq!(screen.style_of("####").bg, Some(Color::Reset));
}

#[test]
fn nothing_is_coloured_without_colours() {
    let mut screen = Screen::new(Palette::Plain);
    for keys in ["", "k>", ">", ">", "e", "?"] {
        screen.after(keys);
        let cells = screen.terminal.backend().buffer().content().iter();
        assert!(cells.clone().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    }
}

#[test]
fn a_text_is_found_in_other_steps_and_what_a_terminal_obeys_is_not_shown() {
    let mut screen = Screen::new(Palette::Sixteen);
    let shown = screen.after("g/STEP 2>");
    assert!(shown.contains("step 2 > group 1 > sample 2"), "{shown}");
    assert!(shown.contains("·[31mred· step 2") && !shown.contains('\u{1b}'), "{shown}");
    assert!(screen.after("/many>").contains("step 2 > group 1 > sample 3"));
    assert!(screen.after("n").contains("step 3 > group 1 > sample 2"));
    assert!(screen.after("NN").contains("step 2 > group 1 > sample 2"));
    assert!(screen.after("/nowhere>").contains("no response after this one holds \"nowhere\""));
    // And stays where it was.
    assert!(screen.after("x").contains("step 2 > group 1 > sample 2"));
}

#[test]
fn a_step_is_jumped_to() {
    let mut screen = Screen::new(Palette::Sixteen);
    assert!(screen.after(":1>>").contains("step 1"));
    assert!(screen.after(":9>").contains("no step 9"));
    assert!(screen.after(":two>").contains("\"two\" is no step"));
    assert!(screen.after(":3>").contains("step 3"));
}

#[test]
fn a_filter_leaves_what_passes() {
    let mut screen = Screen::new(Palette::Sixteen);
    let right = screen.after("k>f");
    assert!(right.contains("[only right]") && right.contains("What is 2 + 3?"), "{right}");
    let wrong = screen.after("f");
    assert!(wrong.contains("[only wrong]") && !wrong.contains("How many?"), "{wrong}");
    let truncated = screen.after("ff");
    assert!(truncated.contains("[only truncated]") && !truncated.contains("2 + 3"), "{truncated}");
    assert!(screen.after("f").contains("What is 2 + 3?"));
}

#[test]
fn a_run_that_goes_on_is_followed() {
    let mut screen = Screen::new(Palette::Sixteen);
    screen.after("");
    let path = screen.folder.path().join("run/metrics.jsonl");
    fs::write(&path, metrics(1) + &metrics(2) + &metrics(3) + &metrics(4)).unwrap();
    screen.inspector.refresh();
    let shown = screen.after("");
    assert!(shown.contains("4 steps") && shown.contains("0.6000"), "{shown}");
    assert_eq!(screen.style_of("     4    0.400").add_modifier, Modifier::REVERSED, "chosen");
    // A file that is no longer one is said, and what was read stays.
    fs::write(&path, "no json\n").unwrap();
    screen.inspector.refresh();
    let shown = screen.after("");
    assert!(
        shown.contains("metrics.jsonl:1: not a JSON object") && shown.contains("0.6000"),
        "{shown}"
    );
}

#[test]
fn leaving_is_a_key_at_every_level() {
    for keys in ["q", ">q", ">>q", ">>>q"] {
        let mut screen = Screen::new(Palette::Sixteen);
        screen.after(keys);
        assert!(screen.inspector.is_done(), "{keys}");
    }
    let mut screen = Screen::new(Palette::Sixteen);
    // Among letters that are typed, a letter is one.
    screen.after("/q");
    assert!(!screen.inspector.is_done());
    screen.inspector.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(screen.inspector.is_done());
}

#[test]
fn the_summary_is_plain_lines() {
    let folder = tempfile::tempdir().unwrap();
    make_run(folder.path());
    let view = RunView::open(&folder.path().join("run")).unwrap();
    insta::assert_snapshot!("inspect_summary", summary(&view).unwrap());
}

#[test]
fn what_is_no_run_or_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = RunView::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("holds no run"), "{error}");
    make_run(folder.path());
    let view = RunView::open(&folder.path().join("run")).unwrap();
    let tokens = folder.path().join("run/samples/step-2.tokens.jsonl");
    let line = fs::read_to_string(&tokens).unwrap();
    fs::write(&tokens, line.replace("\"sample\":0", "\"sample\":4")).unwrap();
    let error = view.samples(2).unwrap_err().to_string();
    assert!(
        error.ends_with("step-2.tokens.jsonl:1: `sample` is 4, expected less than 4"),
        "{error}"
    );
    // Torn while it is written: what is whole is shown.
    fs::write(&tokens, &line[..line.len() / 2]).unwrap();
    assert!(view.samples(2).unwrap().iter().all(|sample| sample.tokens.is_none()));
}

/// Every text of a response's line comes from a file.
#[test]
fn no_text_of_a_response_reaches_the_terminal_as_a_command() {
    let folder = tempfile::tempdir().unwrap();
    make_run(folder.path());
    let line = sample(0, HOSTILE, HOSTILE, HOSTILE, false).replace("\"5\"", "\"\\u001b[31m\"");
    fs::write(folder.path().join("run/samples/step-3.jsonl"), line).unwrap();
    let text = summary(&RunView::open(&folder.path().join("run")).unwrap()).unwrap();
    assert!(text.contains("·[31mred· ·[31mred· => ·[31m: ·[31mred·"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
}
