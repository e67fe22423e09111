//! Charts and pages, through the public interface.

mod axis_ticks;
mod chart;
mod chart_svg;
mod html;
mod moving_average;
mod number_format;
