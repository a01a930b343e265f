import type { JsonValue } from '@reeve/native-policy'
import type { PlainObject } from './subject.ts'

/** Reading plain data that may have any shape: what is missing or of another kind is empty. */

export function isPlainObject(value: JsonValue): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectIn(value: PlainObject, name: string): PlainObject {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isPlainObject(member) ? member : {}
}

export function listIn(value: PlainObject, name: string): readonly JsonValue[] {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isPlainList(member) ? member : []
}

export function textIn(value: PlainObject, name: string): string {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'string' ? member : ''
}

export function numberIn(value: PlainObject, name: string): number {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'number' ? member : 0
}

function isPlainList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
