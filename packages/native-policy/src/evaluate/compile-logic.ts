import type { BinaryExpression, Expression, LogicOperator } from '../syntax/ast.ts'
import { typeOf, Undefined, type Value } from '../value/value.ts'
import {
  compileExpression,
  operatorContextAt,
  type CompiledExpression,
  type CompileContext,
} from './code.ts'
import { combine } from './operators.ts'
import { sourceExcerpt } from './recorder.ts'
import type { EvaluationState, CodeLocation } from './state.ts'

/** Returns a boolean or undefined; any other value is an error. */
export function expectBoolean(
  value: Value,
  { run, site, what }: { run: EvaluationState; site: CodeLocation; what: string },
): boolean | Undefined {
  if (typeof value === 'boolean' || value instanceof Undefined) return value
  return run.fail(site, `${what} needs a bool, not ${typeOf(value)}`)
}

interface LogicExpression extends BinaryExpression {
  readonly operator: LogicOperator
}

export function compileLogic(node: LogicExpression, maker: CompileContext): CompiledExpression {
  const { operator } = node
  const left = compileTracedOperand(node.left, maker)
  const right = compileTracedOperand(node.right, maker)
  const place = operatorContextAt(maker.source, node.spot)
  const what = `"${operator}"`
  return (frame, run) => {
    const mark = run.recorder?.checkpoint
    const { site } = place(run)
    const first = expectBoolean(left(frame, run), { run, site, what })
    // Undefined short-circuits `and` and `xor`, but not `or`.
    if (operator === 'and' && first !== true) return first
    if (operator === 'xor' && first instanceof Undefined) return first
    if (operator === 'or' && first === true) return first
    const second = expectBoolean(right(frame, run), { run, site, what })
    const value = combine(operator, first, second)
    if (value === true && mark !== undefined) run.recorder?.rollback(mark)
    return value
  }
}

export function compileNot(
  node: Extract<Expression, { kind: 'unary' }>,
  maker: CompileContext,
): CompiledExpression {
  const operand = compileExpression(node.operand, maker)
  const place = operatorContextAt(maker.source, node.spot)
  return (frame, run) => {
    const mark = run.recorder?.checkpoint
    const found = expectBoolean(operand(frame, run), { run, site: place(run).site, what: '"not"' })
    // The operand was false, but its negation is true: drop its failures.
    if (mark !== undefined) run.recorder?.rollback(mark)
    const value = found instanceof Undefined ? found : !found
    return explained({ node, maker, run, value, operands: [node.operand], values: [found] })
  }
}

/** Compiles an operand that is a condition itself, and records its text if it is not true. */
export function compileTracedOperand(node: Expression, maker: CompileContext): CompiledExpression {
  const code = compileExpression(node, maker)
  if (!maker.explains || !isPlain(node)) return code
  return (frame, run) =>
    explained({ node, maker, run, value: code(frame, run), operands: [], values: [] })
}

/** Whether the expression records failures by itself. */
function isPlain({ kind }: Expression): boolean {
  return kind === 'name' || kind === 'select' || kind === 'index' || kind === 'call'
}

interface Explained {
  readonly node: Expression
  readonly maker: CompileContext
  readonly run: EvaluationState
  readonly value: Value
  readonly operands: readonly Expression[]
  readonly values: readonly Value[]
}

/** Returns the value, and records a failure if it is not true. */
export function explained({ node, maker, run, value, operands, values }: Explained): Value {
  const { recorder } = run
  if (recorder === undefined || (value !== false && !(value instanceof Undefined))) return value
  const shown = operands.flatMap((operand, index) =>
    isLiteral(operand)
      ? []
      : [{ text: sourceExcerpt(maker.source, operand.spot), value: values[index] ?? null }],
  )
  recorder.add(maker.source, node.spot, { value, operands: shown })
  return value
}

/** The text of a literal is its value. */
function isLiteral({ kind }: Expression): boolean {
  return kind === 'int' || kind === 'float' || kind === 'string'
}
