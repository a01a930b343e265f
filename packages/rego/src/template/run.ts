import type { CallContext } from '../builtins/builtin.ts'
import { addLength } from '../builtins/operand.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isArray, ObjectValue, type Value } from '../value/value.ts'
import { FUNCTIONS } from './functions.ts'
import { parseTemplate, type BlockNode, type TemplateNode } from './parse.ts'
import type { Operand, Pipeline } from './pipeline.ts'
import { isTrue, printText } from './print.ts'

/** The text of a template with the values put in. What is missing prints as undefined. */
export function renderTemplate(
  context: CallContext,
  source: string,
  values: Value,
): Result<string, string> {
  const nodes = parseTemplate(source)
  if (!nodes.ok) return nodes
  const run: Run = { context, pieces: [], length: 0, variables: [['$', values]] }
  const done = runNodes(run, nodes.value, values)
  return done.ok ? ok(run.pieces.join('')) : done
}

interface Run {
  readonly context: CallContext
  readonly pieces: string[]
  length: number
  /** The last one of a name counts. */
  readonly variables: [name: string, value: Value | undefined][]
}

type Outcome = Result<'done' | 'break' | 'continue', string>
const DONE: Outcome = ok('done')

function runNodes(run: Run, nodes: readonly TemplateNode[], dot: Value | undefined): Outcome {
  const known = run.variables.length
  for (const node of nodes) {
    run.context.charge(1)
    const outcome = runNode(run, node, dot)
    if (!outcome.ok || outcome.value !== 'done') {
      run.variables.length = known
      return outcome
    }
  }
  run.variables.length = known
  return DONE
}

function runNode(run: Run, node: TemplateNode, dot: Value | undefined): Outcome {
  switch (node.type) {
    case 'text':
      return put(run, node.text)
    case 'break':
    case 'continue':
      return ok(node.type)
    case 'print': {
      const value = evaluate(run, node.pipeline, dot)
      if (!value.ok) return value
      if (node.pipeline.declares.length === 0) return put(run, printText(value.value))
      bind(run, node.pipeline, [value.value])
      return DONE
    }
    default:
      return runBlock(run, node, dot)
  }
}

function put(run: Run, text: string): Outcome {
  run.length = addLength(run.context, run.length, text.length)
  run.pieces.push(text)
  return DONE
}

function runBlock(run: Run, node: BlockNode, dot: Value | undefined): Outcome {
  const value = evaluate(run, node.pipeline, dot)
  if (!value.ok) return value
  if (node.type === 'range') return runRange(run, node, { dot, value: value.value })
  const known = run.variables.length
  bind(run, node.pipeline, [value.value])
  const outcome = isTrue(value.value)
    ? runNodes(run, node.body, node.type === 'with' ? value.value : dot)
    : runNodes(run, node.otherwise, dot)
  run.variables.length = Math.min(known, run.variables.length)
  return outcome
}

function runRange(
  run: Run,
  node: BlockNode,
  { dot, value }: { readonly dot: Value | undefined; readonly value: Value | undefined },
): Outcome {
  const entries = entriesOf(value)
  if (entries === undefined) return err(`range can't iterate over ${printText(value)}`)
  if (entries.length === 0) return runNodes(run, node.otherwise, dot)
  for (const [key, item] of entries) {
    const known = run.variables.length
    bind(run, node.pipeline, node.pipeline.declares.length > 1 ? [key, item] : [item])
    const outcome = runNodes(run, node.body, item)
    run.variables.length = known
    if (!outcome.ok) return outcome
    if (outcome.value === 'break') break
  }
  return DONE
}

function entriesOf(value: Value | undefined): readonly (readonly [Value, Value])[] | undefined {
  if (value === undefined || value === null) return []
  if (isArray(value)) return value.map((item, at) => [at, item] as const)
  return value instanceof ObjectValue ? value.entries() : undefined
}

function bind(
  run: Run,
  { declares, isAssignment }: Pipeline,
  values: readonly (Value | undefined)[],
): void {
  for (const [at, name] of declares.entries()) {
    const known = isAssignment ? run.variables.findLast(([other]) => other === name) : undefined
    if (known === undefined) run.variables.push([name, values[at]])
    else known[1] = values[at]
  }
}

type Evaluated = Result<Value | undefined, string>

function evaluate(run: Run, { commands }: Pipeline, dot: Value | undefined): Evaluated {
  let piped: { readonly value: Value | undefined } | undefined
  for (const [first, ...rest] of commands) {
    run.context.charge(1)
    if (first === undefined) return err('missing value for command')
    const result =
      first.type === 'function'
        ? call(run, { name: first.name, operands: rest, piped, dot })
        : rest.length > 0 || piped !== undefined
          ? err("can't give argument to non-function")
          : valueOf(run, first, dot)
    if (!result.ok) return result
    piped = { value: result.value }
  }
  return ok(piped?.value)
}

interface CallRequest {
  readonly name: string
  readonly operands: readonly Operand[]
  readonly piped: { readonly value: Value | undefined } | undefined
  readonly dot: Value | undefined
}

function call(run: Run, { name, operands, piped, dot }: CallRequest): Evaluated {
  const builtin = FUNCTIONS.get(name)
  if (builtin === undefined) return err(`function "${name}" not defined`)
  const values: (Value | undefined)[] = []
  for (const operand of operands) {
    const value = valueOf(run, operand, dot)
    if (!value.ok) return value
    values.push(value.value)
  }
  if (piped !== undefined) values.push(piped.value)
  return builtin(values, run.context)
}

function valueOf(run: Run, operand: Operand, dot: Value | undefined): Evaluated {
  switch (operand.type) {
    case 'constant':
      return ok(operand.value)
    case 'function':
      return call(run, { name: operand.name, operands: [], piped: undefined, dot })
    case 'group': {
      const value = evaluate(run, operand.pipeline, dot)
      return value.ok ? follow(value.value, operand.fields) : value
    }
    case 'path': {
      if (operand.root === 'dot') return follow(dot, operand.fields)
      const found = run.variables.findLast(([name]) => name === operand.root)
      return found === undefined
        ? err(`undefined variable ${JSON.stringify(operand.root)}`)
        : follow(found[1], operand.fields)
    }
  }
}

function follow(value: Value | undefined, fields: readonly string[]): Evaluated {
  let current = value
  for (const field of fields) {
    if (current === undefined || current === null) return ok(undefined)
    if (!(current instanceof ObjectValue))
      return err(`can't evaluate field ${field} in ${printText(current)}`)
    current = current.get(field)
  }
  return ok(current)
}
