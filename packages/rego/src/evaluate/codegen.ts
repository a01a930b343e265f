import { type BindingState, directVariables } from '../compile/bindings.ts'
import type {
  Comprehension,
  Expression,
  Goal,
  VirtualDocument,
  RuleIR,
  TreeNode,
  Variable,
} from '../compile/ir.ts'
import type { Source } from '../syntax/source.ts'
import type { Value } from '../value/value.ts'
import type { Env, ValueThunk, Step } from './env.ts'

/** Context of compiled closures. */
export interface Program {
  readonly root: TreeNode
  /** Whether reports of failed goals are compiled in. */
  readonly isTraced: boolean
  /** Returns the value of a document in a scope, which caches it. */
  readonly evaluateDocument: (env: Env, group: VirtualDocument) => Value | undefined
  readonly callFunction: (
    env: Env,
    group: VirtualDocument,
    operands: readonly Value[],
  ) => Value | undefined
}

/** Compiles one body; knows which variables are bound at its position. */
export interface CodegenContext extends BindingState {
  readonly program: Program
  readonly source: Source
  readonly rule: RuleIR | undefined
  readonly bound: Set<Variable>
  readonly visible: ReadonlySet<Variable>
  /** Number of collectors in a frame, shared by all coders of a rule. */
  readonly counter: { collectors: number }
  /** The body is compiled for the index of a comprehension. */
  readonly isIndexing: boolean
  readonly compileGoals: (
    coder: CodegenContext,
    goals: readonly Goal[],
    end: (coder: CodegenContext) => Step,
  ) => Step
  readonly compileComprehension: (coder: CodegenContext, term: Comprehension) => ValueThunk
  readonly compileExpression: (coder: CodegenContext, expression: Expression) => ValueThunk
}

/** Returns a coder for a nested body, whose bindings stay local. */
export function nestedContext(coder: CodegenContext, goals: readonly Goal[]): CodegenContext {
  return {
    ...coder,
    bound: new Set(coder.bound),
    visible: new Set([...coder.visible, ...directVariables(goals)]),
  }
}
