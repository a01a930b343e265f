import type { Source } from '../syntax/source.ts'
import type { Expression, TextSpan, Statement } from '../syntax/ast.ts'
import { Undefined, type Value } from '../value/value.ts'
import type { OperatorContext } from './operators.ts'
import type { EvaluationState, CodeLocation } from './state.ts'
import type { Frame, Scope } from './scope.ts'

/** A compiled expression. */
export type CompiledExpression = (frame: Frame, run: EvaluationState) => Value

/** How a statement completed. */
export const NEXT = 0
export const BREAK = 1
export const CONTINUE = 2
/** The value is in `state.returned`. */
export const RETURN = 3
export type CompletionKind = typeof NEXT | typeof BREAK | typeof CONTINUE | typeof RETURN

/** A compiled statement. */
export type CompiledStatement = (frame: Frame, run: EvaluationState) => CompletionKind

/** Context of compilation. */
export interface CompileContext {
  readonly source: Source
  readonly scope: Scope
  /** Whether the code records why conditions are false. */
  readonly explains: boolean
  readonly compilers: Compilers
}

/**
 * Compilers of expressions and blocks, passed as fields because expressions and statements contain
 * each other and direct imports would be cyclic.
 */
export interface Compilers {
  readonly expression: (node: Expression, maker: CompileContext) => CompiledExpression
  readonly block: (statements: readonly Statement[], maker: CompileContext) => CompiledStatement
}

export function compileExpression(node: Expression, maker: CompileContext): CompiledExpression {
  return maker.compilers.expression(node, maker)
}

/** Creates the undefined value of a position once, on first use. */
export function undefinedAt(source: Source, at: number): () => Undefined {
  let here: Undefined | undefined
  return () => {
    here ??= new Undefined(source.positionAt(at))
    return here
  }
}

/** The context of an operator at a position, created when the operator needs it. */
export function operatorContextAt(
  source: Source,
  spot: TextSpan,
): (run: EvaluationState) => OperatorContext {
  const site: CodeLocation = { source, at: spot.at }
  const undefinedHere = undefinedAt(source, spot.at)
  let last: OperatorContext | undefined
  return (run) => {
    if (last?.run !== run) last = { run, site, undefinedHere }
    return last
  }
}
