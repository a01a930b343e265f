import { isList, isObject, type Value } from '@reeve/hcl'

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

/** Always a copy, so that every object of a job has one place in it. */
export function toJson(value: Value): Json {
  if (typeof value === 'bigint') return Number(value)
  if (isList(value)) return value.map(toJson)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toJson(one)]))
}

/** Whether a whole number in it has more digits than a number of JSON keeps. */
export function isRounded(value: Value): boolean {
  if (typeof value === 'bigint') return true
  if (isList(value)) return value.some(isRounded)
  return isObject(value) && Object.values(value).some(isRounded)
}
