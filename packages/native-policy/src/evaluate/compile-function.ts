import type { FunctionExpression } from '../syntax/tree.ts'
import type { CallContext, FunctionValue, Value } from '../value/value.ts'
import {
  RETURN,
  type CompiledExpression,
  type CompileContext,
  type CompiledStatement,
} from './code.ts'
import type { EvaluationState, CodeLocation } from './run.ts'
import { assignedNames, Scope, type Frame } from './scope.ts'

export function compileFunction(
  node: FunctionExpression,
  maker: CompileContext,
  name: string,
): CompiledExpression {
  const parameters = node.parameters.map((parameter) => parameter.name)
  const scope = new Scope(maker.scope, [...parameters, ...assignedNames(node.body)])
  const body = maker.compilers.block(node.body, { ...maker, scope })
  const site: CodeLocation = { source: maker.source, at: node.spot.start }
  // Not always the first slots: `_` may occur twice.
  const slots = parameters.map((parameter) => scope.declare(parameter))
  const shape = { name, scope, body, site, slots }
  return (frame, run) => new Closure(shape, frame, run)
}

interface FunctionShape {
  readonly name: string
  readonly scope: Scope
  readonly body: CompiledStatement
  readonly site: CodeLocation
  /** Slots of the parameters. */
  readonly slots: readonly number[]
}

class Closure implements FunctionValue {
  readonly isFunction = true
  readonly name: string
  readonly arity: readonly [number, number]
  readonly #shape: FunctionShape
  readonly #frame: Frame
  readonly #run: EvaluationState

  constructor(shape: FunctionShape, frame: Frame, run: EvaluationState) {
    this.name = shape.name
    this.arity = [shape.slots.length, shape.slots.length]
    this.#shape = shape
    this.#frame = frame
    this.#run = run
  }

  call(args: readonly Value[], _context: CallContext): Value {
    const { scope, body, site, slots } = this.#shape
    const run = this.#run
    const frame = scope.frame(this.#frame)
    for (const [index, value] of args.entries()) frame.slots[slots[index] ?? index] = value
    run.enter(site)
    const ending = body(frame, run)
    run.leave()
    if (ending !== RETURN) return run.fail(site, `${this.name} ends without "return"`)
    return run.returned
  }
}
