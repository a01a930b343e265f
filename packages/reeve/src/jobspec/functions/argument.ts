import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  ANY,
  describeValue,
  fromFloat,
  isList,
  isNumber,
  isObject,
  listOf,
  mapOf,
  NUMBER,
  STRING,
  type NumberValue,
  type ObjectValue,
  type Parameter,
  type Type,
  type Value,
} from '@reeve/hcl'

/** A parameter with the TypeScript type of its converted values. */
export interface Argument<T> extends Parameter {
  /** An error continues after the parameter name: `must be a whole number`. */
  read(value: Value): Result<T, string>
}

export function text(name: string): Argument<string> {
  return { name, type: STRING, read: readText }
}

function readText(value: Value): Result<string, string> {
  return typeof value === 'string' ? ok(value) : err('must be a string')
}

export function number(name: string): Argument<NumberValue> {
  return {
    name,
    type: NUMBER,
    read: (value) => (isNumber(value) ? ok(value) : err('must be a number')),
  }
}

/** An integer within the safe range of a number. */
export function integer(name: string, bounds: Bounds = {}): Argument<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds
  const isBounded = bounds.min !== undefined || bounds.max !== undefined
  const wanted = isBounded
    ? `must be a whole number ${describeBounds(bounds)}`
    : 'must be a whole number'
  return {
    name,
    type: NUMBER,
    read: (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
        ? ok(value)
        : err(wanted),
  }
}

interface Bounds {
  readonly min?: number
  readonly max?: number
}

function describeBounds({ min, max }: Bounds): string {
  if (min === undefined) return `of at most ${max}`
  return max === undefined ? `of at least ${min}` : `from ${min} to ${max}`
}

/** An integer of any size. */
export function bigInteger(name: string): Argument<bigint> {
  return {
    name,
    type: NUMBER,
    read: (value) => {
      if (typeof value === 'bigint') return ok(value)
      return typeof value === 'number' && Number.isInteger(value)
        ? ok(BigInt(value))
        : err('must be a whole number')
    },
  }
}

/** A double. The conversion has already rejected larger numbers. */
export function float(name: string): Argument<number> {
  return {
    name,
    type: NUMBER,
    read: (value) =>
      isNumber(value) && fromFloat(Number(value)) !== undefined
        ? ok(Number(value))
        : err('must be a number'),
  }
}

export function any(name: string): Argument<Value> {
  return { name, type: ANY, isNullable: true, read: (value) => ok(value) }
}

/** Any value except null. */
export function nonNull(name: string): Argument<Value> {
  return { name, type: ANY, read: (value) => ok(value) }
}

/** A list whose elements keep their own types. */
export function list(name: string): Argument<readonly Value[]> {
  return { name, type: ANY, read: readList }
}

export function listOrNull(name: string): Argument<readonly Value[] | null> {
  return {
    name,
    type: ANY,
    isNullable: true,
    read: (value) => (value === null ? ok(null) : readList(value)),
  }
}

/** A list whose elements are converted to their common type. */
export function homogeneousList(name: string): Argument<readonly Value[]> {
  return { name, type: listOf(ANY), read: readList }
}

function readList(value: Value): Result<readonly Value[], string> {
  return isList(value) ? ok(value) : err(`must be a list, but it is ${typeWithArticle(value)}`)
}

export function strings(name: string): Argument<readonly string[]> {
  return { name, type: listOf(STRING), read: readStrings }
}

function readStrings(value: Value): Result<readonly string[], string> {
  return readElements(value, (one) => (typeof one === 'string' ? one : undefined))
}

export function numbers(name: string): Argument<readonly NumberValue[]> {
  return {
    name,
    type: listOf(NUMBER),
    read: (value) => readElements(value, (one) => (isNumber(one) ? one : undefined)),
  }
}

/** A list that may contain null elements, for functions that handle them (`alltrue`, `compact`). */
export function typedList(name: string, element: Type): Argument<readonly Value[]> {
  return { name, type: listOf(element), read: readList }
}

function readElements<T>(
  value: Value,
  read: (element: Value) => T | undefined,
): Result<readonly T[], string> {
  const elements = readList(value)
  if (!elements.ok) return elements
  const found: T[] = []
  for (const [index, element] of elements.value.entries()) {
    const one = read(element)
    if (one === undefined) return err(`must not have null as element ${index}`)
    found.push(one)
  }
  return ok(found)
}

/** An object whose members keep their own types. */
export function object(name: string): Argument<ObjectValue> {
  return { name, type: ANY, read: readObject }
}

export function objectOrNull(name: string): Argument<ObjectValue | null> {
  return {
    name,
    type: ANY,
    isNullable: true,
    read: (value) => (value === null ? ok(null) : readObject(value)),
  }
}

function readObject(value: Value): Result<ObjectValue, string> {
  return isObject(value)
    ? ok(value)
    : err(`must be a map or an object, but it is ${typeWithArticle(value)}`)
}

/** An object of string lists. */
export function stringListsByName(
  name: string,
): Argument<readonly (readonly [string, readonly string[]])[]> {
  return {
    name,
    type: mapOf(listOf(STRING)),
    read: (value) => {
      const entries: [string, readonly string[]][] = []
      for (const [key, one] of Object.entries(isObject(value) ? value : {})) {
        const found = readStrings(one)
        if (!found.ok) return found
        entries.push([key, found.value])
      }
      return ok(entries)
    },
  }
}

function typeWithArticle(value: Value): string {
  const kind = describeValue(value)
  if (value === null) return kind
  return kind === 'object' ? `an ${kind}` : `a ${kind}`
}
