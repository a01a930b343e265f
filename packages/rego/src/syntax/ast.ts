import type { Value } from '../value/value.ts'
import type { Comment } from './token.ts'

/** Every node has its start position in the module's text. */
interface Node {
  readonly at: number
}

export interface ScalarTerm extends Node {
  readonly type: 'scalar'
  readonly value: Value
}
/** `_` is parsed as a fresh name that no text can contain. */
export interface VarTerm extends Node {
  readonly type: 'var'
  readonly name: string
}
/** `head.a["b"][c]`; names after a dot are scalars. */
export interface RefTerm extends Node {
  readonly type: 'ref'
  readonly head: Term
  readonly path: readonly Term[]
}
/** A call or an operator: `a + b` calls `plus`. */
export interface CallTerm extends Node {
  readonly type: 'call'
  /** Segments of the dotted name: `['data', 'lib', 'f']`, `['plus']`. */
  readonly name: readonly string[]
  readonly operands: readonly Term[]
}
export interface ArrayTerm extends Node {
  readonly type: 'array'
  readonly items: readonly Term[]
}
export interface SetTerm extends Node {
  readonly type: 'set'
  readonly items: readonly Term[]
}
export interface ObjectTerm extends Node {
  readonly type: 'object'
  readonly entries: readonly (readonly [key: Term, value: Term])[]
}
export interface ComprehensionTerm extends Node {
  readonly type: 'comprehension'
  readonly makes: 'array' | 'set' | 'object'
  /** Only for objects. */
  readonly key: Term | undefined
  readonly head: Term
  readonly body: Body
}
export interface TemplateTerm extends Node {
  readonly type: 'template'
  /** Text, or an expression whose undefined value prints as such. */
  readonly parts: readonly (string | TemplateExpression)[]
}
export interface TemplateExpression {
  readonly term: Term
  readonly with: readonly With[]
}
export type Term =
  | ScalarTerm
  | VarTerm
  | RefTerm
  | CallTerm
  | ArrayTerm
  | SetTerm
  | ObjectTerm
  | ComprehensionTerm
  | TemplateTerm

export interface With extends Node {
  /** `input.a`, `data.b`, or the name of a function. */
  readonly target: Term
  readonly value: Term
}

interface LiteralBase extends Node {
  readonly with: readonly With[]
}
export interface ExpressionLiteral extends LiteralBase {
  readonly type: 'expression'
  readonly term: Term
}
/** `left = right`, or with `declares` `left := right`. */
export interface UnifyLiteral extends LiteralBase {
  readonly type: 'unify'
  readonly declares: boolean
  readonly left: Term
  readonly right: Term
}
export interface SomeLiteral extends LiteralBase {
  readonly type: 'some'
  readonly names: readonly VarTerm[]
}
export interface SomeInLiteral extends LiteralBase {
  readonly type: 'some-in'
  readonly key: Term | undefined
  readonly value: Term
  readonly domain: Term
}
export interface EveryLiteral extends LiteralBase {
  readonly type: 'every'
  readonly key: VarTerm | undefined
  readonly value: VarTerm
  readonly domain: Term
  readonly body: Body
}
export interface NotLiteral extends LiteralBase {
  readonly type: 'not'
  readonly body: Body
  /** True if nested terms are evaluated inside; otherwise they are evaluated before. */
  readonly isScoped: boolean
}
/** `left and right`, `left or right`: each side true at least once, binding nothing outside. */
export interface LogicLiteral extends LiteralBase {
  readonly type: 'and' | 'or'
  readonly left: Body
  readonly right: Body
}
export type Literal =
  | ExpressionLiteral
  | UnifyLiteral
  | SomeLiteral
  | SomeInLiteral
  | EveryLiteral
  | NotLiteral
  | LogicLiteral

export type Body = readonly Literal[]

export interface Rule extends Node {
  readonly isDefault: boolean
  /** Path after that of the package: `p`, then `[x]`, `.q`… */
  readonly path: readonly Term[]
  /** Only for a function. */
  readonly parameters: readonly Term[] | undefined
  /** `contains member`: the rule adds to a set. */
  readonly member: Term | undefined
  readonly value: Term
  readonly body: Body
  readonly otherwise: ElseBranch | undefined
  /** Row of the last token, for metadata and messages. */
  readonly row: number
}
export interface ElseBranch extends Node {
  readonly value: Term
  readonly body: Body
  readonly otherwise: ElseBranch | undefined
}

export interface Import extends Node {
  readonly path: readonly string[]
  readonly alias: string | undefined
}

export interface Module {
  readonly package: readonly string[]
  readonly packageAt: number
  readonly packageRow: number
  readonly imports: readonly Import[]
  readonly rules: readonly Rule[]
  readonly comments: readonly Comment[]
}
