import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseExpression } from '../syntax/parse.ts'
import type { Expression } from '../syntax/ast.ts'
import { errorAt, type Diagnostic } from '../text/diagnostic.ts'
import {
  ANY,
  BOOL,
  listOf,
  mapOf,
  NUMBER,
  setOf,
  STRING,
  tupleOf,
  type Type,
} from '../value/type.ts'

const KEYWORDS: ReadonlyMap<string, Type> = new Map([
  ['any', ANY],
  ['string', STRING],
  ['number', NUMBER],
  ['bool', BOOL],
])

const COLLECTIONS: ReadonlyMap<string, (element: Type) => Type> = new Map([
  ['list', listOf],
  ['set', setOf],
  ['map', mapOf],
])

/** Parses a type expression: `list(string)`, `object({ a = number })`. */
export function parseType(expression: Expression): Result<Type, readonly Diagnostic[]> {
  if (expression.kind === 'literal' && typeof expression.value === 'string')
    return readQuotedType(expression, expression.value)
  if (expression.kind === 'variable') {
    const type = KEYWORDS.get(expression.name)
    if (type !== undefined) return ok(type)
  }
  if (expression.kind === 'call') {
    const [argument, second] = expression.arguments
    if (argument !== undefined && second === undefined && !expression.expandsLast)
      return readConstructor(expression.name, argument, expression)
  }
  return invalid(expression)
}

/** JSON has no bare words, so the type is the text of a string. */
function readQuotedType(expression: Expression, text: string): Result<Type, readonly Diagnostic[]> {
  const parsed = parseExpression(text, expression.span.source.file)
  if (!parsed.ok || parsed.value.kind === 'literal') return invalid(expression)
  const type = parseType(parsed.value)
  return type.ok ? type : invalid(expression)
}

function readConstructor(
  name: string,
  argument: Expression,
  whole: Expression,
): Result<Type, readonly Diagnostic[]> {
  const collection = COLLECTIONS.get(name)
  if (collection !== undefined) {
    const element = parseType(argument)
    return element.ok ? ok(collection(element.value)) : element
  }
  if (name === 'tuple' && argument.kind === 'tuple') return readTuple(argument.elements)
  if (name === 'object' && argument.kind === 'object') return readObject(argument)
  return invalid(whole)
}

function readTuple(elements: readonly Expression[]): Result<Type, readonly Diagnostic[]> {
  const types: Type[] = []
  for (const element of elements) {
    const type = parseType(element)
    if (!type.ok) return type
    types.push(type.value)
  }
  return ok(tupleOf(types))
}

function readObject(
  object: Extract<Expression, { kind: 'object' }>,
): Result<Type, readonly Diagnostic[]> {
  const attributes = new Map<string, Type>()
  const optional = new Set<string>()
  for (const item of object.items) {
    if (item.name === undefined) return invalid(item.key)
    const inner = optionalType(item.value)
    const type = parseType(inner ?? item.value)
    if (!type.ok) return type
    attributes.set(item.name, type.value)
    if (inner !== undefined) optional.add(item.name)
  }
  return ok({ kind: 'object', attributes, ...(optional.size === 0 ? {} : { optional }) })
}

/** The type inside `optional(type)`, which is only allowed for attributes of an object type. */
function optionalType(expression: Expression): Expression | undefined {
  if (expression.kind !== 'call' || expression.name !== 'optional') return undefined
  const [type, second] = expression.arguments
  return second === undefined && !expression.expandsLast ? type : undefined
}

function invalid(expression: Expression): Result<never, readonly Diagnostic[]> {
  const detail =
    'A type is one of string, number, bool, any, list(T), set(T), map(T), tuple([T, …]) and object({name = T, name = optional(T), …}).'
  return err([errorAt(expression.span, 'Invalid type', detail)])
}
