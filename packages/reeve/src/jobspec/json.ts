import { isList, isObject, type Value } from '../lang/hcl/index.ts'

/** What a job file becomes: data that `JSON.stringify` writes as it is. */
export type Json = null | boolean | number | string | readonly Json[] | JsonRecord

export interface JsonRecord {
  readonly [name: string]: Json
}

export function isRecord(value: Json | undefined): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The records of a list; nothing for anything else. */
export function recordsOf(value: Json | undefined): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export interface ToJsonOptions {
  /** Told when a whole number has more digits than a number of JSON keeps. */
  readonly onRounded: () => void
}

/** Always a copy, so that every object of a job has one place in it. */
export function toJson(value: Value, options: ToJsonOptions): Json {
  if (typeof value === 'bigint') {
    options.onRounded()
    return Number(value)
  }
  if (isList(value)) return value.map((element) => toJson(element, options))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, toJson(one, options)]),
  )
}
