import type { Span } from '../text/source.ts'
import type { NumberValue } from '@reeve/kit/number.ts'

/**
 * The items of a block or file. In native syntax an item is an attribute or a block. In JSON and
 * HCL 1 a property is an attribute here and may become blocks by the schema.
 */
export interface Body {
  readonly syntax: 'native' | 'json' | 'legacy'
  /** In source order. Names are unique only in native syntax. */
  readonly attributes: readonly Attribute[]
  readonly blocks: readonly Block[]
  readonly span: Span
  /**
   * Position for diagnostics about missing items: the header of the block or the start of the file.
   */
  readonly anchor: Span
}

export interface Attribute {
  readonly name: string
  readonly nameSpan: Span
  readonly expression: Expression
  readonly span: Span
}

export interface Block {
  readonly type: string
  readonly typeSpan: Span
  readonly labels: readonly Label[]
  readonly body: Body
  /** The type with the labels. */
  readonly headerSpan: Span
}

export interface Label {
  readonly text: string
  readonly span: Span
}

export type Expression =
  | LiteralExpression
  | TemplateExpression
  | VariableExpression
  | AccessExpression
  | CallExpression
  | UnaryExpression
  | BinaryExpression
  | ConditionalExpression
  | ParenthesesExpression
  | TupleExpression
  | ObjectExpression
  | ForExpression

/** A constant, or a quoted string without sequences. */
export interface LiteralExpression {
  readonly kind: 'literal'
  readonly value: null | boolean | NumberValue | string
  readonly span: Span
}

/** Strip markers and heredoc indentation are already applied. */
export interface TemplateExpression {
  readonly kind: 'template'
  readonly parts: readonly TemplatePart[]
  readonly span: Span
}

export type TemplatePart = TextPart | InterpolationPart | IfPart | ForPart

interface TextPart {
  readonly kind: 'text'
  readonly text: string
  readonly span: Span
}

export interface InterpolationPart {
  readonly kind: 'interpolation'
  readonly expression: Expression
  /** From `${` to `}`. */
  readonly span: Span
}

interface IfPart {
  readonly kind: 'if'
  readonly condition: Expression
  readonly whenTrue: readonly TemplatePart[]
  readonly whenFalse: readonly TemplatePart[]
  readonly span: Span
}

interface ForPart {
  readonly kind: 'for'
  readonly binding: ForBinding
  readonly body: readonly TemplatePart[]
  readonly span: Span
}

export interface VariableExpression {
  readonly kind: 'variable'
  readonly name: string
  readonly span: Span
}

/** `base` followed by at least one step: `var.a[0]`. */
export interface AccessExpression {
  readonly kind: 'access'
  readonly base: Expression
  readonly steps: readonly Step[]
  readonly span: Span
}

export type Step = AttributeStep | IndexStep | SplatStep

interface AttributeStep {
  readonly kind: 'attribute'
  readonly name: string
  readonly span: Span
}

/** `[key]`, or the legacy `.0` with a literal key. */
export interface IndexStep {
  readonly kind: 'index'
  readonly key: Expression
  readonly span: Span
}

/** `each` applies to every element; steps after the splat apply to the resulting list. */
export interface SplatStep {
  readonly kind: 'splat'
  readonly each: readonly Step[]
  readonly span: Span
}

export interface CallExpression {
  readonly kind: 'call'
  readonly name: string
  readonly nameSpan: Span
  readonly arguments: readonly Expression[]
  /** The last argument is a list that supplies the remaining arguments. */
  readonly expandsLast: boolean
  readonly span: Span
}

export interface UnaryExpression {
  readonly kind: 'unary'
  readonly operator: '-' | '!'
  readonly operand: Expression
  readonly span: Span
}

export type BinaryOperator =
  | '||'
  | '&&'
  | '=='
  | '!='
  | '<'
  | '>'
  | '<='
  | '>='
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'

/** Left-associative and unbounded: follow `left` in a loop, not by recursion. */
export interface BinaryExpression {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
  readonly span: Span
}

export interface ConditionalExpression {
  readonly kind: 'conditional'
  readonly condition: Expression
  readonly whenTrue: Expression
  readonly whenFalse: Expression
  readonly span: Span
}

export interface ParenthesesExpression {
  readonly kind: 'parentheses'
  readonly inner: Expression
  readonly span: Span
}

export interface TupleExpression {
  readonly kind: 'tuple'
  readonly elements: readonly Expression[]
  readonly span: Span
}

export interface ObjectExpression {
  readonly kind: 'object'
  readonly items: readonly ObjectItem[]
  /** A JSON object must not have duplicate names; elsewhere the last one wins. */
  readonly uniqueNames: boolean
  readonly span: Span
}

export interface ObjectItem {
  readonly key: Expression
  /** The key as written; `key.span` may lie inside a nested template. */
  readonly keySpan: Span
  /** The key, if known without evaluation; bodies made from objects use it. */
  readonly name?: string
  readonly value: Expression
  readonly span: Span
}

/** `[for …]` has no key; `{for …}` has one. */
export interface ForExpression {
  readonly kind: 'for'
  readonly binding: ForBinding
  readonly key?: Expression
  readonly value: Expression
  /** With `...` after the value, values of equal keys are grouped in lists. */
  readonly isGrouped: boolean
  readonly condition?: Expression
  readonly span: Span
}

export interface ForBinding {
  readonly keyName?: string
  readonly valueName: string
  readonly collection: Expression
}
