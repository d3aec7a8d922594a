//! Colours as themes write them, and how far apart two of them look.
//!
//! Distances are taken in `OKLab`, where equal steps look equal; in plain RGB a dark blue is nearest to black.

use ratatui::style::Color;

/// The names of the sixteen colours that every terminal has, in their order.
pub const NAMES: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright-black", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("bright-white", Color::White),
];

/// The steps of each channel in the colour cube of 256 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Reads `#rrggbb`, `#rgb`, a name of the sixteen, a number up to 255, or `default`.
pub fn parse(text: &str) -> Option<Color> {
    if text == "default" {
        return Some(Color::Reset);
    }
    if let Some((_, colour)) = NAMES.iter().find(|(name, _)| *name == text) {
        return Some(*colour);
    }
    let Some(hex) = text.strip_prefix('#') else {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        return text.parse().ok().filter(|_| is_number).map(Color::Indexed);
    };
    let digits = hex.chars().map(|c| c.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let channel = |high: u32, low: u32| u8::try_from(high * 16 + low).ok();
    match *digits.as_slice() {
        [r, g, b] => Some(Color::Rgb(channel(r, r)?, channel(g, g)?, channel(b, b)?)),
        [r, r2, g, g2, b, b2] => Some(Color::Rgb(channel(r, r2)?, channel(g, g2)?, channel(b, b2)?)),
        _ => None,
    }
}

/// Returns the red, green and blue of a colour that is the same on every terminal.
pub fn rgb(colour: Color) -> Option<[u8; 3]> {
    match colour {
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(index @ 232..) => {
            let grey = 8 + 10 * (index - 232);
            Some([grey; 3])
        }
        Color::Indexed(index @ 16..=231) => {
            let cube = index - 16;
            let step = |n: u8| CUBE.get(usize::from(n % 6)).copied().unwrap_or_default();
            Some([step(cube / 36), step(cube / 6), step(cube)])
        }
        Color::Indexed(_)
        | Color::Reset
        | Color::Black
        | Color::Red
        | Color::Green
        | Color::Yellow
        | Color::Blue
        | Color::Magenta
        | Color::Cyan
        | Color::Gray
        | Color::DarkGray
        | Color::LightRed
        | Color::LightGreen
        | Color::LightYellow
        | Color::LightBlue
        | Color::LightMagenta
        | Color::LightCyan
        | Color::White => None,
    }
}

/// A colour by lightness and two opponent axes, in steps that look equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Oklab {
    pub lightness: f32,
    /// From green to red.
    pub a: f32,
    /// From blue to yellow.
    pub b: f32,
}

impl Oklab {
    /// Converts from red, green and blue.
    pub fn of(rgb: [u8; 3]) -> Self {
        let rgb = rgb.map(linear);
        let sum = |shares: [f32; 3]| rgb.iter().zip(shares).map(|(light, share)| light * share).sum::<f32>();
        // What the three kinds of cones of an eye take up.
        let long = sum([0.412_221_46, 0.536_332_55, 0.051_445_995]).cbrt();
        let medium = sum([0.211_903_5, 0.680_699_5, 0.107_396_96]).cbrt();
        let short = sum([0.088_302_46, 0.281_718_85, 0.629_978_7]).cbrt();
        Self {
            lightness: 0.210_454_26 * long + 0.793_617_8 * medium - 0.004_072_047 * short,
            a: 1.977_998_5 * long - 2.428_592_2 * medium + 0.450_593_7 * short,
            b: 0.025_904_037 * long + 0.782_771_77 * medium - 0.808_675_77 * short,
        }
    }

    /// Returns how different two colours look; just visible is about 0.02, black to white is 1.
    pub fn distance(self, other: Self) -> f32 {
        let (l, a, b) = (self.lightness - other.lightness, self.a - other.a, self.b - other.b);
        (l * l + a * a + b * b).sqrt()
    }

    /// Returns how far from grey it is.
    pub fn chroma(self) -> f32 {
        self.a.hypot(self.b)
    }

    /// Returns the angle of its hue, in degrees from 0 to 360: red is near 30, green 140, blue 260.
    pub fn hue(self) -> f32 {
        self.b.atan2(self.a).to_degrees().rem_euclid(360.0)
    }
}

/// Returns the light that a channel gives off, from 0 to 1.
pub fn linear(channel: u8) -> f32 {
    let share = f32::from(channel) / 255.0;
    if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("#1e90ff", Some(Color::Rgb(0x1e, 0x90, 0xff)))]
    #[case("#FA0", Some(Color::Rgb(0xff, 0xaa, 0)))]
    #[case("bright-blue", Some(Color::LightBlue))]
    #[case("white", Some(Color::Gray))]
    #[case("208", Some(Color::Indexed(208)))]
    #[case("default", Some(Color::Reset))]
    #[case("256", None)]
    #[case("+8", None)]
    #[case("#12345", None)]
    #[case("#é0", None)]
    #[case("#12é4", None)]
    #[case("#", None)]
    #[case("", None)]
    #[case("blurple", None)]
    fn a_colour_is_read_or_refused(#[case] text: &str, #[case] colour: Option<Color>) {
        assert_eq!(parse(text), colour);
    }

    #[test]
    fn the_cube_and_the_greys_have_the_values_of_xterm() {
        assert_eq!(rgb(Color::Indexed(16)), Some([0, 0, 0]));
        assert_eq!(rgb(Color::Indexed(208)), Some([255, 135, 0]));
        assert_eq!(rgb(Color::Indexed(231)), Some([255, 255, 255]));
        assert_eq!(rgb(Color::Indexed(232)), Some([8, 8, 8]));
        assert_eq!(rgb(Color::Indexed(255)), Some([238, 238, 238]));
        assert_eq!(rgb(Color::Indexed(15)), None);
    }

    #[test]
    fn greys_have_no_chroma_and_white_is_one_away_from_black() {
        let (black, white) = (Oklab::of([0; 3]), Oklab::of([255; 3]));
        assert!((black.distance(white) - 1.0).abs() < 0.001);
        assert!(Oklab::of([119; 3]).chroma() < 0.001);
        assert!((Oklab::of([255, 0, 0]).hue() - 29.2).abs() < 0.5);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in any::<String>()) {
            let colour = parse(&text);
            prop_assert!(colour.is_none() || text.is_ascii());
        }
    }
}
