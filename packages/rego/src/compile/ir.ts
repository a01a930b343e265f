import type { Builtin } from '../builtins/builtin.ts'
import type { Value } from '../value/value.ts'
import type { Source } from '../syntax/source.ts'
import type { Rule } from '../syntax/ast.ts'

/**
 * Intermediate representation of rules: names are variables or absolute references, operators and
 * calls are resolved, and a reference with several values occurs only in a literal that enumerates
 * it.
 */

export interface Variable {
  readonly name: string
  /** Index in the frame of the rule. */
  readonly slot: number
  /** Bound by its declaration only (`:=`, parameters, `some … in`), never by a reference. */
  readonly isAssigned: boolean
  readonly at: number
}

export type Expression =
  | Constant
  | { readonly type: 'var'; readonly variable: Variable; readonly at: number }
  | Reference
  | Call
  | { readonly type: 'array'; readonly items: readonly Expression[]; readonly at: number }
  | { readonly type: 'set'; readonly items: readonly Expression[]; readonly at: number }
  | ObjectExpression
  | Comprehension
  | Template

export interface Constant {
  readonly type: 'constant'
  readonly value: Value
  readonly at: number
}
export interface Reference {
  readonly type: 'reference'
  /** `input`, `data`, or any expression that the path is applied to. */
  readonly root: 'input' | 'data' | Expression
  readonly path: readonly Expression[]
  readonly at: number
}
export interface Call {
  readonly type: 'call'
  /** Used in messages and to find replacements by `with`. */
  readonly name: string
  readonly callee: Callee
  readonly operands: readonly Expression[]
  readonly at: number
}
export type Callee =
  | { readonly type: 'builtin'; readonly builtin: Builtin }
  | { readonly type: 'function'; readonly group: VirtualDocument }

export interface ObjectExpression {
  readonly type: 'object'
  readonly entries: readonly (readonly [key: Expression, value: Expression])[]
  readonly at: number
}
export interface Comprehension {
  readonly type: 'comprehension'
  readonly makes: 'array' | 'set' | 'object'
  readonly key: Expression | undefined
  readonly head: Expression
  readonly body: readonly Goal[]
  readonly at: number
}
export interface Template {
  readonly type: 'template'
  /** Text, or a comprehension of the values of an expression: an empty one prints as undefined. */
  readonly parts: readonly (string | Comprehension)[]
  readonly at: number
}

export type Replacement =
  | { readonly type: 'input'; readonly path: readonly string[]; readonly value: Expression }
  | DataReplacement
  | { readonly type: 'function'; readonly name: string; readonly by: FunctionReplacement }
export interface DataReplacement {
  readonly type: 'data'
  readonly path: readonly string[]
  /** Node in the tree of rules, if any: rules at or below it are hidden. */
  readonly node: TreeNode | undefined
  readonly value: Expression
}
export type FunctionReplacement = { readonly callee: Callee } | { readonly value: Expression }

interface GoalBase {
  readonly at: number
  readonly with: readonly Replacement[]
}
/** Succeeds if the expression has a value other than false. */
export interface TestGoal extends GoalBase {
  readonly type: 'test'
  readonly term: Expression
}
export interface UnifyGoal extends GoalBase {
  readonly type: 'unify'
  readonly left: Expression
  readonly right: Expression
  /** `:=`: the right side must be bound independently of the left. */
  readonly declares: boolean
}
export interface IterateGoal extends GoalBase {
  readonly type: 'iterate'
  readonly key: Expression | undefined
  readonly value: Expression
  readonly domain: Expression
}
export interface EveryGoal extends GoalBase {
  readonly type: 'every'
  readonly key: Variable | undefined
  readonly value: Variable
  readonly domain: Expression
  readonly body: readonly Goal[]
}
export interface NotGoal extends GoalBase {
  readonly type: 'not'
  readonly body: readonly Goal[]
  /** The body may declare variables of its own. */
  readonly isScoped: boolean
}
export interface LogicGoal extends GoalBase {
  readonly type: 'and' | 'or'
  readonly left: readonly Goal[]
  readonly right: readonly Goal[]
}
export interface PrintGoal extends GoalBase {
  readonly type: 'print'
  readonly operands: readonly Comprehension[]
}
export type Goal = TestGoal | UnifyGoal | IterateGoal | EveryGoal | NotGoal | LogicGoal | PrintGoal

/** A body in evaluation order, and its result. */
export interface Definition {
  readonly body: readonly Goal[]
  readonly value: Expression
  readonly elseBranch: Definition | undefined
  readonly at: number
}

/** Rules by the path of their document. */
export interface TreeNode {
  readonly path: readonly string[]
  readonly children: Map<string, TreeNode>
  group: VirtualDocument | undefined
}

/**
 * All rules of one document.
 *   complete  one value
 *   set       `contains` under a constant path
 *   object    keys come from the rules; documents of constant paths below are its entries too
 *   function  a value per operands
 */
export interface VirtualDocument {
  readonly id: number
  readonly path: readonly string[]
  readonly name: string
  kind: 'complete' | 'set' | 'object' | 'function'
  readonly rules: RuleIR[]
  default: RuleIR | undefined
  arity: number
  /** For an object: the groups below it, with their relative paths. */
  readonly nested: { readonly path: readonly string[]; readonly group: VirtualDocument }[]
  /** Groups that this one may read, for the detection of recursion. */
  readonly reads: Map<VirtualDocument, SourceLocation>
}

export interface SourceLocation {
  readonly source: Source
  readonly at: number
}

export interface RuleIR {
  readonly source: Source
  readonly rule: Rule
  readonly group: VirtualDocument
  /** Set when the rule is lowered. */
  slotCount: number
  parameters: readonly Variable[]
  /** Path after that of the group: keys of a partial object. */
  suffix: readonly Expression[]
  member: Expression | undefined
  definition: Definition | undefined
}
