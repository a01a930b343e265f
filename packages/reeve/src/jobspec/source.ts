import { err, type Result } from '@reeve/kit/result.ts'
import {
  errorAt,
  makeSource,
  parseHcl,
  parseHclJson,
  type Body,
  type Diagnostic,
  isList,
  isObject,
  type Value,
} from '@reeve/hcl'
import { JOB_FILE_LENGTH_MAX } from './limits.ts'

/** A text and its name in messages. */
export interface SourceFile {
  readonly file: string
  readonly text: string
}

const JSON_START = /^\uFEFF?\s*\{/

/** Text that starts with a brace is JSON syntax. */
export function isJsonSyntax(text: string): boolean {
  return JSON_START.test(text)
}

export function parseSource({ file, text }: SourceFile): Result<Body, readonly Diagnostic[]> {
  const tooLong = checkLength({ file, text })
  if (tooLong !== undefined) return err([tooLong])
  return isJsonSyntax(text) ? parseHclJson(text, file) : parseHcl(text, file)
}

/** Checks the length before parsing; undefined if it is allowed. */
export function checkLength({ file, text }: SourceFile): Diagnostic | undefined {
  if (text.length <= JOB_FILE_LENGTH_MAX) return undefined
  const detail = `A job file and a variable file may have at most ${JOB_FILE_LENGTH_MAX} characters.`
  return errorAt({ source: makeSource(file, ''), start: 0, end: 0 }, 'Text too long', detail)
}

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
