import {
  floatOf,
  isFunction,
  isNumeric,
  isRule,
  ListValue,
  typeOf,
  Undefined,
  type Value,
} from '../value/value.ts'
import { keyOf, MutableMap } from '../value/map.ts'
import type {
  BinaryExpression,
  CallExpression,
  Expression,
  IndexExpression,
  MapEntry,
  NameExpression,
  SelectExpression,
  SliceExpression,
  StateExpression,
} from '../syntax/ast.ts'
import { isEmpty, readIndex, readSlice } from './access.ts'
import {
  compileExpression,
  operatorContextAt,
  undefinedAt,
  type CompiledExpression,
  type CompileContext,
} from './code.ts'
import { compileFunction, compileRule } from './compile-statement.ts'
import { compileLogic, compileNot, explained } from './compile-logic.ts'
import { compileQuantifier } from './compile-quantifier.ts'
import { calculate, compare, testMembership, type OperatorContext } from './operators.ts'
import type { EvaluationState, CodeLocation } from './state.ts'
import { frameAt } from './scope.ts'

export function makeExpression(node: Expression, maker: CompileContext): CompiledExpression {
  switch (node.kind) {
    case 'int':
    case 'string':
      return constant(node.value)
    case 'float':
      return constant(floatOf(node.value))
    case 'name':
      return compileName(node, maker)
    case 'list':
      return compileList(node.items, maker)
    case 'map':
      return compileMap(node.entries, maker)
    case 'function':
      return compileFunction(node, maker, 'func')
    case 'rule':
      return compileRule(node, maker, undefined)
    case 'quantifier':
      return compileQuantifier(node, maker)
    case 'unary':
      return node.operator === 'not' ? compileNot(node, maker) : compileSign(node, maker)
    case 'binary':
      return compileBinary(node, maker)
    case 'state':
      return compileState(node, maker)
    case 'select':
    case 'index':
      return compileIndex(node, maker)
    case 'slice':
      return compileSlice(node, maker)
    case 'call':
      return compileCall(node, maker)
  }
}

function constant(value: Value): CompiledExpression {
  return () => value
}

function compileName({ name, spot }: NameExpression, maker: CompileContext): CompiledExpression {
  if (name === 'undefined') return undefinedAt(maker.source, spot.start)
  const literal = LITERALS.get(name)
  if (literal !== undefined) return constant(literal)
  const places = maker.scope.candidateSlots(name)
  const site: CodeLocation = { source: maker.source, at: spot.start }
  const [first] = places
  if (first !== undefined && places.length === 1)
    return (frame, run) => {
      const value = frameAt(frame, first.depth).slots[first.slot]
      return value === undefined ? unknown(name, { run, site }) : read(value)
    }
  return (frame, run) => {
    for (const { depth, slot } of places) {
      const value = frameAt(frame, depth).slots[slot]
      if (value !== undefined) return read(value)
    }
    return unknown(name, { run, site })
  }
}

const LITERALS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Reading a rule evaluates it. */
function read(value: Value): Value {
  return isRule(value) ? value.force() : value
}

function unknown(name: string, { run, site }: { run: EvaluationState; site: CodeLocation }): never {
  return run.fail(site, `there is no ${JSON.stringify(name)} here: it was never assigned`)
}

function compileList(items: readonly Expression[], maker: CompileContext): CompiledExpression {
  const codes = items.map((item) => compileExpression(item, maker))
  return (frame, run) => {
    run.allocate(codes.length)
    return new ListValue(codes.map((code) => code(frame, run)))
  }
}

function compileMap(entries: readonly MapEntry[], maker: CompileContext): CompiledExpression {
  const codes = entries.map(({ key, value }) => ({
    key: compileExpression(key, maker),
    value: compileExpression(value, maker),
    site: { source: maker.source, at: key.spot.start },
  }))
  return (frame, run) => {
    run.allocate(codes.length)
    const map = new MutableMap()
    for (const { key, value, site } of codes) {
      const found = key(frame, run)
      const name = keyOf(found)
      if (name === undefined)
        return run.fail(site, `a key is a bool, a number or a string, not ${typeOf(found)}`)
      map.set(name, value(frame, run))
    }
    return map
  }
}

function compileSign(
  node: Extract<Expression, { kind: 'unary' }>,
  maker: CompileContext,
): CompiledExpression {
  const operand = compileExpression(node.operand, maker)
  const place = operatorContextAt(maker.source, node.spot)
  return (frame, run) => {
    const value = operand(frame, run)
    if (value instanceof Undefined) return value
    if (!isNumeric(value))
      return run.fail(place(run).site, `"${node.operator}" needs a number, not ${typeOf(value)}`)
    return node.operator === '+' ? value : calculate('*', [value, -1], place(run))
  }
}

function compileBinary(node: BinaryExpression, maker: CompileContext): CompiledExpression {
  const { operator } = node
  switch (operator) {
    case 'and':
    case 'or':
    case 'xor':
      return compileLogic({ ...node, operator }, maker)
    case 'else':
      return compileElse(node, maker)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return compileOperator(node, maker, (operands, context) =>
        calculate(operator, operands, context),
      )
    case 'is':
    case 'is not':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compileCondition(node, maker, (operands, context) =>
        compare(operator, operands, context),
      )
    default:
      return compileCondition(node, maker, (operands, context) =>
        testMembership(operator, operands, context),
      )
  }
}

type Operate = (operands: readonly [Value, Value], context: OperatorContext) => Value

function compileOperator(
  node: BinaryExpression,
  maker: CompileContext,
  operate: Operate,
): CompiledExpression {
  const left = compileExpression(node.left, maker)
  const right = compileExpression(node.right, maker)
  const place = operatorContextAt(maker.source, node.spot)
  return (frame, run) => operate([left(frame, run), right(frame, run)], place(run))
}

function compileCondition(
  node: BinaryExpression,
  maker: CompileContext,
  operate: Operate,
): CompiledExpression {
  if (!maker.explains) return compileOperator(node, maker, operate)
  const left = compileExpression(node.left, maker)
  const right = compileExpression(node.right, maker)
  const place = operatorContextAt(maker.source, node.spot)
  const sides = [node.left, node.right] as const
  return (frame, run) => {
    const values = [left(frame, run), right(frame, run)] as const
    const value = operate(values, place(run))
    return explained({ node, maker, run, value, operands: sides, values })
  }
}

function compileElse(node: BinaryExpression, maker: CompileContext): CompiledExpression {
  const left = compileExpression(node.left, maker)
  const right = compileExpression(node.right, maker)
  return (frame, run) => {
    const value = left(frame, run)
    return value instanceof Undefined ? right(frame, run) : value
  }
}

function compileState(node: StateExpression, maker: CompileContext): CompiledExpression {
  const operand = compileExpression(node.operand, maker)
  const place = operatorContextAt(maker.source, node.spot)
  const { test, isNegated } = node
  const evaluate = (value: Value, run: EvaluationState): boolean | Undefined => {
    const answer = test === 'defined' ? !(value instanceof Undefined) : isEmpty(value, place(run))
    return answer instanceof Undefined ? answer : answer !== isNegated
  }
  return (frame, run) => {
    const found = operand(frame, run)
    const value = evaluate(found, run)
    if (!maker.explains) return value
    return explained({ node, maker, run, value, operands: [node.operand], values: [found] })
  }
}

function compileIndex(
  node: SelectExpression | IndexExpression,
  maker: CompileContext,
): CompiledExpression {
  const operand = compileExpression(node.operand, maker)
  const index = node.kind === 'select' ? constant(node.name) : compileExpression(node.index, maker)
  const place = operatorContextAt(maker.source, node.spot)
  return (frame, run) => read(readIndex(operand(frame, run), index(frame, run), place(run)))
}

function compileSlice(node: SliceExpression, maker: CompileContext): CompiledExpression {
  const operand = compileExpression(node.operand, maker)
  const from = node.from === undefined ? undefined : compileExpression(node.from, maker)
  const to = node.to === undefined ? undefined : compileExpression(node.to, maker)
  const place = operatorContextAt(maker.source, node.spot)
  return (frame, run) =>
    readSlice(operand(frame, run), { from: from?.(frame, run), to: to?.(frame, run) }, place(run))
}

function compileCall(node: CallExpression, maker: CompileContext): CompiledExpression {
  const callee = compileExpression(node.callee, maker)
  const args = node.args.map((arg) => compileExpression(arg, maker))
  const site: CodeLocation = { source: maker.source, at: node.callee.spot.at }
  const undefinedHere = undefinedAt(maker.source, node.callee.spot.at)
  return (frame, run) => {
    const target = callee(frame, run)
    if (target instanceof Undefined) return target
    if (!isFunction(target)) return run.fail(site, `${typeOf(target)} cannot be called`)
    const [fewest, most] = target.arity
    if (args.length < fewest || args.length > most)
      return run.fail(site, arityComplaint(target.name, target.arity, args.length))
    const values = args.map((arg) => arg(frame, run))
    return run.call(target, values, { site, undefinedHere })
  }
}

function arityComplaint(name: string, [fewest, most]: readonly [number, number], given: number) {
  const wanted =
    fewest === most
      ? String(fewest)
      : most === Number.POSITIVE_INFINITY
        ? `at least ${fewest}`
        : `${fewest} to ${most}`
  return `${name} takes ${wanted} argument${wanted === '1' ? '' : 's'}, ${given} given`
}
