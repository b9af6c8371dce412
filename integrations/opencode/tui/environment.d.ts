/** What OpenCode's runtime provides: its elements, and the one function of Bun's that is used. */
declare module "@opentui/solid/jsx-runtime" {
  export namespace JSX {
    type Element = any
    interface ElementChildrenAttribute {
      children: {}
    }
    interface IntrinsicElements {
      [name: string]: any
    }
  }
}

declare const Bun: { stringWidth(text: string): number }
