import { formatText } from '../value/format.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { SCHEMA_DEPTH_MAX } from '../builtins/limits.ts'
import { compilePattern } from '../regex/pattern.ts'
import { isArray, isNumber, ObjectValue, type Value } from '../value/value.ts'
import { resolveReference } from './validate.ts'

const TYPES = ['array', 'boolean', 'integer', 'number', 'null', 'object', 'string'] as const

/** Keywords whose value contains schemas: a schema, a list of them, or schemas by name. */
const NESTED = [
  'items',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
] as const
const LISTS = ['allOf', 'anyOf', 'oneOf', 'items'] as const
const MAPS = ['properties', 'patternProperties', 'definitions', '$defs', 'dependencies'] as const
const COUNTS = [
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
] as const

/** Returns a problem of the schema itself; undefined if it is valid. */
export function findSchemaProblem(context: CallContext, root: Value): string | undefined {
  return findIn(context, root, { root, depth: 0 })
}

interface Where {
  readonly root: Value
  readonly depth: number
}

function findIn(context: CallContext, schema: Value, { root, depth }: Where): string | undefined {
  context.charge(1)
  if (depth > SCHEMA_DEPTH_MAX) return 'schema is nested too deeply'
  if (typeof schema === 'boolean') return undefined
  if (!(schema instanceof ObjectValue)) return 'schema is invalid'
  const own = findOwn(schema, root)
  if (own !== undefined) return own
  for (const inner of innerSchemas(schema)) {
    const problem = findIn(context, inner, { root, depth: depth + 1 })
    if (problem !== undefined) return problem
  }
  return undefined
}

function findOwn(schema: ObjectValue, root: Value): string | undefined {
  const reference = schema.get('$ref')
  if (reference !== undefined) {
    if (typeof reference !== 'string') return 'Invalid type. Expected: string, given: $ref'
    return resolveReference(root, reference) === undefined
      ? `Object has no key '${reference}'`
      : undefined
  }
  const type = schema.get('type')
  for (const one of type === undefined ? [] : isArray(type) ? type : [type])
    if (!TYPES.some((known) => known === one))
      return `has a primitive type that is NOT VALID -- given: /${formatText(one)}/ Expected valid values are:[${TYPES.join(' ')}]`
  for (const name of COUNTS) {
    const count = schema.get(name)
    if (count === undefined) continue
    if (!isNumber(count)) return `${name} must be of an integer`
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 0)
      return `${name} must be greater than or equal to 0`
  }
  const pattern = schema.get('pattern')
  if (pattern !== undefined && (typeof pattern !== 'string' || !compilePattern(pattern).ok))
    return `pattern must be a valid regex`
  const required = schema.get('required')
  if (required !== undefined && typeof required !== 'boolean' && !isArray(required))
    return 'required must be of an array'
  return undefined
}

function innerSchemas(schema: ObjectValue): readonly Value[] {
  const inner: Value[] = []
  for (const name of NESTED) {
    const one = schema.get(name)
    if (one !== undefined && !isArray(one)) inner.push(one)
  }
  for (const name of LISTS) {
    const list = schema.get(name)
    if (isArray(list)) inner.push(...list)
  }
  for (const name of MAPS) {
    const map = schema.get(name)
    if (map instanceof ObjectValue) inner.push(...map.values().filter((one) => !isArray(one)))
  }
  return inner
}
