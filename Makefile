# Two commands for newcomers: `make demo` and `make test`. Both install what they need inside this
# folder (and in the demo's cache folder) and need nothing but cargo, node and a C compiler.

.PHONY: test demo bench docs install fmt

test:
	scripts/test.sh

demo:
	scripts/need-cc.sh
	cargo run --quiet -p callstack-cli -- demo

bench:
	scripts/need-cc.sh
	cargo bench -p callstack-engine
	cargo bench -p callstack-cli

# Writes the generated pages under docs/reference anew.
docs:
	UPDATE_DOCS=1 cargo test --quiet -p callstack-cli --bin callstack reference

install:
	scripts/need-cc.sh
	cargo install --locked --path crates/cli

fmt:
	cargo fmt --all
