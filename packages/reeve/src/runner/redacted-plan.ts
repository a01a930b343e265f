import { isDeepStrictEqual } from 'node:util'

type JsonObject = Readonly<Record<string, unknown>>

/** Fields of the exported plan that clients render; the others contain plain values. */
const RENDERED_FIELDS = [
  'resource_changes',
  'resource_drift',
  'output_changes',
  'relevant_attributes',
  'deferred_changes',
] as const

/**
 * Returns the part of a plan that clients render: its changes without the values marked sensitive,
 * and the schemas in use. The marks are kept, so that clients can show that a value exists.
 */
export function redactPlan(plan: JsonObject, schemas: JsonObject): JsonObject {
  const rendered = RENDERED_FIELDS.flatMap((name) => {
    const value = plan[name]
    return value === undefined ? [] : [[name, redactValue(value)] as const]
  })
  return {
    plan_format_version: plan['format_version'],
    provider_format_version: schemas['format_version'] ?? '1.0',
    resource_changes: [],
    ...Object.fromEntries(rendered),
    provider_schemas: usedSchemas(plan, schemas),
  }
}

/** Redacts changes in lists and maps; other values are returned as they are. */
function redactValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactValue)
  if (!isObject(value)) return value
  if ('before' in value || 'after' in value) return redactChange(value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redactValue(one)]))
}

function redactChange(change: JsonObject): JsonObject {
  const {
    before,
    after,
    before_sensitive: beforeSensitivity,
    after_sensitive: afterSensitivity,
  } = change
  return {
    ...change,
    ...('before' in change && {
      before: redactMarked(before, beforeSensitivity, { isAfter: false, other: after }),
    }),
    ...('after' in change && {
      after: redactMarked(after, afterSensitivity, { isAfter: true, other: before }),
    }),
  }
}

/** One of the two sides of a change. */
interface Side {
  readonly isAfter: boolean
  /** The value of the other side. */
  readonly other: unknown
}

/** Returns the value with a substitute wherever the mark of the same shape is true. */
function redactMarked(value: unknown, sensitivity: unknown, side: Side): unknown {
  if (sensitivity === true)
    return placeholder(value, side.isAfter && !isDeepStrictEqual(value, side.other))
  if (Array.isArray(value))
    return value.map((one, index) => {
      const other = Array.isArray(side.other) ? side.other[index] : undefined
      return redactMarked(one, Array.isArray(sensitivity) ? sensitivity[index] : undefined, {
        ...side,
        other,
      })
    })
  if (!isObject(value) || !isObject(sensitivity)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const other = isObject(side.other) ? side.other[name] : undefined
      return [name, redactMarked(one, sensitivity[name], { ...side, other })]
    }),
  )
}

/**
 * Returns a constant of the same type, or another one if the value has changed: clients compare the
 * two sides to tell whether a sensitive value is added, changed or removed.
 */
function placeholder(value: unknown, hasChanged: boolean): unknown {
  if (Array.isArray(value)) return hasChanged ? [null] : []
  switch (typeof value) {
    case 'string':
      return hasChanged ? '*' : ''
    case 'number':
      return hasChanged ? 1 : 0
    case 'boolean':
      return hasChanged
    default:
      if (!isObject(value)) return null
      return hasChanged ? { '*': null } : {}
  }
}

/** Returns the schemas in use: a provider has hundreds of types, a plan uses a few. */
function usedSchemas(plan: JsonObject, schemas: JsonObject): JsonObject {
  const used = collectTypes([
    plan['resource_changes'],
    plan['resource_drift'],
    plan['deferred_changes'],
  ])
  const all = schemas['provider_schemas']
  if (!isObject(all)) return {}
  return Object.fromEntries(
    Object.entries(all).flatMap(([provider, schema]) => {
      const types = used.get(provider)
      return types === undefined || !isObject(schema) ? [] : [[provider, onlyTypes(schema, types)]]
    }),
  )
}

const TYPED_SCHEMAS = ['resource_schemas', 'data_source_schemas', 'ephemeral_resource_schemas']

function onlyTypes(schema: JsonObject, types: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      if (!TYPED_SCHEMAS.includes(name) || !isObject(value)) return [name, value]
      return [name, Object.fromEntries(Object.entries(value).filter(([type]) => types.has(type)))]
    }),
  )
}

/** Collects the resource types of changes at any depth, by provider. */
function collectTypes(value: unknown, found = new Map<string, Set<string>>()): typeof found {
  if (Array.isArray(value)) for (const one of value) collectTypes(one, found)
  if (!isObject(value)) return found
  const { provider_name: provider, type, resource_change: inner } = value
  if (typeof provider === 'string' && typeof type === 'string') {
    const types = found.get(provider) ?? new Set()
    found.set(provider, types.add(type))
  }
  return inner === undefined ? found : collectTypes(inner, found)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
