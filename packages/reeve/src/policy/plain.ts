import type { JsonValue } from '@reeve/native-policy'
import type { JsonObject } from './subject.ts'

/** Reads members of JSON data; missing members and members of another type are empty. */

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function getObject(value: JsonObject, name: string): JsonObject {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isJsonObject(member) ? member : {}
}

export function getList(value: JsonObject, name: string): readonly JsonValue[] {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isJsonList(member) ? member : []
}

export function getString(value: JsonObject, name: string): string {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'string' ? member : ''
}

export function getNumber(value: JsonObject, name: string): number {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'number' ? member : 0
}

function isJsonList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
