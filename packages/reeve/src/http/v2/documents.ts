import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { Address, JsonDocument, Outcome, Resource } from './endpoint.ts'
import type { PageWish } from './query.ts'

/** Answers with one resource, and what was asked to be included. */
export function single(data: Resource, more: DocumentParts = {}): Outcome {
  return document(200, { data, ...more })
}

/** The same for one that was made. */
export function created(data: Resource, more: DocumentParts = {}): Outcome {
  return document(201, { data, ...more })
}

type DocumentParts = Omit<JsonDocument, 'data'>

function document(status: number, { included, ...rest }: JsonDocument): Outcome {
  const parts = included === undefined ? rest : { ...rest, included: distinct(included) }
  return ok({ kind: 'document', status, document: parts })
}

/** A list that is never paged. */
export function whole(data: readonly Resource[], more: DocumentParts = {}): Outcome {
  return document(200, { data, ...more })
}

export const NO_CONTENT: Outcome = ok({ kind: 'empty', status: 204 })

/** Turns what a use case gave into an answer; a refusal stays one. */
export function answer<T>(
  result: Result<T, GovernanceRefusal>,
  render: (value: T) => Outcome,
): Outcome {
  return result.ok ? render(result.value) : err(result.error)
}

interface PageRequest {
  readonly page: PageWish
  readonly address: Address
}

export interface PageParts {
  readonly items: readonly Resource[]
  /** How many there are on all pages. */
  readonly total: number
  readonly included?: readonly Resource[] | undefined
  readonly meta?: object
}

/** How many of a list come before the page, and how many are on it. */
export function windowOf({ number, size }: PageWish): {
  readonly skip: number
  readonly take: number
} {
  return { skip: (number - 1) * size, take: size }
}

/** One page with its links and counts. */
export function paged(request: PageRequest, { items, total, included, meta }: PageParts): Outcome {
  const { page } = request
  const pages = Math.ceil(total / page.size)
  const isInside = page.number <= pages
  const previous = isInside && page.number > 1 ? page.number - 1 : null
  const next = page.number < pages ? page.number + 1 : null
  const link = (number: number): string => pageLink(request, number)
  return document(200, {
    data: items,
    ...(included === undefined ? {} : { included }),
    links: {
      self: link(page.number),
      first: link(1),
      prev: previous === null ? null : link(previous),
      next: next === null ? null : link(next),
      last: link(Math.max(1, pages)),
    },
    meta: {
      ...meta,
      pagination: {
        'current-page': page.number,
        'page-size': page.size,
        'prev-page': previous,
        'next-page': next,
        'total-pages': pages,
        'total-count': total,
      },
    },
  })
}

/** A list that is paged only when a page is asked for. */
export function pagedOnRequest(request: PageRequest, parts: PageParts): Outcome {
  if (request.page.isAsked) return paged(request, parts)
  const { items, included } = parts
  return whole(items, included === undefined ? {} : { included })
}

/** Full URL of a page; the rest of the query is kept. */
function pageLink({ page, address }: PageRequest, number: number): string {
  const query = new URLSearchParams(
    address.query.map(([name, value]): [string, string] => [name, value]),
  )
  query.set('page[number]', String(number))
  query.set('page[size]', String(page.size))
  return `${address.base}?${query.toString()}`
}

/** Each (type, id) once. */
function distinct(resources: readonly Resource[]): readonly Resource[] {
  const found = new Map(resources.map((one) => [`${one.type}!${one.id}`, one]))
  return [...found.values()]
}

/** `fields[TYPE]`: only the named attributes and relationships of a type. */
export function withFields(
  given: JsonDocument,
  fields: ReadonlyMap<string, ReadonlySet<string>>,
): JsonDocument {
  if (fields.size === 0) return given
  const { data, included } = given
  return {
    ...given,
    data: isList(data) ? data.map((one) => sparse(one, fields)) : sparse(data, fields),
    ...(included === undefined ? {} : { included: included.map((one) => sparse(one, fields)) }),
  }
}

function isList(data: JsonDocument['data']): data is readonly Resource[] {
  return Array.isArray(data)
}

function sparse(resource: Resource, fields: ReadonlyMap<string, ReadonlySet<string>>): Resource {
  const names = fields.get(resource.type)
  if (names === undefined) return resource
  const { attributes, relationships } = resource
  return {
    ...resource,
    ...(attributes === undefined ? {} : { attributes: only(attributes, names) }),
    ...(relationships === undefined ? {} : { relationships: only(relationships, names) }),
  }
}

function only(members: object, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.has(name)))
}
