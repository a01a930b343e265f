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
import { compileExpression, type CompiledExpression, type CompileContext } from './code.ts'
import { compileTracedOperand, expectBoolean } from './compile-logic.ts'
import type { EvaluationState, CodeLocation } from './run.ts'
import type { Frame } from './scope.ts'

/** Name of a rule in reports: the variable it is assigned to. */
export interface RuleNaming {
  readonly name: string
  readonly description: string
}

/** Compiles `rule [when p] { e }`. */
export function compileRule(
  node: RuleExpression,
  maker: CompileContext,
  naming: RuleNaming | undefined,
): CompiledExpression {
  const when = node.when === undefined ? undefined : compileExpression(node.when, maker)
  const body = compileTracedOperand(node.body, maker)
  const site: CodeLocation = { source: maker.source, at: node.spot.start }
  const evaluate: CompiledExpression = (frame, run) => {
    const applies = when === undefined ? true : whenOf(when(frame, run), { run, site })
    if (applies !== true) return applies instanceof Undefined ? applies : true
    const mark = run.recorder?.checkpoint
    const value = body(frame, run)
    if (value === true && mark !== undefined) run.recorder?.rollback(mark)
    return value
  }
  const named = naming ?? { name: '', description: '' }
  return (frame, run) => new Rule({ evaluate, frame, run, site, naming: named })
}

function whenOf(
  value: Value,
  { run, site }: { run: EvaluationState; site: CodeLocation },
): boolean | Undefined {
  return expectBoolean(value, { run, site, what: '"when"' })
}

interface RuleParts {
  readonly evaluate: CompiledExpression
  readonly frame: Frame
  readonly run: EvaluationState
  readonly site: CodeLocation
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
        : run.recorder.scoped(() => evaluate(frame, run))
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
