/**
 * Query parameters that many routes share, to be spread into a route's `query`. Names are written
 * as on the wire.
 */

import { Type, type TOptional, type TSchema, type TString } from 'typebox'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './limits.ts'

/** A page beyond the end is an empty page, not an error. */
export const pageQuery = {
  'page[number]': Type.Optional(
    Type.Integer({ minimum: 1, default: 1, description: 'The first page when omitted.' }),
  ),
  'page[size]': Type.Optional(
    Type.Integer({
      minimum: 1,
      default: PAGE_SIZE_DEFAULT,
      description: `${PAGE_SIZE_DEFAULT} when omitted, ${PAGE_SIZE_MAX} when greater than that.`,
    }),
  ),
}

/**
 * `include`, with the names that this route knows; any other is 400. `-` and `_` are equal in it.
 */
export function includeQuery(names: readonly string[]) {
  const known = names.map((name) => `\`${name}\``).join(', ')
  return { include: Type.Optional(Type.String({ description: `Comma-separated, of ${known}.` })) }
}

export type FieldsQuery<T extends string> = Readonly<Record<`fields[${T}]`, TOptional<TString>>>

/** Sparse fieldsets: only the named attributes and relationships of a type. */
export function fieldsQuery<const T extends string>(type: T): FieldsQuery<T> {
  const name: `fields[${T}]` = `fields[${type}]`
  const schema = Type.Optional(
    Type.String({ description: 'Comma-separated; unknown names are ignored.' }),
  )
  // A computed key widens to string: the object has this one key.
  return { [name]: schema } as FieldsQuery<T>
}

/**
 * A filter that is enabled by its presence: `?filter[permissions][update]` and `=true` are equal,
 * and only `false` disables it. HTTP requests carry text, and the SDK a boolean.
 */
export function presenceFlag(description: string) {
  return Type.Optional(Type.Union([Type.Boolean(), Type.String()], { description }))
}

const indexes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const
type QueryIndex = (typeof indexes)[number]

/**
 * Filters of the form `filter[tagged][0][key]`, `filter[tagged][1][key]`, … Every position is a
 * parameter of its own, so that the SDK can name it and the server knows all names; a higher
 * position is 400.
 */
export function indexedQuery<
  const Before extends string,
  const After extends string,
  S extends TSchema,
>(before: Before, after: After, schema: S) {
  type Name = `${Before}${QueryIndex}${After}`
  const names = indexes.map((index) => `${before}${index}${after}`)
  // fromEntries forgets the keys: they are all positions between `before` and `after`.
  return Object.fromEntries(names.map((name) => [name, Type.Optional(schema)])) as Record<
    Name,
    TOptional<S>
  >
}

/** All given pairs must match. An empty value stands for any value. */
export const taggedQuery = {
  ...indexedQuery('filter[tagged][', '][key]', Type.String()),
  ...indexedQuery('filter[tagged][', '][value]', Type.String()),
}
