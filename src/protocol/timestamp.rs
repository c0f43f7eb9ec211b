//! Points in time as data; this crate never asks for the present one.

/// A point in time; `nanos` counts forward from `seconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// 0 ..= 999 999 999.
    pub nanos: u32,
}

impl Timestamp {
    /// Reads RFC 3339 with an offset or `Z`; without either, UTC is meant. Digits beyond nanoseconds are dropped. `None`
    /// for anything else.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let (date, time) = text.split_at_checked(10)?;
        let mut date = date.split('-');
        let (year, month, day) = (number(date.next()?, 4)?, number(date.next()?, 2)?, number(date.next()?, 2)?);
        let time = time.strip_prefix(['T', 't', ' '])?;
        let (clock, rest) = time.split_at_checked(8)?;
        let mut clock = clock.split(':');
        let (hour, minute, second) = (number(clock.next()?, 2)?, number(clock.next()?, 2)?, number(clock.next()?, 2)?);
        let in_range = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !in_range || date.next().is_some() || clock.next().is_some() {
            return None;
        }
        let (nanos, zone) = fraction(rest)?;
        let seconds = days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
        Some(Timestamp { seconds, nanos })
    }

    /// Milliseconds since the epoch, as `Date` counts them; what is finer is dropped.
    pub fn as_millis(self) -> f64 {
        self.seconds as f64 * 1000.0 + f64::from(self.nanos / 1_000_000)
    }

    /// Nanoseconds since the epoch; of the present time, a double holds every quarter of a microsecond.
    pub fn as_nanos(self) -> f64 {
        self.seconds as f64 * 1e9 + f64::from(self.nanos)
    }
}

/// A number of exactly `digits` digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Nanoseconds of an optional `.123`, and what follows it.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(digits) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let nanos = digits[..end].bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((nanos.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')), &digits[end..]))
}

/// Seconds that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last one; 719 468 days lie between 0000-03-01 and the epoch.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
