use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::Event;

use super::*;

/// The text of the only `t` and its attribute `a`, as a reader of XML 1.0 sees them.
fn parse(xml: &str) -> (String, String) {
    let mut reader = Reader::from_str(xml);
    let mut attribute = String::new();
    let mut text = String::new();
    loop {
        match reader.read_event().expect(xml) {
            Event::Start(tag) if tag.name().as_ref() == "t" => {
                for attr in tag.attributes() {
                    attribute.push_str(
                        &attr.expect(xml).normalized_value(XmlVersion::Implicit1_0).expect(xml),
                    );
                }
            }
            Event::Text(part) => text.push_str(&part.xml_content(XmlVersion::Implicit1_0)),
            Event::GeneralRef(part) => match part.resolve_char_ref().expect(xml) {
                Some(char) => text.push(char),
                None => text.push_str(
                    quick_xml::escape::resolve_predefined_entity(&part).expect("predefined"),
                ),
            },
            Event::Eof => break,
            _ => {}
        }
    }
    (text.trim_end_matches('\n').to_owned(), attribute)
}

fn written(text: &str) -> String {
    let mut xml = XmlWriter::new(0);
    xml.tag("t").attr("a", text).text(text);
    xml.finish()
}

#[test]
fn the_five_are_escaped_and_forbidden_ones_shown() {
    assert_eq!(
        escape_xml("a<b> & \"c\" 'd' \u{1b}[31m \0 \u{fffe} \u{9b} x\r\ny\rz"),
        "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos; \\u{1b}[31m \\u{0} \\u{fffe} \\u{9b} x\ny\\u{d}z"
    );
    assert!(matches!(escape_xml("nothing to do\n"), Cow::Borrowed(_)));
}

#[test]
fn content_keeps_quotes_and_attributes_keep_line_ends() {
    assert_eq!(
        written("say \"hi\"\n\tit's"),
        "<t a=\"say &quot;hi&quot;&#10;&#9;it&apos;s\">say \"hi\"\n\tit's</t>\n"
    );
}

#[test]
fn elements_are_indented_and_attributes_keep_their_order() {
    let mut xml = XmlWriter::new(1);
    xml.tag("outer").attr("z", 1).attr_if("y", None::<u8>).attr_if("a", Some(2)).open();
    xml.element("inner", "x < y");
    xml.lines("two\nlines & more");
    xml.tag("none").empty();
    xml.close("outer");
    insta::assert_snapshot!(xml.finish(), @r#"
      <outer z="1" a="2">
        <inner>x &lt; y</inner>
        two
        lines &amp; more
        <none />
      </outer>
    "#);
}

proptest::proptest! {
    #[test]
    fn what_goes_in_comes_out(text in proptest::collection::vec(proptest::char::any(), 0..60)) {
        let text: String = text.into_iter().collect();
        let text = text.trim_matches('\n');
        let (content, attribute) = parse(&written(text));
        let shown = visible(text);
        proptest::prop_assert_eq!(&content, shown.trim_end_matches('\n'));
        proptest::prop_assert_eq!(&attribute, &shown);
    }

    #[test]
    fn markup_comes_out_as_text(text in "[&<>\"';#x\\]!\\-\\[\\n\\t\\r\u{0}-\u{20}a]{0,40}") {
        let text = text.trim_matches(|char| char == '\n' || char == '\r');
        let (content, attribute) = parse(&written(text));
        let shown = visible(text);
        proptest::prop_assert_eq!(&content, shown.trim_end_matches('\n'));
        proptest::prop_assert_eq!(&attribute, &shown);
    }
}
