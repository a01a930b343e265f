import { evaluationError, type FilterError, pointerText, type Selector } from './ast.ts'
import { isRecord, JSON_VALUE, UNTYPED, zeroValue, type FieldType } from './field-type.ts'
import { quote } from './quote.ts'

/** State of one evaluation: the row, the values bound by quantifiers, and the remaining steps. */
export interface Run {
  readonly row: unknown
  readonly bound: unknown[]
  steps: number
}

/** The names visible at a position in the expression. */
export interface Scope {
  readonly row: FieldType
  readonly bindings: ReadonlyMap<string, BoundName>
  /** Number of enclosing quantifiers; each owns two slots of the row context. */
  readonly depth: number
  /** Record fields that cannot be accessed, as if they did not exist. */
  readonly hidden: ReadonlySet<string>
}

export interface BoundName {
  readonly slot: number
  readonly type: FieldType
}

/** A compiled selector. Reading is one walk; explaining a miss is a second, slower one. */
export interface Reader {
  /** The type of the value that `read` returns. */
  readonly type: FieldType
  /** The selected value, or undefined if the path ends early. */
  read(run: Run): unknown
  /** Why `read` returned undefined: a map lacks the key, or the path is invalid for this row. */
  explain(run: Run): 'missing-key' | FilterError
}

export function selectorReader(selector: Selector, scope: Scope): Reader {
  const { path } = selector
  const bound = scope.bindings.get(path[0] ?? '')
  const from = bound === undefined ? 0 : 1
  const start = bound?.type ?? scope.row
  const origin = (run: Run): unknown => (bound === undefined ? run.row : run.bound[bound.slot])
  const steps: Step[] = []
  let kinds = start
  for (const part of path.slice(from)) {
    const step = stepInto(kinds, part, scope)
    if (typeof step === 'string')
      return failingReader(selectorError(path, from + steps.length, step))
    steps.push(step)
    kinds = step.type
  }
  return {
    type: kinds,
    read: (run) => followSteps(origin(run), steps),
    explain: (run) => explainMiss(origin(run), { path, from, steps }),
  }
}

/**
 * A selector that the declared types rule out. The error occurs when a row is evaluated, not
 * before.
 */
function failingReader(error: FilterError): Reader {
  return { type: UNTYPED, read: () => undefined, explain: () => error }
}

interface Step {
  readonly part: string
  /** The part as a list index; -1 if it is not one. */
  readonly position: number
  readonly container: FieldType
  readonly type: FieldType
  /** The zero value if a record omits the field. */
  readonly absent: unknown
}

/** The step from a value to one of its parts, or the reason why there is none. */
function stepInto(container: FieldType, part: string, scope: Scope): Step | string {
  const position = /^[0-9]{1,9}$/.test(part) ? Number(part) : -1
  const step = { part, position, container, absent: undefined }
  switch (container.kind) {
    case 'struct': {
      const kinds = scope.hidden.has(part) ? undefined : container.fields.get(part)
      if (kinds === undefined) return noField(part)
      return { ...step, type: kinds, absent: zeroValue(kinds) }
    }
    case 'untyped':
      return scope.hidden.has(part) ? noField(part) : { ...step, type: UNTYPED }
    case 'json':
      return { ...step, type: JSON_VALUE }
    case 'map':
      return { ...step, type: container.of }
    case 'list':
      return position < 0 ? noPosition(part) : { ...step, type: container.of }
    case 'time':
      return noField(part)
    case 'string':
    case 'integer':
    case 'float':
    case 'boolean':
    case 'bytes':
      return `invalid value kind: ${SCALAR_NAMES[container.kind]}`
  }
}

function followSteps(origin: unknown, steps: readonly Step[]): unknown {
  let value = origin
  for (const step of steps) {
    value = partOf(value, step)
    if (value === undefined) return undefined
  }
  return value
}

/** Own properties only: a map may lack the key `constructor`. */
function partOf(value: unknown, step: Step): unknown {
  if (Array.isArray(value)) return value[step.position]
  if (!isRecord(value)) return undefined
  const part = Object.hasOwn(value, step.part) ? value[step.part] : undefined
  return part === undefined ? step.absent : part
}

interface MissContext {
  readonly path: readonly string[]
  /** Number of parts that a bound name stands for. */
  readonly from: number
  readonly steps: readonly Step[]
}

function explainMiss(
  origin: unknown,
  { path, from, steps }: MissContext,
): 'missing-key' | FilterError {
  let value = origin
  for (const [index, step] of steps.entries()) {
    const next = partOf(value, step)
    if (next === undefined) {
      const problem = stepProblem(value, step)
      return problem === undefined ? 'missing-key' : selectorError(path, from + index, problem)
    }
    value = next
  }
  return selectorError(path, Math.max(path.length - 1, 0), 'invalid value kind: invalid')
}

/** Why the step fails; undefined if a map lacks the key. */
function stepProblem(value: unknown, step: Step): string | undefined {
  const { kind } = step.container
  if (Array.isArray(value) || (value === null && kind === 'list')) {
    if (step.position < 0) return noPosition(step.part)
    const length = Array.isArray(value) ? value.length : 0
    return `index ${step.position} is out of range (length = ${length})`
  }
  if (value === null && kind === 'map') return undefined
  if (!isRecord(value)) return `invalid value kind: ${typeName(value, step.container)}`
  return kind === 'map' || kind === 'json' ? undefined : noField(step.part)
}

const SCALAR_NAMES = {
  string: 'string',
  integer: 'int',
  float: 'float64',
  boolean: 'bool',
  bytes: 'slice',
} as const

/** The type of a value for error messages. */
export function typeName(value: unknown, kinds: FieldType): string {
  if (value === null || value === undefined) return 'invalid'
  if (Array.isArray(value)) return 'slice'
  switch (typeof value) {
    case 'string':
      return kinds.kind === 'time' ? 'struct' : 'string'
    case 'number':
    case 'bigint':
      return kinds.kind === 'float' ? 'float64' : 'int'
    case 'boolean':
      return 'bool'
    default:
      return kinds.kind === 'map' || kinds.kind === 'json' ? 'map' : 'struct'
  }
}

function selectorError(path: readonly string[], part: number, why: string): FilterError {
  return evaluationError(
    `error finding value in datum: ${pointerText(path)}: at part ${part}, ${why}`,
  )
}

function noField(name: string): string {
  return `couldn't find struct field with name ${quote(name)}`
}

function noPosition(part: string): string {
  return `${quote(part)} is not a position in a list`
}
