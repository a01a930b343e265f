import type { Span } from '../text/source.ts'
import type { NumberValue } from '@reeve/kit/number.ts'

/**
 * The items between the braces of a block, or of a whole file. In the native syntax an item is an
 * attribute or a block. In the other two a property is an attribute here, and becomes blocks when
 * the schema says so.
 */
export interface Body {
  readonly syntax: 'native' | 'json' | 'legacy'
  /** In source order. Names are unique in the native syntax only. */
  readonly attributes: readonly Attribute[]
  readonly blocks: readonly Block[]
  readonly span: Span
  /**
   * Where to point when something is missing: the header of the block, or the start of the file.
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
  /** The type and the labels. */
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

/** Also a quoted string without sequences. */
export interface LiteralExpression {
  readonly kind: 'literal'
  readonly value: null | boolean | NumberValue | string
  readonly span: Span
}

/** Strip markers and heredoc indentation are already applied to the text. */
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

/** `[key]`, or the legacy `.0` whose key is a literal. */
export interface IndexStep {
  readonly kind: 'index'
  readonly key: Expression
  readonly span: Span
}

/**
 * `each` is applied to every element; steps that follow the splat are applied to the list of the
 * results.
 */
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
  /** The last argument is a list whose elements are the remaining arguments. */
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

/** Leans to the left without limit: a reader follows `left` in a loop, not by recursion. */
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
  /** A JSON object must not name a property twice; elsewhere the last one wins. */
  readonly uniqueNames: boolean
  readonly span: Span
}

export interface ObjectItem {
  readonly key: Expression
  /** The key as written; `key.span` may lie inside a template of its own. */
  readonly keySpan: Span
  /**
   * The key as written, when that is known without evaluating: what a body made from the object is
   * read by.
   */
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
  /** `...` after the value: equal keys are gathered in lists. */
  readonly isGrouped: boolean
  readonly condition?: Expression
  readonly span: Span
}

export interface ForBinding {
  readonly keyName?: string
  readonly valueName: string
  readonly collection: Expression
}
