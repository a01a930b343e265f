import { CHARACTERS_PER_STEP, STRING_LENGTH_MAX } from '../limits.ts'
import type {
  ArithmeticOperator,
  ComparisonOperator,
  LogicOperator,
  MembershipOperator,
} from '../syntax/ast.ts'
import { joinTexts } from '../value/bytes.ts'
import {
  areEqual,
  compareOrdered,
  type Float,
  floatOf,
  type Int,
  isInt,
  isMap,
  isNumeric,
  ListValue,
  toNumber,
  typeOf,
  Undefined,
  type Value,
  wrapInt,
} from '../value/value.ts'
import { keyOf } from '../value/map.ts'
import type { EvaluationState, CodeLocation } from './state.ts'

/** Position and state of an operator during evaluation. */
export interface OperatorContext {
  readonly run: EvaluationState
  readonly site: CodeLocation
  readonly undefinedHere: () => Undefined
}

export function calculate(
  operator: ArithmeticOperator,
  operands: readonly [Value, Value],
  context: OperatorContext,
): Value {
  const [left, right] = operands
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  if (isInt(left) && isInt(right)) return calculateInts(operator, [left, right], context)
  if (isNumeric(left) && isNumeric(right)) return calculateFloats(operator, left, right)
  if (operator === '+' && typeof left === 'string' && typeof right === 'string')
    return concatTexts(left, right, context)
  if (operator === '+' && left instanceof ListValue && right instanceof ListValue) {
    context.run.allocate(left.items.length + right.items.length)
    return new ListValue([...left.items, ...right.items])
  }
  return context.run.fail(
    context.site,
    `"${operator}" is not possible between ${typeOf(left)} and ${typeOf(right)}`,
  )
}

function calculateInts(
  operator: ArithmeticOperator,
  [left, right]: readonly [Int, Int],
  context: OperatorContext,
): Value {
  if ((operator === '/' || operator === '%') && (right === 0 || right === 0n))
    return context.run.fail(context.site, 'division by zero')
  if (typeof left === 'number' && typeof right === 'number') {
    const result = calculateNumbers(operator, left, right)
    // Adding zero turns -0 into 0: the language has no negative zero for ints.
    if (Number.isSafeInteger(result)) return result + 0
  }
  return calculateBig(operator, BigInt(left), BigInt(right))
}

function calculateNumbers(operator: ArithmeticOperator, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return Math.trunc(left / right)
    case '%':
      return left % right
  }
}

function calculateBig(operator: ArithmeticOperator, left: bigint, right: bigint): Int {
  switch (operator) {
    case '+':
      return wrapInt(left + right)
    case '-':
      return wrapInt(left - right)
    case '*':
      return wrapInt(left * right)
    case '/':
      return wrapInt(left / right)
    case '%':
      return wrapInt(left % right)
  }
}

function calculateFloats(
  operator: ArithmeticOperator,
  left: number | bigint | Float,
  right: number | bigint | Float,
): Value {
  const [a, b] = [toNumber(left), toNumber(right)]
  return floatOf(operator === '/' ? a / b : calculateNumbers(operator, a, b))
}

function concatTexts(left: string, right: string, { run, site }: OperatorContext): string {
  const length = left.length + right.length
  if (length > STRING_LENGTH_MAX)
    run.fail(site, `a string is longer than ${STRING_LENGTH_MAX} characters`)
  run.allocate(Math.ceil(length / CHARACTERS_PER_STEP))
  return joinTexts(left, right)
}

export function compare(
  operator: ComparisonOperator,
  operands: readonly [Value, Value],
  context: OperatorContext,
): boolean | Undefined {
  const [left, right] = operands
  if (operator === 'is' || operator === 'is not') {
    const isEqual = areEqual(left, right, (steps) => context.run.charge(steps))
    return isEqual instanceof Undefined ? isEqual : isEqual === (operator === 'is')
  }
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  const order = compareOrdered(left, right)
  if (order === undefined) return context.undefinedHere()
  switch (operator) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

export function testMembership(
  operator: MembershipOperator,
  operands: readonly [Value, Value],
  context: OperatorContext,
): boolean | Undefined {
  const [left, right] = operands
  const answer =
    operator === 'matches' || operator === 'not matches'
      ? matchText(left, right, context)
      : operator === 'in' || operator === 'not in'
        ? holds(right, left, context)
        : holds(left, right, context)
  if (answer instanceof Undefined) return answer
  return operator.startsWith('not ') ? !answer : answer
}

function holds(collection: Value, member: Value, context: OperatorContext): boolean | Undefined {
  if (collection instanceof Undefined) return collection
  if (member instanceof Undefined) return member
  if (collection instanceof ListValue) return listHolds(collection, member, context)
  if (typeof collection === 'string') return textHolds(collection, member, context)
  if (isMap(collection)) {
    const key = keyOf(member)
    return key !== undefined && collection.has(key)
  }
  return context.run.fail(
    context.site,
    `only a list, a map or a string contains something, not ${typeOf(collection)}`,
  )
}

function listHolds(list: ListValue, member: Value, { run }: OperatorContext): boolean | Undefined {
  run.charge(list.items.length)
  const charge = (steps: number) => run.charge(steps)
  for (const item of list.items) {
    const isSame = areEqual(item, member, charge)
    if (isSame !== false) return isSame
  }
  return false
}

function textHolds(text: string, part: Value, { run, site }: OperatorContext): boolean {
  if (typeof part !== 'string')
    return run.fail(site, `a string contains only strings, not ${typeOf(part)}`)
  run.charge(1 + Math.ceil(text.length / CHARACTERS_PER_STEP))
  return text.includes(part)
}

function matchText(text: Value, pattern: Value, context: OperatorContext): boolean | Undefined {
  if (text instanceof Undefined) return text
  if (pattern instanceof Undefined) return pattern
  if (typeof text !== 'string' || typeof pattern !== 'string')
    return context.run.fail(
      context.site,
      `"matches" needs two strings, not ${typeOf(text)} and ${typeOf(pattern)}`,
    )
  return context.run.matches(text, pattern, context.site)
}

/** Combines both operands of `and`, `or`, `xor` when the first does not decide. */
export function combine(
  operator: LogicOperator,
  left: boolean | Undefined,
  right: boolean | Undefined,
): boolean | Undefined {
  if (operator === 'or' && right === true) return true
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  if (operator === 'xor') return left !== right
  return operator === 'and' ? left && right : left || right
}
