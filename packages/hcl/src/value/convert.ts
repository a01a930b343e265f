import { err, ok, type Result } from '@reeve/kit/result.ts'
import { quoteText } from '../text/suggest.ts'
import { numberToText, parseNumber, type NumberValue } from '@reeve/kit/number.ts'
import {
  ANY,
  describeType,
  typeOf,
  unifyAll,
  type ListType,
  type MapType,
  type ObjectType,
  type TupleType,
  type Type,
} from './type.ts'
import {
  getAttribute,
  isList,
  isNumber,
  isObject,
  makeObject,
  markSet,
  toJson,
  type Value,
} from './value.ts'

/** Why a value cannot be converted, and the path inside it. */
export interface ConversionError {
  readonly path: readonly (string | number)[]
  readonly message: string
}

export interface ConversionRules {
  /**
   * As in HCL 1: also converts a value to a list of it, 0 and 1 to a bool, and a list of objects to
   * one object.
   */
  readonly weak?: boolean
}

/** Null stays null; the caller decides whether it is allowed. */
export function convert(
  value: Value,
  type: Type,
  rules: ConversionRules = {},
): Result<Value, ConversionError> {
  if (value === null) return ok(null)
  switch (type.kind) {
    case 'any':
      return ok(value)
    case 'string':
      return orRequired(toText(value), type, value)
    case 'number':
      return orRequired(toNumber(value), type, value)
    case 'bool':
      return orRequired(rules.weak === true ? toBoolWeakly(value) : toBool(value), type, value)
    case 'list':
    case 'set':
      return convertToList(value, type, rules)
    case 'tuple':
      return convertToTuple(value, type, rules)
    case 'map':
      return convertToMap(value, type, rules)
    case 'object':
      return convertToObject(value, type, rules)
  }
}

/** Text of a primitive; undefined for null and collections. */
export function toText(value: Value): string | undefined {
  if (typeof value === 'string') return value
  if (isNumber(value)) return numberToText(value)
  return typeof value === 'boolean' ? String(value) : undefined
}

export function toNumber(value: Value): NumberValue | undefined {
  if (typeof value === 'string') return parseNumber(value)
  return isNumber(value) ? value : undefined
}

export function toBool(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : undefined
}

function toBoolWeakly(value: Value): boolean | undefined {
  return isNumber(value) ? toBool(numberToText(value)) : toBool(value)
}

function orRequired(
  converted: Value | undefined,
  type: Type,
  value: Value,
): Result<Value, ConversionError> {
  if (converted !== undefined) return ok(converted)
  const shown = typeof value === 'string' ? `, but ${quoteText(value)} is not one` : ''
  return problem(`a ${describeType(type)} is required${shown}`)
}

function problem(message: string): Result<never, ConversionError> {
  return err({ path: [], message })
}

function convertToList(
  value: Value,
  type: ListType,
  rules: ConversionRules,
): Result<Value, ConversionError> {
  const list = isList(value) ? value : rules.weak === true ? [value] : undefined
  if (list === undefined) return problem(`a ${describeType(type)} is required`)
  const element = elementTypeFor(list, type.element)
  if (element === undefined)
    return problem(`all elements of a ${type.kind} must have the same type`)
  const converted = convertMembers(list.entries(), () => element, rules)
  if (!converted.ok) return converted
  const elements = converted.value.map(([, one]) => one)
  return ok(type.kind === 'set' ? markSet(toSet(elements)) : elements)
}

/** `list(any)` means a list of one type, which is inferred from the value. */
function elementTypeFor(members: Iterable<Value>, wanted: Type): Type | undefined {
  return wanted.kind === 'any' ? unifyAll([...members].map(typeOf)) : wanted
}

/** Sets are ordered: numbers by value, everything else by its JSON text. */
function toSet(elements: readonly Value[]): readonly Value[] {
  const byText = new Map(elements.map((element) => [toJson(element), element]))
  return [...byText]
    .toSorted(([aText, a], [bText, b]) => {
      if (isNumber(a) && isNumber(b)) return a < b ? -1 : 1
      return aText < bText ? -1 : 1
    })
    .map(([, element]) => element)
}

function convertToTuple(
  value: Value,
  type: TupleType,
  rules: ConversionRules,
): Result<Value, ConversionError> {
  if (!isList(value)) return problem('a tuple is required')
  const wantedCount = type.elements.length
  if (value.length !== wantedCount)
    return problem(`a tuple of ${wantedCount} element(s) is required, but it has ${value.length}`)
  const converted = convertMembers(value.entries(), (index) => type.elements[index] ?? ANY, rules)
  return converted.ok ? ok(converted.value.map(([, one]) => one)) : converted
}

function convertToMap(
  value: Value,
  type: MapType,
  rules: ConversionRules,
): Result<Value, ConversionError> {
  const object = asObject(value, rules)
  if (object === undefined) return problem(`a ${describeType(type)} is required`)
  const element = elementTypeFor(Object.values(object), type.element)
  if (element === undefined) return problem('all elements of a map must have the same type')
  const converted = convertMembers(Object.entries(object), () => element, rules)
  return converted.ok ? ok(makeObject(converted.value)) : converted
}

function asObject(value: Value, rules: ConversionRules) {
  if (isObject(value)) return value
  if (rules.weak !== true || !isList(value) || !value.every(isObject)) return undefined
  return makeObject(value.flatMap((one) => Object.entries(one)))
}

/**
 * Attributes that the type does not name are dropped, because an object with more attributes is
 * also one with fewer.
 */
function convertToObject(
  value: Value,
  type: ObjectType,
  rules: ConversionRules,
): Result<Value, ConversionError> {
  const object = asObject(value, rules)
  if (object === undefined) return problem('an object is required')
  const entries: [string, Value][] = []
  for (const name of type.attributes.keys()) {
    const member = getAttribute(object, name)
    if (member === undefined && type.optional?.has(name) !== true)
      return problem(`attribute ${quoteText(name)} is required`)
    entries.push([name, member ?? null])
  }
  const converted = convertMembers(entries, (name) => type.attributes.get(name) ?? ANY, rules)
  return converted.ok ? ok(makeObject(converted.value)) : converted
}

function convertMembers<K extends string | number>(
  members: Iterable<readonly [K, Value]>,
  typeFor: (key: K) => Type,
  rules: ConversionRules,
): Result<readonly (readonly [K, Value])[], ConversionError> {
  const converted: (readonly [K, Value])[] = []
  for (const [key, member] of members) {
    const one = convert(member, typeFor(key), rules)
    if (!one.ok) return err({ path: [key, ...one.error.path], message: one.error.message })
    converted.push([key, one.value])
  }
  return ok(converted)
}

/** For example `element 0: attribute "x": a number is required`. */
export function formatConversionError(found: ConversionError): string {
  const steps = found.path.map((step) =>
    typeof step === 'number' ? `element ${step}: ` : `attribute ${quoteText(step)}: `,
  )
  return `${steps.join('')}${found.message}`
}
