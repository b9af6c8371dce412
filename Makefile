# Two commands for newcomers: `make demo` and `make test`. Both install what they need inside this
# folder (and in the demo's cache folder) and need nothing but cargo, node and a C compiler.

.PHONY: test demo bench docs house install package test-package fmt

test:
	scripts/test.sh

demo:
	scripts/need-cc.sh
	cargo run -p callstack-cli -- demo

bench:
	scripts/need-cc.sh
	cargo bench -p callstack-engine
	cargo bench -p callstack-cli

# Writes the generated pages under docs/reference anew.
docs:
	UPDATE_DOCS=1 cargo test --quiet -p callstack-cli --bin callstack reference

# Prints the counts by which the shape of the code is judged.
house:
	cargo test --quiet -p callstack-testkit --test main the_house_is_kept -- --nocapture

install:
	scripts/need-cc.sh
	cargo install --locked --path crates/cli

# Crates, npm packages for this machine and a Debian package, in target/package. CALLSTACK_BINARY names a program that
# is built already.
package:
	scripts/package.sh

# Installs each of them into an empty home, works with it, and takes it out again.
test-package:
	scripts/test-package.sh

fmt:
	cargo fmt --all
