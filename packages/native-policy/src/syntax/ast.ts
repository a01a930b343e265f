import type { Int } from '../value/value.ts'

/** Source range of a node; `at` is the position for diagnostics. */
export interface TextSpan {
  readonly start: number
  readonly end: number
  /** The operator of a binary expression, otherwise the start. */
  readonly at: number
}

export type UnaryOperator = '+' | '-' | 'not'
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'
export type ComparisonOperator = 'is' | 'is not' | '<' | '<=' | '>' | '>='
export type MembershipOperator =
  | 'in'
  | 'not in'
  | 'contains'
  | 'not contains'
  | 'matches'
  | 'not matches'
export type LogicOperator = 'and' | 'or' | 'xor'
export type BinaryOperator =
  | ArithmeticOperator
  | ComparisonOperator
  | MembershipOperator
  | LogicOperator
  | 'else'
export type StateTest = 'empty' | 'defined'
export type QuantifierKind = 'any' | 'all' | 'filter' | 'map'

export type Expression =
  | { readonly kind: 'int'; readonly spot: TextSpan; readonly value: Int }
  | { readonly kind: 'float'; readonly spot: TextSpan; readonly value: number }
  | { readonly kind: 'string'; readonly spot: TextSpan; readonly value: string }
  | NameExpression
  | { readonly kind: 'list'; readonly spot: TextSpan; readonly items: readonly Expression[] }
  | { readonly kind: 'map'; readonly spot: TextSpan; readonly entries: readonly MapEntry[] }
  | FunctionExpression
  | RuleExpression
  | QuantifierExpression
  | {
      readonly kind: 'unary'
      readonly spot: TextSpan
      readonly operator: UnaryOperator
      readonly operand: Expression
    }
  | BinaryExpression
  | StateExpression
  | SelectExpression
  | IndexExpression
  | SliceExpression
  | CallExpression

export interface NameExpression {
  readonly kind: 'name'
  readonly spot: TextSpan
  readonly name: string
}

export interface MapEntry {
  readonly key: Expression
  readonly value: Expression
}

export interface FunctionExpression {
  readonly kind: 'function'
  readonly spot: TextSpan
  readonly parameters: readonly Name[]
  readonly body: readonly Statement[]
}

export interface RuleExpression {
  readonly kind: 'rule'
  readonly spot: TextSpan
  readonly when: Expression | undefined
  readonly body: Expression
}

export interface QuantifierExpression {
  readonly kind: 'quantifier'
  readonly spot: TextSpan
  readonly quantifier: QuantifierKind
  readonly collection: Expression
  readonly variables: LoopVariables
  readonly body: Expression
}

export interface BinaryExpression {
  readonly kind: 'binary'
  readonly spot: TextSpan
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

/** `x is empty`, `x is not defined`. */
export interface StateExpression {
  readonly kind: 'state'
  readonly spot: TextSpan
  readonly test: StateTest
  readonly isNegated: boolean
  readonly operand: Expression
}

export interface SelectExpression {
  readonly kind: 'select'
  readonly spot: TextSpan
  readonly operand: Expression
  readonly name: string
}

export interface IndexExpression {
  readonly kind: 'index'
  readonly spot: TextSpan
  readonly operand: Expression
  readonly index: Expression
}

export interface SliceExpression {
  readonly kind: 'slice'
  readonly spot: TextSpan
  readonly operand: Expression
  readonly from: Expression | undefined
  readonly to: Expression | undefined
}

export interface CallExpression {
  readonly kind: 'call'
  readonly spot: TextSpan
  readonly callee: Expression
  readonly args: readonly Expression[]
}

export interface Name {
  readonly name: string
  readonly spot: TextSpan
}

/** `as v` or `as k, v`. */
export interface LoopVariables {
  readonly key: Name | undefined
  readonly value: Name
}

export type Statement =
  | AssignStatement
  | IfStatement
  | CaseStatement
  | ForStatement
  | FunctionStatement
  | { readonly kind: 'return'; readonly spot: TextSpan; readonly value: Expression }
  | { readonly kind: 'break' | 'continue'; readonly spot: TextSpan }
  | { readonly kind: 'expression'; readonly spot: TextSpan; readonly value: Expression }

export interface AssignStatement {
  readonly kind: 'assign'
  readonly spot: TextSpan
  readonly target: Name
  /** `x[i][j] = …`: index expressions from left to right. */
  readonly path: readonly Expression[]
  /** The operator of `x += …`; undefined for `=`. */
  readonly operator: ArithmeticOperator | undefined
  readonly value: Expression
  /** The comment above the statement, which describes a rule. */
  readonly description: string
}

export interface IfStatement {
  readonly kind: 'if'
  readonly spot: TextSpan
  readonly condition: Expression
  readonly consequence: readonly Statement[]
  readonly otherwise: readonly Statement[]
  readonly hasElse: boolean
}

export interface CaseStatement {
  readonly kind: 'case'
  readonly spot: TextSpan
  /** Undefined means `true`. */
  readonly subject: Expression | undefined
  readonly clauses: readonly CaseClause[]
  readonly otherwise: readonly Statement[] | undefined
}

export interface CaseClause {
  readonly values: readonly Expression[]
  readonly body: readonly Statement[]
}

export interface ForStatement {
  readonly kind: 'for'
  readonly spot: TextSpan
  readonly collection: Expression
  readonly variables: LoopVariables
  readonly body: readonly Statement[]
}

export interface FunctionStatement {
  readonly kind: 'named-function'
  readonly spot: TextSpan
  readonly name: Name
  readonly value: FunctionExpression
}

export interface ImportDeclaration {
  readonly spot: TextSpan
  readonly path: string
  /** Name of the import in the policy: the alias, otherwise the path if it is an identifier. */
  readonly name: string | undefined
}

export interface ParamDeclaration {
  readonly spot: TextSpan
  readonly name: string
  readonly fallback: Expression | undefined
  readonly description: string
}

export interface Tree {
  /** The comment at the top of the text. */
  readonly description: string
  readonly imports: readonly ImportDeclaration[]
  readonly params: readonly ParamDeclaration[]
  readonly statements: readonly Statement[]
  readonly warnings: readonly Warning[]
}

export interface Warning {
  readonly at: number
  readonly message: string
}
