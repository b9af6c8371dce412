//! Values of which any type is taken: one of another type than the wanted one counts as missing, and is skipped
//! without being built.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Number;

/// A text, a number or a flag.
#[derive(Default)]
pub(super) enum Scalar {
    Text(String),
    Number(Number),
    Flag(bool),
    #[default]
    None,
}

impl Scalar {
    pub(super) fn text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn count(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    pub(super) fn whole(&self) -> Option<i64> {
        if let Self::Number(number) = self { number.as_i64() } else { None }
    }

    pub(super) fn real(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self, Self::Flag(true))
    }
}

/// An object; none for any other value.
pub(super) struct Object<T>(pub(super) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Default> Object<T> {
    pub(super) fn or_empty(self) -> T {
        self.0.unwrap_or_default()
    }
}

/// A list; none for any other value.
pub(super) struct List<T>(pub(super) Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// The number of elements of a list; 0 for any other value.
#[derive(Default)]
pub(super) struct Length(pub(super) usize);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::take(from)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::take(from)
    }
}

impl<'de, T: Take<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::take(from)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::take(from)
    }
}

/// Takes any value. Unless a type does more, kinds of values that it does not name are skipped.
pub(super) trait Take<'de>: Default {
    fn take<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any(PhantomData))
    }
    fn text(_: String) -> Self {
        Self::default()
    }
    fn number(_: Number) -> Self {
        Self::default()
    }
    fn flag(_: bool) -> Self {
        Self::default()
    }
    fn list<A: SeqAccess<'de>>(mut values: A) -> Result<Self, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn object<A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Take<'_> for Scalar {
    fn text(text: String) -> Self {
        Self::Text(text)
    }
    fn number(number: Number) -> Self {
        Self::Number(number)
    }
    fn flag(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'de, T: Deserialize<'de>> Take<'de> for Object<T> {
    fn object<A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(|it| Self(Some(it)))
    }
}

impl<'de, T: Take<'de>> Take<'de> for List<T> {
    fn list<A: SeqAccess<'de>>(mut values: A) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(Any(PhantomData))? {
            list.push(value);
        }
        Ok(Self(Some(list)))
    }
}

impl<'de> Take<'de> for Length {
    fn list<A: SeqAccess<'de>>(mut values: A) -> Result<Self, A::Error> {
        let mut length = 0;
        while values.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Self(length))
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Take<'de>> DeserializeSeed<'de> for Any<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Take<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(Number::from_f64(number).map(T::number).unwrap_or_default())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::flag(flag))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<T, A::Error> {
        T::list(values)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::object(fields)
    }
}
