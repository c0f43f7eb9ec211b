//! The data behind a plot.

use serde_json::{Map, Value};

/// A chart. It is read leniently: other members are ignored, and a type that is newer than this client is kept as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub title: Option<String>,
    pub plot: Plot,
}

/// What a chart shows, by its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    Line(Axes, Ticks, Vec<Series>),
    Scatter(Axes, Ticks, Vec<Series>),
    Bar(Axes, Vec<Bar>),
    Pie(Vec<Slice>),
    BoxAndWhisker(Axes, Vec<Quartiles>),
    /// One chart for each axes of a figure.
    Super(Vec<Chart>),
    /// A plot that the server did not recognise (`unknown`), or that this client does not know.
    Other {
        kind: String,
        elements: Vec<Value>,
    },
}

/// Labels and units of both axes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Axes {
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    pub x_unit: Option<String>,
    pub y_unit: Option<String>,
}

/// Ticks and scales of both axes. A tick is a number, or a time as ISO text.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticks {
    pub x_ticks: Vec<Value>,
    pub x_tick_labels: Vec<String>,
    pub x_scale: Scale,
    pub y_ticks: Vec<Value>,
    pub y_tick_labels: Vec<String>,
    pub y_scale: Scale,
}

/// How values are laid out along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Datetime,
    Categorical,
    Log,
    Symlog,
    Logit,
    Function,
    FunctionLog,
    Asinh,
    /// Missing, or newer than this client.
    Unknown,
}

impl Scale {
    fn from_json(value: &Value) -> Scale {
        match value.as_str() {
            Some("linear") => Scale::Linear,
            Some("datetime") => Scale::Datetime,
            Some("categorical") => Scale::Categorical,
            Some("log") => Scale::Log,
            Some("symlog") => Scale::Symlog,
            Some("logit") => Scale::Logit,
            Some("function") => Scale::Function,
            Some("functionlog") => Scale::FunctionLog,
            Some("asinh") => Scale::Asinh,
            _ => Scale::Unknown,
        }
    }
}

/// Points with a label. A coordinate is a number, or text on categorical and time axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub label: String,
    pub points: Vec<(Value, Value)>,
}

/// A bar of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub label: String,
    pub group: String,
    pub value: Value,
}

/// A slice of a pie.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    pub label: String,
    /// Degrees.
    pub angle: f64,
    pub radius: f64,
}

/// A box with its whiskers.
#[derive(Debug, Clone, PartialEq)]
pub struct Quartiles {
    pub label: String,
    pub min: f64,
    pub first_quartile: f64,
    pub median: f64,
    pub third_quartile: f64,
    pub max: f64,
    pub outliers: Vec<f64>,
}

impl Chart {
    /// Reads a chart; `None` for an empty object, and for one that lacks what its type must have.
    pub fn from_json(value: &Value) -> Option<Chart> {
        let chart = value.as_object().filter(|chart| !chart.is_empty())?;
        let elements = chart.get("elements")?.as_array()?;
        let title = optional(chart, "title")?;
        let plot = match chart.get("type").and_then(Value::as_str).unwrap_or("") {
            "line" => Plot::Line(axes(chart)?, ticks(chart)?, all(elements, series)?),
            "scatter" => Plot::Scatter(axes(chart)?, ticks(chart)?, all(elements, series)?),
            "bar" => Plot::Bar(axes(chart)?, all(elements, bar)?),
            "pie" => Plot::Pie(all(elements, slice)?),
            "box_and_whisker" => Plot::BoxAndWhisker(axes(chart)?, all(elements, box_of)?),
            "superchart" => Plot::Super(all(elements, Chart::from_json)?),
            "" => Plot::Other { kind: "unknown".to_owned(), elements: elements.clone() },
            kind => Plot::Other { kind: kind.to_owned(), elements: elements.clone() },
        };
        Some(Chart { title, plot })
    }
}

fn all<T>(elements: &[Value], read: fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    elements.iter().map(read).collect()
}

/// A member that must be there and may be null.
fn optional(object: &Map<String, Value>, name: &str) -> Option<Option<String>> {
    object.get(name).map(|value| value.as_str().map(str::to_owned))
}

fn axes(chart: &Map<String, Value>) -> Option<Axes> {
    Some(Axes {
        x_label: optional(chart, "x_label")?,
        y_label: optional(chart, "y_label")?,
        x_unit: optional(chart, "x_unit")?,
        y_unit: optional(chart, "y_unit")?,
    })
}

fn ticks(chart: &Map<String, Value>) -> Option<Ticks> {
    let values = |name| chart.get(name)?.as_array().cloned();
    let labels = |name| Some(values(name)?.iter().map(text).collect());
    let scale = |name| chart.get(name).map_or(Scale::Unknown, Scale::from_json);
    Some(Ticks {
        x_ticks: values("x_ticks")?,
        x_tick_labels: labels("x_tick_labels")?,
        x_scale: scale("x_scale"),
        y_ticks: values("y_ticks")?,
        y_tick_labels: labels("y_tick_labels")?,
        y_scale: scale("y_scale"),
    })
}

fn series(element: &Value) -> Option<Series> {
    let points = element.get("points")?.as_array()?.iter().map(|point| match point.as_array()?.as_slice() {
        [x, y] => Some((x.clone(), y.clone())),
        _ => None,
    });
    Some(Series { label: label(element)?, points: points.collect::<Option<_>>()? })
}

fn bar(element: &Value) -> Option<Bar> {
    Some(Bar { label: label(element)?, group: text(element.get("group")?), value: element.get("value")?.clone() })
}

fn slice(element: &Value) -> Option<Slice> {
    Some(Slice { label: label(element)?, angle: number(element, "angle")?, radius: number(element, "radius")? })
}

fn box_of(element: &Value) -> Option<Quartiles> {
    let outliers = element.get("outliers").and_then(Value::as_array).into_iter().flatten();
    Some(Quartiles {
        label: label(element)?,
        min: number(element, "min")?,
        first_quartile: number(element, "first_quartile")?,
        median: number(element, "median")?,
        third_quartile: number(element, "third_quartile")?,
        max: number(element, "max")?,
        outliers: outliers.filter_map(Value::as_f64).collect(),
    })
}

fn label(element: &Value) -> Option<String> {
    element.get("label").map(text)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A member that must be there. A non-finite number arrives as null.
fn number(object: &Value, name: &str) -> Option<f64> {
    object.get(name).map(|value| value.as_f64().unwrap_or(f64::NAN))
}
