import assert from 'node:assert/strict'
import { Job } from '@reeve/contract'
import { Value } from 'typebox/value'

/** A JSON Schema as TypeBox makes it. */
interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
}

/**
 * A job of the contract in which every field has a value and every list and map one member: with it
 * a test tries every field, also those that are added later. It means nothing as a whole.
 */
export function fullJob(): Job {
  const schema: object = Job
  const job = filled(schema)
  assert.ok(Value.Check(Job, job), 'it is a job')
  return job
}

function filled(schema: JsonSchema): unknown {
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return filled(schema.anyOf[0] ?? {})
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, field]) => [name, filled(field)]),
    )
  if (schema.type === 'array') return [filled(schema.items ?? {})]
  if (schema.type === 'object')
    return { key: filled(Object.values(schema.patternProperties ?? {})[0] ?? {}) }
  if (schema.type === 'integer' || schema.type === 'number') return 1
  return schema.type === 'boolean' ? false : 'x'
}

export type LeafPath = readonly string[]

/** Where the values of a job are. */
export function leafPaths(value: unknown, path: LeafPath = []): readonly LeafPath[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, inner]) => leafPaths(inner, [...path, name]))
}

/** The job with another value of the same type at one place. */
export function changedAt(job: Job, path: LeafPath): Job {
  // Only a leaf is another one.
  return changed(job, path) as Job
}

function changed(value: unknown, path: LeafPath): unknown {
  const [name, ...rest] = path
  if (name === undefined || typeof value !== 'object' || value === null) return otherThan(value)
  if (Array.isArray(value))
    return value.map((inner: unknown, i) => (String(i) === name ? changed(inner, rest) : inner))
  return { ...value, [name]: changed(Reflect.get(value, name), rest) }
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  return typeof value === 'boolean' ? !value : 'other'
}
