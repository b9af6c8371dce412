use super::*;

/// The symbols of a text, each with its first and last line and whether it is a test.
fn of(path: &str, text: &str) -> String {
    let lines: Vec<Option<&str>> = text.lines().map(Some).collect();
    let found = symbols(path, &lines).into_iter().map(|it| {
        let mark = if it.is_test { " (test)" } else { "" };
        format!("{}-{} {}{mark}", it.from + 1, it.to, it.name)
    });
    found.collect::<Vec<_>>().join("\n")
}

#[test]
fn rust() {
    let text = "use std::io;\n\n/// Reads.\npub struct Parser<'a> {\n    at: &'a str,\n}\n\nimpl<'a> Parser<'a> {\n    \
                /// Next.\n    fn next(&mut self)\n    where\n        Self: Sized,\n    {\n        one();\n    }\n\n    \
                fn last(&self) {}\n}\n\nimpl std::fmt::Display for Parser<'_> {\n    fn fmt(&self) {}\n}\n\n\
                #[cfg(test)]\nmod tests {\n    #[test]\n    fn it_reads() {\n        let s = r#\"\nfn no() {}\n\"#;\n    \
                }\n}\n";
    insta::assert_snapshot!(of("src/a.rs", text), @r"
    3-6 Parser
    8-18 Parser
    9-15 Parser::next
    17-17 Parser::last
    20-22 Parser
    21-21 Parser::fmt
    24-32 tests
    26-31 it_reads (test)
    ");
}

#[test]
fn python() {
    let text = "import os\n\n\n@cached\ndef one(\n    a,\n):\n    x = \"\"\"\ndef no():\n\"\"\"\n    return x\n\n\nclass Table(Base):\n    \
                rows = 1\n\n    async def row(self):\n        def inner():\n            pass\n        return inner\n\n    # of a row\n    \
                def last(self): return 1\n\n\ndef test_it():\n    class Own(Table):\n        \
                rows = 2\n\n    assert one(1)\n";
    insta::assert_snapshot!(of("a.py", text), @r"
    4-11 one
    14-23 Table
    17-20 Table.row
    18-19 Table.row.inner
    22-23 Table.last
    26-30 test_it (test)
    ");
}

#[test]
fn scripts() {
    let text = "export const add = (a) => a;\n\nexport class Page extends Base {\n  private open = 1;\n\n  async load(id: string): \
                Promise<void> {\n    if (id) {\n      go();\n    }\n  }\n\n  get size() {\n    return 1;\n  }\n}\n\n\
                export default function run() {\n  const s = `\nfunction no() {}\n`;\n}\n\ndescribe('x', () => {\n  \
                it(\"opens\", async () => {\n    ok();\n  });\n});\n";
    insta::assert_snapshot!(of("a.ts", text), @r#"
    1-1 add
    3-15 Page
    6-10 Page.load
    12-14 Page.size
    17-21 run
    23-27 'x' (test)
    24-26 "opens" (test)
    "#);
}

#[test]
fn other_languages() {
    let go = "package x\n\n// Serve serves.\nfunc (s *Server) Serve(n int) error {\n\treturn nil\n}\n\ntype Server struct {\n\tn int\n}\n\n\
              func TestServe(t *testing.T) {\n}\n";
    insta::assert_snapshot!(of("a.go", go), @r"
    3-6 Serve
    8-10 Server
    12-13 TestServe (test)
    ");
    let java = "package x;\n\npublic class A extends B {\n    private int n;\n\n    @Test\n    public void opens() throws X {\n        \
                go();\n    }\n\n    void packaged(int a) {\n    }\n}\n";
    insta::assert_snapshot!(of("A.java", java), @r"
    3-13 A
    6-9 A.opens (test)
    11-12 A.packaged
    ");
    let c = "#include <x.h>\n\n/* Reads. */\nstatic int parse(const char *s)\n{\n#ifdef X\n  go();\n#endif\n  return 1;\n}\n\nstruct node {\n  \
             int n;\n};\n\nnode::node(int n) : n(n) {\n}\n";
    insta::assert_snapshot!(of("a.cpp", c), @r"
    3-10 parse
    12-14 node
    16-17 node::node
    ");
    let ruby = "class A < B\n  def one\n    go\n  end\n\n  def self.two?\n    go\n  end\nend\n\nRSpec.describe A do\n  it \"opens\" do\n    ok\n  \
                end\nend\n";
    insta::assert_snapshot!(of("a.rb", ruby), @r#"
    1-9 A
    2-4 A.one
    6-8 A.self.two?
    12-14 "opens" (test)
    "#);
    let php = "<?php\nclass A\n{\n    public static function one(int $a): int\n    {\n        return 1;\n    }\n}\n";
    insta::assert_snapshot!(of("a.php", php), @r"
    2-8 A
    4-7 A.one
    ");
    let shell = "set -e\nbuild() {\n  make\n}\nfunction check {\n  make test\n}\n";
    insta::assert_snapshot!(of("a.sh", shell), @r"
    2-4 build
    5-7 check
    ");
    let cs = "namespace X {\n    public record A(int N);\n    public class B : A\n    {\n        [Fact]\n        public async Task Opens()\n        \
              {\n            await Go();\n        }\n    }\n}\n";
    insta::assert_snapshot!(of("A.cs", cs), @"
    1-11 X
    3-10 B
    5-9 B.Opens (test)
    ");
}

#[test]
fn sections() {
    let text = "# One\ntext\n## Two\n```sh\n# no\n```\nmore\n## Three\n# Four\n";
    insta::assert_snapshot!(of("README.md", text), @r"
    1-8 One
    3-7 Two
    8-8 Three
    9-9 Four
    ");
    assert_eq!(of("a.json", "{\"fn\": 1}"), "");
}

#[test]
fn nothing_reaches_past_a_line_that_is_not_known() {
    let lines =
        [Some("def one():"), Some("    a"), None, Some("    b"), Some("def two():"), Some("    c")];
    let found = symbols("a.py", &lines);
    let around = innermost(&found, 6);
    assert_eq!(around[1], Some(0));
    assert_eq!((around[3], around[5]), (None, Some(1)));
}

#[test]
fn a_line_belongs_to_the_innermost_symbol_around_it() {
    let text = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    /// Helps.\n    fn one() {\n        two();\n    }\n}\n\n\
                fn last() {}\n";
    let lines: Vec<Option<&str>> = text.lines().map(Some).collect();
    let symbols = symbols("src/a.rs", &lines);
    let named = |at: Option<usize>| at.map_or("", |at| symbols[at].name.as_str());
    let found: Vec<_> = innermost(&symbols, lines.len()).into_iter().map(named).collect();
    let expected =
        ["tests", "tests", "tests", "tests", "one", "one", "one", "one", "tests", "", "last"];
    assert_eq!(found, expected);
}
