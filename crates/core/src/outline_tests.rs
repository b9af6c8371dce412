use insta::assert_snapshot;

use super::*;

fn of(path: &str, text: &str) -> String {
    outline(path, (1..).zip(text.lines()), 40).join("\n")
}

#[test]
fn every_pattern_compiles() {
    for (family, count) in [
        (Family::Keyword, 7),
        (Family::Script, 9),
        (Family::Typed, 6),
        (Family::Markup, 1),
        (Family::Sections, 1),
    ] {
        assert_eq!(family.patterns().len(), count);
    }
}

#[test]
fn definitions_of_common_languages_are_found_by_name() {
    let rust = "use std::io;\n\npub(crate) struct Parser {\n    at: usize,\n}\n\nimpl Parser {\n    \
                pub async fn next(&mut self) -> Option<u8> {\n        let fnord = 1;\n    }\n}\n\
                macro_rules! say {\n";
    assert_snapshot!(of("src/parse.rs", rust), @"
    3: pub(crate) struct Parser
    7: impl Parser
    8: pub async fn next(&mut self) -> Option<u8>
    12: macro_rules! say
    ");
    let python = "import os\n\nclass Table(Base):\n    def row(self, n):\n        return defer\n\nasync def main():\n";
    assert_snapshot!(of("t.py", python), @"
    3: class Table(Base)
    4: def row(self, n)
    7: async def main()
    ");
    let script = "export const add = (a, b) => a + b;\nconst n = 1;\nexport default function run() {\n\
                  test(\"adds\", () => {\n  describe('x', f)\n";
    assert_snapshot!(of("a.ts", script), @r#"
    1: export const add = (a, b) => a + b;
    3: export default function run()
    4: test("adds", () =>
    5: describe('x', f)
    "#);
    let go = "package x\n\nfunc (s *Server) Serve(n int) error {\n\ttype local struct {\nfunc main() {\n";
    assert_snapshot!(of("x.go", go), @"
    3: func (s *Server) Serve(n int) error
    4: type local struct
    5: func main()
    ");
    let c = "#include <x.h>\nstatic int parse(const char *s)\n{\n  if (s) {\n    return call(s);\n}\nint x = 1;\nstruct node {\n";
    assert_snapshot!(of("x.c", c), @"
    2: static int parse(const char *s)
    8: struct node
    ");
    assert_snapshot!(of("README.md", "# One\ntext\n## Two\n"), @"
    1: # One
    3: ## Two
    ");
    assert_eq!(of("data.json", "{\"fn\": 1}"), "");
}

#[test]
fn the_names_are_those_of_what_is_defined() {
    let names = |path, text: &'static str| -> Vec<&str> {
        definitions(path, (1..).zip(text.lines())).into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names("a.rs", "pub fn one<T>(x: T) {}\nconst fn two() {}"), ["one", "two"]);
    assert_eq!(names("a.go", "func (s *S) Three() {"), ["Three"]);
    assert_eq!(names("A.java", "    public static void main(String[] args) {"), ["main"]);
}

#[test]
fn of_too_many_the_inner_ones_go_first() {
    let class = |n| format!("class C{n}:\n    def a(self):\n    def b(self):\n");
    let text: String = (0..5).map(class).collect();
    let lines = || (1..).zip(text.lines());
    assert_eq!(outline("x.py", lines(), 15).len(), 15);
    assert_eq!(outline("x.py", lines(), 14).len(), 5);
    assert_eq!(outline("x.py", lines(), 3), ["1: class C0", "4: class C1", "7: class C2"]);
}
