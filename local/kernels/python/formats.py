"""Adds what programs read to what people see: `data` of a DataFrame, `chart` of a figure, `json` of lists and dicts.

Nothing heavy is imported here: pandas and matplotlib are only looked at once the program itself has imported them.
"""

import datetime
import math
import sys
import uuid

from IPython.core.formatters import BaseFormatter, DisplayFormatter
from traitlets import ObjectName, Unicode

# Nesting beyond this is not data that anybody reads, and integers beyond it cannot be told apart by most readers.
DEEPEST = 200
SMALLEST_INTEGER, LARGEST_INTEGER = -(1 << 63), (1 << 64) - 1


class NotJson(Exception):
    """The value has no counterpart in JSON."""


def plain(value, depth=0):
    """The JSON counterpart of a value, with numbers that are not finite as None."""
    if depth > DEEPEST:
        raise NotJson
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if not SMALLEST_INTEGER <= value <= LARGEST_INTEGER:
            raise NotJson
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key_text(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.datetime64):
            return str(value)
        if isinstance(value, (numpy.generic, numpy.ndarray)):
            converted = value.tolist()
            if not isinstance(converted, (numpy.generic, numpy.ndarray)):
                return plain(converted, depth + 1)
    raise NotJson


def key_text(key):
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, (int, float, datetime.date, datetime.time, uuid.UUID)):
        return str(plain(key))
    raise NotJson


def json_of(value):
    try:
        return plain(value), {}
    except (NotJson, RecursionError):
        return None


def data_of(frame):
    try:
        columns = frame.to_dict(orient="list")
        return {str(name): [cell(value) for value in values] for name, values in columns.items()}
    except Exception:
        # The value is still shown as text and html.
        return None


def cell(value):
    # Also for pandas.NaT, whose text is "NaT".
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    pandas = sys.modules["pandas"]
    if value is pandas.NA:
        return None
    return plain(value)


def chart_of(figure):
    try:
        from e2b_charts import chart_figure_to_dict

        return plain(chart_figure_to_dict(figure) or {})
    except Exception:
        return {}


class DataFormatter(BaseFormatter):
    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = dict

    def __call__(self, obj):
        # Not registered for the type: matplotlib's backend removes what is, when it sets up its own formats.
        figures = sys.modules.get("matplotlib.figure")
        if figures is not None and isinstance(obj, figures.Figure):
            return chart_of(obj)
        return None


def install(shell):
    display: DisplayFormatter = shell.display_formatter
    data = DataFormatter(parent=display)
    data.for_type_by_name("pandas.core.frame", "DataFrame", data_of)
    display.formatters["e2b/data"] = data
    display.formatters["e2b/chart"] = ChartFormatter(parent=display)
    for kind in (list, dict):
        display.formatters["application/json"].for_type(kind, json_of)
