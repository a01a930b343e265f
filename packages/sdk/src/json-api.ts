import type { Route, v2 } from '@reeve/contract'
import type { DataOf } from './route-types.ts'

/** Builds and reads the documents of the governance API. */

/** `{ data: { type, attributes } }`: the body of a create or an update. */
export function resource<const T extends string, const A extends object>(
  type: T,
  attributes: A,
): { readonly data: { readonly type: T; readonly attributes: A } }
/** Like above, with relationships created by `toOne` and `toMany`. */
export function resource<const T extends string, const A extends object, const R extends object>(
  type: T,
  attributes: A,
  relationships: R,
): { readonly data: { readonly type: T; readonly attributes: A; readonly relationships: R } }
export function resource(type: string, attributes: object, relationships?: object): unknown {
  const data = { type, attributes }
  return { data: relationships === undefined ? data : { ...data, relationships } }
}

export interface ResourceIdentifier<T extends string = string> {
  readonly type: T
  readonly id: string
}

/** A relationship to one resource. */
export function toOne<const T extends string>(
  type: T,
  id: string,
): { readonly data: ResourceIdentifier<T> } {
  return { data: { type, id } }
}

/** A relationship to many; also the body of the calls that add and remove members. */
export function toMany<const T extends string>(
  type: T,
  ids: readonly string[],
): { readonly data: readonly ResourceIdentifier<T>[] } {
  return { data: ids.map((id) => ({ type, id })) }
}

/** A resource of this type, as the governance API returns it. */
export type ResourceOf<T extends string> = [Extract<ReadResource, { type: T }>] extends [never]
  ? v2.IncludedResource
  : Extract<ReadResource, { readonly type: T }>

type ReadResource = { [Id in v2.V2RouteId]: ResourceReadBy<v2.V2Routes[Id]> }[v2.V2RouteId]

type ResourceReadBy<R> = R extends Route & { readonly methods: readonly ['GET'] }
  ? DataOf<R> extends { readonly data: infer Data }
    ? Data extends readonly (infer Item)[]
      ? Item
      : Data
    : never
  : never

interface WithIncluded {
  readonly included?: readonly v2.IncludedResource[]
}

/** The included resources of one type: `included(reply.data, 'policy-sets')`. */
export function includedResources<const T extends string>(
  document: WithIncluded,
  type: T,
): readonly ResourceOf<T>[] {
  const found = (document.included ?? []).filter((each) => each.type === type)
  // Included resources have the same form as the resource itself.
  return found as readonly unknown[] as readonly ResourceOf<T>[]
}

/** Returns the included resource of a relationship; undefined if it was not included. */
export function findIncluded<const T extends string>(
  document: WithIncluded,
  { type, id }: ResourceIdentifier<T>,
): ResourceOf<T> | undefined {
  return includedResources(document, type).find((each) => each.id === id)
}
