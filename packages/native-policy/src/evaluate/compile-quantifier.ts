import { keyOf, MutableMap } from '../value/map.ts'
import { ListValue, Undefined, type Value } from '../value/value.ts'
import type { LoopVariables, QuantifierExpression } from '../syntax/ast.ts'
import {
  compileExpression,
  operatorContextAt,
  type CompiledExpression,
  type CompileContext,
} from './code.ts'
import { compileTracedOperand, expectBoolean } from './compile-logic.ts'
import { eachElement, elementsOf, notIterableMessage, type Element } from './elements.ts'
import { combine } from './operators.ts'
import { sourceExcerpt } from './recorder.ts'
import type { EvaluationState } from './state.ts'
import { Scope, type Frame } from './scope.ts'

/** Evaluates the body for one element. */
type Judge = (element: Element) => Value

interface Quantified {
  readonly run: EvaluationState
  readonly collection: Value
  readonly judge: Judge
}

export function compileQuantifier(
  node: QuantifierExpression,
  maker: CompileContext,
): CompiledExpression {
  const collection = compileExpression(node.collection, maker)
  const place = operatorContextAt(maker.source, node.spot)
  const { scope, bind } = loopScope(node.variables, maker.scope)
  const inner = { ...maker, scope }
  const body = isCondition(node)
    ? compileTracedOperand(node.body, inner)
    : compileExpression(node.body, inner)
  const judgeOf =
    (frame: Frame, run: EvaluationState): Judge =>
    (element) => {
      const own = scope.frame(frame)
      bind(own, element)
      return body(own, run)
    }
  return (frame, run) => {
    const quantified = {
      run,
      collection: collection(frame, run),
      judge: judgeOf(frame, run),
    }
    if (quantified.collection instanceof Undefined) return quantified.collection
    return evaluate(node, { ...quantified, maker, site: place(run).site })
  }
}

function isCondition({ quantifier }: QuantifierExpression): boolean {
  return quantifier === 'any' || quantifier === 'all'
}

/** Creates a scope for the loop variables, and a function that assigns them. */
export function loopScope(variables: LoopVariables, parent: Scope) {
  const { key, value } = variables
  const names = key === undefined ? [value.name] : [key.name, value.name]
  const scope = new Scope(parent, names)
  const keySlot = key === undefined ? undefined : scope.slotOf(key.name)
  const valueSlot = scope.declare(value.name)
  const bind = (frame: Frame, element: Element) => {
    if (keySlot !== undefined) frame.slots[keySlot] = element.key
    frame.slots[valueSlot] = keySlot === undefined ? element.item : element.value
  }
  return { scope, bind }
}

interface Evaluated extends Quantified {
  readonly maker: CompileContext
  readonly site: { readonly source: CompileContext['source']; readonly at: number }
}

function evaluate(node: QuantifierExpression, quantified: Evaluated): Value {
  switch (node.quantifier) {
    case 'any':
      return evaluateAny(node, quantified)
    case 'all':
      return evaluateAll(node, quantified)
    case 'filter':
      return evaluateFilter(quantified)
    case 'map':
      return evaluateMap(quantified)
  }
}

/** Evaluated like a chain of `or`. */
function evaluateAny(node: QuantifierExpression, quantified: Evaluated): Value {
  const { run, collection, judge, site, maker } = quantified
  const mark = run.recorder?.checkpoint
  const elements = elementsOf(collection, () => run.fail(site, notIterableMessage(collection)))
  if (elements.kind === 'undefined') return elements.value
  const state: { answer: boolean | Undefined } = { answer: false }
  eachElement(elements, run, (element) => {
    const found = expectBoolean(judge(element), { run, site, what: '"any"' })
    state.answer = combine('or', state.answer, found)
    return found === true
  })
  const { answer } = state
  if (mark !== undefined) run.recorder?.rollback(mark)
  if (answer !== true) run.recorder?.add(maker.source, node.spot, { value: answer, operands: [] })
  return answer
}

/** Evaluated like a chain of `and`: stops at the first element that is not true. */
function evaluateAll(node: QuantifierExpression, quantified: Evaluated): Value {
  const { run, collection, judge, site, maker } = quantified
  const elements = elementsOf(collection, () => run.fail(site, notIterableMessage(collection)))
  if (elements.kind === 'undefined') return elements.value
  const state: { answer: boolean | Undefined } = { answer: true }
  eachElement(elements, run, (element) => {
    const found = expectBoolean(judge(element), { run, site, what: '"all"' })
    state.answer = found
    if (found === true) return false
    const text = sourceExcerpt(maker.source, node.collection.spot)
    const operands = [{ text: `element of ${text}`, value: element.key }]
    run.recorder?.add(maker.source, node.spot, { value: found, operands })
    return true
  })
  return state.answer
}

function evaluateFilter({ run, collection, judge, site }: Evaluated): Value {
  const elements = elementsOf(collection, () => run.fail(site, notIterableMessage(collection)))
  if (elements.kind === 'undefined') return elements.value
  const kept: [Value, Value][] = []
  const state: { unknown: Undefined | undefined } = { unknown: undefined }
  eachElement(elements, run, (element) => {
    const found = expectBoolean(judge(element), { run, site, what: '"filter"' })
    if (found instanceof Undefined) state.unknown = found
    if (found === true) kept.push([element.key, element.value])
    return state.unknown !== undefined
  })
  if (state.unknown !== undefined) return state.unknown
  run.allocate(kept.length)
  if (elements.kind === 'list') return new ListValue(kept.map(([, value]) => value))
  return new MutableMap(kept.map(([key, value]) => [keyOf(key) ?? '', value]))
}

/** The result is always a list; its elements may be undefined. */
function evaluateMap({ run, collection, judge, site }: Evaluated): Value {
  const elements = elementsOf(collection, () => run.fail(site, notIterableMessage(collection)))
  if (elements.kind === 'undefined') return elements.value
  const items: Value[] = []
  eachElement(elements, run, (element) => {
    items.push(judge(element))
    return false
  })
  run.allocate(items.length)
  return new ListValue(items)
}
