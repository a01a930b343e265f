import type { Position, Source } from '../syntax/source.ts'
import type { RuleExpression } from '../syntax/tree.ts'
import {
  isFunction,
  isRule,
  Undefined,
  typeOf,
  type RuleValue,
  type Value,
} from '../value/value.ts'
import { compileExpression, type Code, type Maker } from './code.ts'
import { compileOperand, truthOf } from './compile-logic.ts'
import type { Run, Site } from './run.ts'
import type { Frame } from './scope.ts'

/** Name of a rule in reports: the variable it is assigned to. */
export interface RuleNaming {
  readonly name: string
  readonly description: string
}

/** Compiles `rule [when p] { e }`. */
export function compileRule(
  node: RuleExpression,
  maker: Maker,
  naming: RuleNaming | undefined,
): Code {
  const when = node.when === undefined ? undefined : compileExpression(node.when, maker)
  const body = compileOperand(node.body, maker)
  const site: Site = { source: maker.source, at: node.spot.start }
  const evaluate: Code = (frame, run) => {
    const applies = when === undefined ? true : whenOf(when(frame, run), { run, site })
    if (applies !== true) return applies instanceof Undefined ? applies : true
    const mark = run.recorder?.mark
    const value = body(frame, run)
    if (value === true && mark !== undefined) run.recorder?.forget(mark)
    return value
  }
  const named = naming ?? { name: '', description: '' }
  return (frame, run) => new Rule({ evaluate, frame, run, site, naming: named })
}

function whenOf(value: Value, { run, site }: { run: Run; site: Site }): boolean | Undefined {
  return truthOf(value, { run, site, what: '"when"' })
}

interface RuleParts {
  readonly evaluate: Code
  readonly frame: Frame
  readonly run: Run
  readonly site: Site
  readonly naming: RuleNaming
}

class Rule implements RuleValue {
  readonly isRule = true
  readonly #parts: RuleParts
  #state: 'waiting' | 'running' | 'done' = 'waiting'
  #value: Value = null

  constructor(parts: RuleParts) {
    this.#parts = parts
  }

  force(): Value {
    if (this.#state === 'done') return this.#value
    const { run, site, naming } = this.#parts
    if (this.#state === 'running')
      return run.fail(site, `the rule ${JSON.stringify(naming.name)} needs its own value`)
    this.#state = 'running'
    this.#value = this.#evaluate()
    this.#state = 'done'
    return this.#value
  }

  #evaluate(): Value {
    const { evaluate, frame, run, site, naming } = this.#parts
    run.enter(site)
    const outcome =
      run.recorder === undefined
        ? { value: evaluate(frame, run), failures: [] }
        : run.recorder.within(() => evaluate(frame, run))
    run.leave()
    const { value, failures } = outcome
    if (isRule(value) || isFunction(value) || value === null)
      return run.fail(site, `a rule cannot have the value ${typeOf(value)}`)
    run.reports.push({ ...naming, position: positionOf(site), value, failures })
    return value
  }
}

function positionOf({ source, at }: { source: Source; at: number }): Position {
  return source.positionAt(at)
}
