//! Points in time as people and other programs read them.

/// `ms` (milliseconds since 1970, UTC) as ISO 8601: `2024-01-15T10:30:00.000Z`.
pub fn iso_time(ms: i64) -> String {
    const DAY: i64 = 86_400_000;
    let (days, rest) = (ms.div_euclid(DAY), ms.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from a 1st of March, a leap day is the last of its year, and 400 years are always as
    // long.
    const DAYS_TO_MARCH_0000: i64 = 719_468;
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let from_march = days + DAYS_TO_MARCH_0000;
    let era = from_march.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = from_march.rem_euclid(DAYS_IN_400_YEARS);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_iso_8601() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_705_314_600_123, "2024-01-15T10:30:00.123Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_time(ms), expected);
        }
    }
}
