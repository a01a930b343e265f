import { findTypeMismatch, type Builtin } from '../builtins/builtin.ts'
import type { Call } from '../compile/ir.ts'
import { compare, equal, type Value } from '../value/value.ts'
import type { CodegenContext, Program } from './codegen.ts'
import { Env, type ValueThunk, type Mock, EvaluationAborted } from './env.ts'

/** Operators that work on any two values: no types to check, no failure, nothing to replace. */
const COMPARISONS: ReadonlyMap<string, (a: Value, b: Value) => boolean> = new Map([
  ['equal', equal],
  ['neq', (a: Value, b: Value) => !equal(a, b)],
  ['lt', (a: Value, b: Value) => compare(a, b) < 0],
  ['lte', (a: Value, b: Value) => compare(a, b) <= 0],
  ['gt', (a: Value, b: Value) => compare(a, b) > 0],
  ['gte', (a: Value, b: Value) => compare(a, b) >= 0],
])

export function compileCall(coder: CodegenContext, call: Call): ValueThunk {
  const operands = call.operands.map((operand) => coder.compileExpression(coder, operand))
  const [first, second] = operands
  const comparison = COMPARISONS.get(call.name)
  if (comparison !== undefined && first !== undefined && second !== undefined)
    return (frame) => {
      const a = first(frame)
      if (a === undefined) return undefined
      const b = second(frame)
      return b === undefined ? undefined : comparison(a, b)
    }
  const invoke = compileInvoke(coder, call)
  return (frame) => {
    const values: Value[] = []
    for (const operand of operands) {
      const value = operand(frame)
      if (value === undefined) return undefined
      values.push(value)
    }
    return invoke(frame.env, values)
  }
}

type Invoke = (env: Env, operands: readonly Value[]) => Value | undefined

function compileInvoke(coder: CodegenContext, call: Call): Invoke {
  const { program, source } = coder
  const { name, callee, at } = call
  const locate = () => source.locate(at)
  const direct: Invoke =
    callee.type === 'builtin'
      ? (env, operands) => callBuiltin(env, callee.builtin, { operands, locate })
      : (env, operands) => program.callFunction(env, callee.group, operands)
  return (env, operands) => {
    const mock = env.mocks?.get(name)
    if (mock === undefined) return direct(env, operands)
    return callMock(program, env, { mock, operands, locate })
  }
}

interface Invocation {
  readonly operands: readonly Value[]
  readonly locate: () => ReturnType<CodegenContext['source']['locate']>
}

/** A replacement sees no replacements: so it can call what it replaces. */
function callMock(
  program: Program,
  env: Env,
  { mock, operands, locate }: Invocation & { readonly mock: Mock },
): Value | undefined {
  if ('value' in mock) return mock.value
  const { callee } = mock
  const { shared, input, data, hidden } = env
  const plain = new Env({ shared, input, data, hidden, mocks: undefined, parent: env })
  return callee.type === 'builtin'
    ? callBuiltin(plain, callee.builtin, { operands, locate })
    : program.callFunction(plain, callee.group, operands)
}

function callBuiltin(env: Env, builtin: Builtin, call: Invocation): Value | undefined {
  const { shared } = env
  shared.step()
  const mistyped = findTypeMismatch(builtin, call.operands)
  const value =
    mistyped === undefined ? builtin.call(shared, ...call.operands) : shared.failType(mistyped)
  if (value === undefined) {
    const { failure } = shared
    shared.failure = undefined
    if (failure !== undefined && (failure.isRefusal || shared.options.isStrict))
      throw new EvaluationAborted({
        code: failure.code,
        message: `${builtin.name}: ${failure.message}`,
        location: call.locate(),
      })
  } else if (typeof value === 'string') shared.chargeText(value)
  return value
}
