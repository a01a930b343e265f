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

/** Context of compiled closures. */
export interface Program {
  readonly root: TreeNode
  /** Whether reports of failed goals are compiled in. */
  readonly isTraced: boolean
  /** Returns the value of a document in a scope, which caches it. */
  readonly readGroup: (env: Env, group: Group) => Value | undefined
  readonly callFunction: (env: Env, group: Group, operands: readonly Value[]) => Value | undefined
}

/** Compiles one body; knows which variables are bound at its position. */
export interface Coder extends Known {
  readonly program: Program
  readonly source: Source
  readonly rule: RuleIR | undefined
  readonly bound: Set<Variable>
  readonly visible: ReadonlySet<Variable>
  /** Number of collectors in a frame, shared by all coders of a rule. */
  readonly counter: { collectors: number }
  /** The body is compiled for the index of a comprehension. */
  readonly isIndexing: boolean
  readonly compileGoals: (coder: Coder, goals: readonly Goal[], end: (coder: Coder) => Step) => Step
  readonly compileComprehension: (coder: Coder, term: Comprehension) => Evaluate
  readonly compileExpression: (coder: Coder, expression: Expression) => Evaluate
}

/** Returns a coder for a nested body, whose bindings stay local. */
export function forkCoder(coder: Coder, goals: readonly Goal[]): Coder {
  return {
    ...coder,
    bound: new Set(coder.bound),
    visible: new Set([...coder.visible, ...directVariables(goals)]),
  }
}
