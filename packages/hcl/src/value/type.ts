import { isList, isNumber, isObject, isSet, type Value } from './value.ts'

/** The type of a value or the target of a conversion. `any` is also the unknown type of null. */
export type Type =
  | { readonly kind: 'any' | 'string' | 'number' | 'bool' }
  | ListType
  | MapType
  | TupleType
  | ObjectType

export interface ListType {
  readonly kind: 'list' | 'set'
  readonly element: Type
}

export interface MapType {
  readonly kind: 'map'
  readonly element: Type
}

export interface TupleType {
  readonly kind: 'tuple'
  readonly elements: readonly Type[]
}

export interface ObjectType {
  readonly kind: 'object'
  readonly attributes: ReadonlyMap<string, Type>
  /** Attributes that become null if the value lacks them. */
  readonly optional?: ReadonlySet<string>
}

export const ANY: Type = { kind: 'any' }
export const STRING: Type = { kind: 'string' }
export const NUMBER: Type = { kind: 'number' }
export const BOOL: Type = { kind: 'bool' }

export function listOf(element: Type): Type {
  return { kind: 'list', element }
}

export function setOf(element: Type): Type {
  return { kind: 'set', element }
}

export function mapOf(element: Type): Type {
  return { kind: 'map', element }
}

export function tupleOf(elements: readonly Type[]): Type {
  return { kind: 'tuple', elements }
}

export function objectOf(attributes: Readonly<Record<string, Type>>): Type {
  return { kind: 'object', attributes: new Map(Object.entries(attributes)) }
}

/**
 * The exact type of a value: constructors make tuples and objects, never lists and maps. Only sets
 * are marked.
 */
export function typeOf(value: Value): Type {
  if (value === null) return ANY
  if (isNumber(value)) return NUMBER
  if (isSet(value)) return setOf(unifyAll(value.map(typeOf)) ?? ANY)
  if (isList(value)) return tupleOf(value.map(typeOf))
  if (isObject(value)) {
    const attributes = Object.entries(value).map(([name, one]) => [name, typeOf(one)] as const)
    return { kind: 'object', attributes: new Map(attributes) }
  }
  return typeof value === 'string' ? STRING : BOOL
}

/** The common type of all the given types, or undefined. */
export function unifyAll(types: Iterable<Type>): Type | undefined {
  let result: Type = ANY
  for (const type of types) {
    const next = unify(result, type)
    if (next === undefined) return undefined
    result = next
  }
  return result
}

/**
 * All primitives unify to string, except that number and bool do not unify. Tuples of equal length
 * and objects with equal names unify member by member; others become a list or a map of one element
 * type.
 */
export function unify(a: Type, b: Type): Type | undefined {
  if (a.kind === 'any') return b
  if (b.kind === 'any') return a
  if (isSequence(a) && isSequence(b)) return unifySequences(a, b)
  if (isMapping(a) && isMapping(b)) return unifyMappings(a, b)
  if (!isPrimitive(a) || !isPrimitive(b)) return undefined
  if (a.kind === b.kind) return a
  return a.kind === 'string' || b.kind === 'string' ? STRING : undefined
}

type Sequence = ListType | TupleType
type Mapping = MapType | ObjectType

function isPrimitive(type: Type): boolean {
  return type.kind === 'string' || type.kind === 'number' || type.kind === 'bool'
}

function isSequence(type: Type): type is Sequence {
  return type.kind === 'list' || type.kind === 'set' || type.kind === 'tuple'
}

function isMapping(type: Type): type is Mapping {
  return type.kind === 'map' || type.kind === 'object'
}

function unifySequences(a: Sequence, b: Sequence): Type | undefined {
  if (a.kind === 'tuple' && b.kind === 'tuple' && a.elements.length === b.elements.length) {
    const elements: Type[] = []
    for (const [index, element] of a.elements.entries()) {
      const unified = unify(element, b.elements[index] ?? ANY)
      if (unified === undefined) return undefined
      elements.push(unified)
    }
    return tupleOf(elements)
  }
  const element = unifyAll([...elementTypes(a), ...elementTypes(b)])
  if (element === undefined) return undefined
  // A tuple unifies with a set to a set, because brackets are how sets are written.
  const isSetWanted = [a, b].some(({ kind }) => kind === 'set')
  return isSetWanted && [a, b].every(({ kind }) => kind !== 'list')
    ? setOf(element)
    : listOf(element)
}

function elementTypes(type: Sequence): readonly Type[] {
  return type.kind === 'tuple' ? type.elements : [type.element]
}

function unifyMappings(a: Mapping, b: Mapping): Type | undefined {
  if (a.kind === 'object' && b.kind === 'object' && haveSameNames(a.attributes, b.attributes)) {
    const attributes = new Map<string, Type>()
    for (const [name, type] of a.attributes) {
      const unified = unify(type, b.attributes.get(name) ?? ANY)
      if (unified === undefined) return undefined
      attributes.set(name, unified)
    }
    return { kind: 'object', attributes }
  }
  const element = unifyAll([...memberTypes(a), ...memberTypes(b)])
  return element === undefined ? undefined : mapOf(element)
}

function memberTypes(type: Mapping): Iterable<Type> {
  return type.kind === 'object' ? type.attributes.values() : [type.element]
}

function haveSameNames(a: ReadonlyMap<string, Type>, b: ReadonlyMap<string, Type>): boolean {
  return a.size === b.size && [...a.keys()].every((name) => b.has(name))
}

/** Describes the type for messages: `list of string`. */
export function describeType(type: Type): string {
  switch (type.kind) {
    case 'list':
    case 'set':
    case 'map':
      return `${type.kind} of ${describeType(type.element)}`
    case 'any':
      return 'any type'
    default:
      return type.kind
  }
}
