import type { Source } from '../syntax/source.ts'
import type { Expression, Spot, Statement } from '../syntax/tree.ts'
import { Undefined, type Value } from '../value/value.ts'
import type { OperatorContext } from './operators.ts'
import type { Run, Site } from './run.ts'
import type { Frame, Scope } from './scope.ts'

/** A compiled expression. */
export type Code = (frame: Frame, run: Run) => Value

/** How a statement completed. */
export const NEXT = 0
export const BREAK = 1
export const CONTINUE = 2
/** The value is in `state.returned`. */
export const RETURN = 3
export type Ending = typeof NEXT | typeof BREAK | typeof CONTINUE | typeof RETURN

/** A compiled statement. */
export type Step = (frame: Frame, run: Run) => Ending

/** Context of compilation. */
export interface Maker {
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
  readonly expression: (node: Expression, maker: Maker) => Code
  readonly block: (statements: readonly Statement[], maker: Maker) => Step
}

export function compileExpression(node: Expression, maker: Maker): Code {
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
export function placeIn(source: Source, spot: Spot): (run: Run) => OperatorContext {
  const site: Site = { source, at: spot.at }
  const undefinedHere = undefinedAt(source, spot.at)
  let last: OperatorContext | undefined
  return (run) => {
    if (last?.run !== run) last = { run, site, undefinedHere }
    return last
  }
}
