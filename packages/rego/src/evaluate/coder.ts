import type { Known } from '../compile/analyse.ts'
import { directVariables } from '../compile/analyse.ts'
import type {
  Comprehension,
  Expression,
  Goal,
  Group,
  RuleIR,
  TreeNode,
  Variable,
} from '../compile/ir.ts'
import type { Source } from '../syntax/problem.ts'
import type { Value } from '../value/value.ts'
import type { Env, Evaluate, Step } from './env.ts'

/** What compiled closures need of the program around them. */
export interface Program {
  readonly root: TreeNode
  /** Reports of failed goals are compiled in. */
  readonly isTraced: boolean
  /** The value of a document in a scope, remembered there. */
  readonly readGroup: (env: Env, group: Group) => Value | undefined
  readonly callFunction: (env: Env, group: Group, operands: readonly Value[]) => Value | undefined
}

/** Compiles one body: knows which variables are bound where it stands. */
export interface Coder extends Known {
  readonly program: Program
  readonly source: Source
  readonly rule: RuleIR | undefined
  readonly bound: Set<Variable>
  readonly visible: ReadonlySet<Variable>
  /** Places for collectors in a frame, shared by all coders of a rule. */
  readonly counter: { collectors: number }
  /** The body is run for the index of a comprehension. */
  readonly isIndexing: boolean
  readonly compileGoals: (coder: Coder, goals: readonly Goal[], end: (coder: Coder) => Step) => Step
  readonly compileComprehension: (coder: Coder, term: Comprehension) => Evaluate
  readonly compileExpression: (coder: Coder, expression: Expression) => Evaluate
}

/** For a body inside: what it binds stays there. */
export function forkCoder(coder: Coder, goals: readonly Goal[]): Coder {
  return {
    ...coder,
    bound: new Set(coder.bound),
    visible: new Set([...coder.visible, ...directVariables(goals)]),
  }
}
