//! Charts as SVG, and the self-contained HTML page around them.
//!
//! No script, no network: a [`Page`] carries its style and draws its charts inline, light and dark by CSS.
//! Nothing here fails but [`picture`]: what is not finite is left out or shown as a dash, text is escaped.
//!
//! | module | answers |
//! |---|---|
//! | [`chart`], [`chart_svg`], [`axis_ticks`] | what a chart shows, and how it is drawn |
//! | [`picture`], [`print_size`] | charts as PNG and PDF, as wide and with letters as large as a paper wants |
//! | [`page`], [`html`] | sections, figures and tables, and the document around them |
//! | [`number_format`], [`moving_average`] | numbers and noisy curves as a reader wants them |

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

pub mod axis_ticks;
pub mod chart;
pub mod chart_svg;
pub mod html;
pub mod moving_average;
pub mod number_format;
pub mod page;
mod pdf;
pub mod picture;
mod presentation;
pub mod print_size;
mod svg_marker;
mod text_width;

pub use chart::{Axis, Chart, Mark, Series};
pub use page::{Block, Figure, Page, Section};
