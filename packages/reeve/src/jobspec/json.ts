import { isList, isObject, type Value } from '@reeve/hcl'

/** The result of reading a job file: plain JSON data. */
export type Json = null | boolean | number | string | readonly Json[] | JsonRecord

export interface JsonRecord {
  readonly [name: string]: Json
}

export function isRecord(value: Json | undefined): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The records in a list; empty for other values. */
export function toRecords(value: Json | undefined): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** Always copies, so that every object of a job has one position. */
export function toJson(value: Value): Json {
  if (typeof value === 'bigint') return Number(value)
  if (isList(value)) return value.map(toJson)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toJson(one)]))
}

/** Whether the value contains an integer that loses digits as a JSON number. */
export function hasInexactInteger(value: Value): boolean {
  if (typeof value === 'bigint') return true
  if (isList(value)) return value.some(hasInexactInteger)
  return isObject(value) && Object.values(value).some(hasInexactInteger)
}
