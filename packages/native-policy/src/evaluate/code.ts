import type { Source } from '../syntax/source.ts'
import type { Expression, Spot, Statement } from '../syntax/tree.ts'
import { Undefined, type Value } from '../value/value.ts'
import type { OperatorContext } from './operators.ts'
import type { Run, Site } from './run.ts'
import type { Frame, Scope } from './scope.ts'

/** A compiled expression. */
export type Code = (frame: Frame, run: Run) => Value

/** How a statement ended. */
export const NEXT = 0
export const BREAK = 1
export const CONTINUE = 2
/** `run.returned` has the value. */
export const RETURN = 3
export type Ending = typeof NEXT | typeof BREAK | typeof CONTINUE | typeof RETURN

/** A compiled statement. */
export type Step = (frame: Frame, run: Run) => Ending

/** What is known where code is made. */
export interface Maker {
  readonly source: Source
  readonly scope: Scope
  /** Whether the code records why conditions are not met. */
  readonly explains: boolean
  readonly compilers: Compilers
}

/** Expressions hold functions, functions hold statements, statements hold expressions. */
export interface Compilers {
  readonly expression: (node: Expression, maker: Maker) => Code
  readonly block: (statements: readonly Statement[], maker: Maker) => Step
}

export function compileExpression(node: Expression, maker: Maker): Code {
  return maker.compilers.expression(node, maker)
}

/** Makes the undefined of a place once, when it first comes up. */
export function undefinedAt(source: Source, at: number): () => Undefined {
  let here: Undefined | undefined
  return () => {
    here ??= new Undefined(source.positionAt(at))
    return here
  }
}

/** An operator's place; the context for a run is made when the operator needs it. */
export function placeIn(source: Source, spot: Spot): (run: Run) => OperatorContext {
  const site: Site = { source, at: spot.at }
  const undefinedHere = undefinedAt(source, spot.at)
  let last: OperatorContext | undefined
  return (run) => {
    if (last?.run !== run) last = { run, site, undefinedHere }
    return last
  }
}
