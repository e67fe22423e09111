//! One page with every kind of mark, and each chart as SVG, PNG and PDF: `cargo run -p entropy-figures --example gallery -- FOLDER`.

use figures::chart_svg::standalone_svg;
use figures::picture::PictureMaker;
use figures::print_size::PrintSize;
use figures::{Axis, Block, Chart, Figure, Mark, Page, Section, Series};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| ".".into(), std::path::PathBuf::from);
    let charts = vec![spreads(), bars(), many(), scatter()];
    let (pictures, size) = (PictureMaker::with_system_fonts()?, PrintSize::new(8.5, 8.0)?);
    for chart in &charts {
        let file = |kind: &str| folder.join(format!("{}.{kind}", chart.stem));
        std::fs::write(file("svg"), standalone_svg(chart))?;
        std::fs::write(file("png"), pictures.png(chart, size)?)?;
        std::fs::write(file("pdf"), pictures.pdf(chart, size)?)?;
    }
    let figure = |chart| Figure { chart, caption: "Invented numbers.".to_owned() };
    let blocks = vec![Block::Figures(charts.into_iter().map(figure).collect())];
    let page = Page {
        title: "Marks".to_owned(),
        headline: "Every way in which a series can be drawn.".to_owned(),
        sections: vec![Section::new("marks", "Marks", blocks)],
        ..Page::default()
    };
    Ok(std::fs::write(folder.join("gallery.html"), page.html())?)
}

fn chart(stem: &str, title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    let (stem, title) = (stem.to_owned(), title.to_owned());
    Chart { stem, title, description: "An example.".to_owned(), x, y, series }
}

fn spreads() -> Chart {
    let steps: Vec<f64> = (0..60).map(|index| 10_f64.powf(f64::from(index) / 20.0)).collect();
    let curve = |name: &str, colour, rate: f64| {
        let value = |step: f64| 2.0 * (1.0 + step).powf(-rate);
        let points = steps.iter().map(|&step| (step, value(step))).collect();
        let spread = steps.iter().map(|&step| (step, 0.8 * value(step), 1.2 * value(step)));
        Series::new(name, colour, Mark::Line, points).with_spread(spread.collect())
    };
    let x = Axis::log("Step", steps.iter().copied());
    let mut series = vec![curve("GRPO", 0, 0.9), curve("KL-Cov", 1, 0.3)];
    let y = Axis::log("Entropy (nats per token)", series.iter().flat_map(Series::heights));
    series.push(Series::level("where it began", &x, 2.0));
    chart("spreads", "Bands on logarithmic axes", x, y, series)
}

fn bars() -> Chart {
    let methods =
        ["GRPO", "Clip-higher", "Clip-Cov", "KL-Cov", "Entropy bonus 0.06", "Reference KL"];
    let series = |name: &str, colour, values: [f64; 6]| {
        let points: Vec<_> =
            values.iter().enumerate().map(|(at, &value)| (at as f64, value)).collect();
        let spread = points.iter().map(|&(at, value)| (at, value - 0.03, value + 0.02)).collect();
        Series::new(name, colour, Mark::Bars, points).with_spread(spread)
    };
    let series = vec![
        series("sampled", 0, [0.91, 0.91, 0.92, 0.91, 0.98, 0.85]),
        series("greedy", 1, [0.91, 0.92, 0.96, 0.97, 0.99, 0.87]),
    ];
    let y = Axis::around(
        "Expected reward (0 to 1)",
        series.iter().flat_map(Series::heights),
        true,
        0.04,
    );
    chart(
        "bars",
        "Grouped bars with error bars",
        Axis::of_categories("Method", &methods),
        y,
        series,
    )
}

fn many() -> Chart {
    let series: Vec<Series> = (0..10_u32)
        .map(|index| {
            let point =
                |step: u32| (f64::from(step), f64::from(index + 1) * f64::from(step).sqrt());
            let points = (0..=8).map(point).collect();
            Series::new(&format!("method {index}"), index as usize, Mark::Marked, points)
        })
        .collect();
    let y = Axis::around("Value", series.iter().flat_map(Series::heights), true, 0.04);
    chart("many", "Ten series", Axis::from_to("Step", 0.0, 8.0), y, series)
}

fn scatter() -> Chart {
    let points: Vec<_> =
        (1..12_u32).map(|size| (f64::from(size * size), 0.1 * f64::from(size).ln())).collect();
    let spread = points.iter().map(|&(x, y)| (x, y - 0.02, y + 0.03)).collect();
    let fit = points.iter().map(|&(x, _)| (x, 0.05 * x.ln())).collect();
    let series = vec![
        Series::new("coefficient a", 2, Mark::Points, points.clone()).with_spread(spread),
        Series::new("coefficient a", 2, Mark::Fit, fit),
    ];
    let y = Axis::around("a (reward)", series.iter().flat_map(Series::heights), false, 0.05);
    chart(
        "scatter",
        "A fit with error bars",
        Axis::log("Size (features)", points.iter().map(|p| p.0)),
        y,
        series,
    )
}
