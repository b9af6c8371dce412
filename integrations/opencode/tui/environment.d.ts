/** The parts of OpenCode's runtime that are used: its elements, and one function of Bun's. */
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
