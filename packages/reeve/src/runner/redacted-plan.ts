import { isDeepStrictEqual } from 'node:util'

type Plain = Readonly<Record<string, unknown>>

/** Fields of the exported plan that clients render; the others contain plain values. */
const RENDERED = [
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
export function redactedPlan(plan: Plain, schemas: Plain): Plain {
  const rendered = RENDERED.flatMap((name) => {
    const value = plan[name]
    return value === undefined ? [] : [[name, redacted(value)] as const]
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
function redacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redacted)
  if (!isPlain(value)) return value
  if ('before' in value || 'after' in value) return redactedChange(value)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redacted(one)]))
}

function redactedChange(change: Plain): Plain {
  const { before, after, before_sensitive: beforeMark, after_sensitive: afterMark } = change
  return {
    ...change,
    ...('before' in change && { before: hidden(before, beforeMark, { after: false, of: after }) }),
    ...('after' in change && { after: hidden(after, afterMark, { after: true, of: before }) }),
  }
}

/** One of the two sides of a change. */
interface Side {
  readonly after: boolean
  /** The value of the other side. */
  readonly of: unknown
}

/** Returns the value with a substitute wherever the mark of the same shape is true. */
function hidden(value: unknown, mark: unknown, side: Side): unknown {
  if (mark === true) return substitute(value, side.after && !isDeepStrictEqual(value, side.of))
  if (Array.isArray(value))
    return value.map((one, at) => {
      const of = Array.isArray(side.of) ? side.of[at] : undefined
      return hidden(one, Array.isArray(mark) ? mark[at] : undefined, { ...side, of })
    })
  if (!isPlain(value) || !isPlain(mark)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const of = isPlain(side.of) ? side.of[name] : undefined
      return [name, hidden(one, mark[name], { ...side, of })]
    }),
  )
}

/**
 * Returns a constant of the same type, or another one if the value has changed: clients compare the
 * two sides to tell whether a sensitive value is added, changed or removed.
 */
function substitute(value: unknown, hasChanged: boolean): unknown {
  if (Array.isArray(value)) return hasChanged ? [null] : []
  switch (typeof value) {
    case 'string':
      return hasChanged ? '*' : ''
    case 'number':
      return hasChanged ? 1 : 0
    case 'boolean':
      return hasChanged
    default:
      if (!isPlain(value)) return null
      return hasChanged ? { '*': null } : {}
  }
}

/** Returns the schemas in use: a provider has hundreds of types, a plan uses a few. */
function usedSchemas(plan: Plain, schemas: Plain): Plain {
  const used = typesIn([plan['resource_changes'], plan['resource_drift'], plan['deferred_changes']])
  const all = schemas['provider_schemas']
  if (!isPlain(all)) return {}
  return Object.fromEntries(
    Object.entries(all).flatMap(([provider, schema]) => {
      const types = used.get(provider)
      return types === undefined || !isPlain(schema) ? [] : [[provider, narrowed(schema, types)]]
    }),
  )
}

const TYPED_SCHEMAS = ['resource_schemas', 'data_source_schemas', 'ephemeral_resource_schemas']

function narrowed(schema: Plain, types: ReadonlySet<string>): Plain {
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      if (!TYPED_SCHEMAS.includes(name) || !isPlain(value)) return [name, value]
      return [name, Object.fromEntries(Object.entries(value).filter(([type]) => types.has(type)))]
    }),
  )
}

/** Collects the resource types of changes at any depth, by provider. */
function typesIn(value: unknown, found = new Map<string, Set<string>>()): typeof found {
  if (Array.isArray(value)) for (const one of value) typesIn(one, found)
  if (!isPlain(value)) return found
  const { provider_name: provider, type, resource_change: inner } = value
  if (typeof provider === 'string' && typeof type === 'string') {
    const types = found.get(provider) ?? new Set()
    found.set(provider, types.add(type))
  }
  return inner === undefined ? found : typesIn(inner, found)
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
