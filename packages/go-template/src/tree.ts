import type { Value } from './value.ts'

/** Syntax tree of a template, ready to be rendered. */
export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipe: Pipeline; readonly line: number }
  | BranchNode
  | {
      readonly kind: 'template'
      readonly name: string
      readonly pipe: Pipeline | undefined
      readonly line: number
    }
  | { readonly kind: 'break' | 'continue' }

export interface BranchNode {
  readonly kind: 'if' | 'range' | 'with'
  readonly pipe: Pipeline
  readonly body: readonly Node[]
  readonly otherwise: readonly Node[]
  readonly line: number
}

/** Commands; each receives the result of the previous one as its last argument. */
export interface Pipeline {
  /** Variables that receive the result: `$x :=` declares, `$x =` assigns. */
  readonly variables: readonly string[]
  readonly isAssignment: boolean
  readonly commands: readonly Command[]
}

/** The first operand is called with the others; without others it is the value itself. */
export type Command = readonly Operand[]

export type Operand =
  | { readonly kind: 'dot' }
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'field'; readonly names: readonly string[] }
  | { readonly kind: 'variable'; readonly name: string; readonly names: readonly string[] }
  | { readonly kind: 'function'; readonly name: string }
  | { readonly kind: 'pipe'; readonly pipe: Pipeline; readonly names: readonly string[] }

export interface TemplateTree {
  readonly root: readonly Node[]
  /** Templates by name, from `define` and `block`. */
  readonly defined: ReadonlyMap<string, readonly Node[]>
}
