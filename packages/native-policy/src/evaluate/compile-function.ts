import type { FunctionExpression } from '../syntax/tree.ts'
import type { CallContext, FunctionValue, Value } from '../value/value.ts'
import { RETURN, type Code, type Maker, type Step } from './code.ts'
import type { Run, Site } from './run.ts'
import { assignedNames, Scope, type Frame } from './scope.ts'

export function compileFunction(node: FunctionExpression, maker: Maker, name: string): Code {
  const parameters = node.parameters.map((parameter) => parameter.name)
  const scope = new Scope(maker.scope, [...parameters, ...assignedNames(node.body)])
  const body = maker.compilers.block(node.body, { ...maker, scope })
  const site: Site = { source: maker.source, at: node.spot.start }
  // Not always the first slots: `_` may occur twice.
  const slots = parameters.map((parameter) => scope.declare(parameter))
  const shape = { name, scope, body, site, slots }
  return (frame, run) => new Closure(shape, frame, run)
}

interface FunctionShape {
  readonly name: string
  readonly scope: Scope
  readonly body: Step
  readonly site: Site
  /** Slots of the parameters. */
  readonly slots: readonly number[]
}

class Closure implements FunctionValue {
  readonly isFunction = true
  readonly name: string
  readonly arity: readonly [number, number]
  readonly #shape: FunctionShape
  readonly #frame: Frame
  readonly #run: Run

  constructor(shape: FunctionShape, frame: Frame, run: Run) {
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
