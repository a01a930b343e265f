import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { RequestUrl, JsonDocument, JsonApiResult, Resource } from './endpoint.ts'
import type { PageParams } from './query.ts'

/** Responds with a resource and its included resources. */
export function resourceDocument(data: Resource, parts: DocumentParts = {}): JsonApiResult {
  return documentResponse(200, { data, ...parts })
}

/** Responds 201 with a new resource. */
export function createdDocument(data: Resource, more: DocumentParts = {}): JsonApiResult {
  return documentResponse(201, { data, ...more })
}

type DocumentParts = Omit<JsonDocument, 'data'>

function documentResponse(status: number, { included, ...rest }: JsonDocument): JsonApiResult {
  const parts = included === undefined ? rest : { ...rest, included: deduplicate(included) }
  return ok({ kind: 'document', status, document: parts })
}

/** Responds with a list that is never paginated. */
export function listDocument(data: readonly Resource[], parts: DocumentParts = {}): JsonApiResult {
  return documentResponse(200, { data, ...parts })
}

export const NO_CONTENT: JsonApiResult = ok({ kind: 'empty', status: 204 })

/** Renders the result of a use case; a refusal is passed through. */
export function mapResult<T>(
  result: Result<T, GovernanceRefusal>,
  render: (value: T) => JsonApiResult,
): JsonApiResult {
  return result.ok ? render(result.value) : err(result.error)
}

interface PageRequest {
  readonly page: PageParams
  readonly requestUrl: RequestUrl
}

interface PageContent {
  readonly items: readonly Resource[]
  /** Number of items on all pages. */
  readonly total: number
  readonly included?: readonly Resource[] | undefined
  readonly meta?: object
}

/** Converts a page number to the number of items to skip and to take. */
export function offsetAndLimit({ number, size }: PageParams): {
  readonly offset: number
  readonly limit: number
} {
  return { offset: (number - 1) * size, limit: size }
}

/** Responds with a page, its links and counts. */
export function pageDocument(
  request: PageRequest,
  { items, total, included, meta }: PageContent,
): JsonApiResult {
  const { page } = request
  const pages = Math.ceil(total / page.size)
  const isInside = page.number <= pages
  const previous = isInside && page.number > 1 ? page.number - 1 : null
  const next = page.number < pages ? page.number + 1 : null
  const link = (number: number): string => pageLink(request, number)
  return documentResponse(200, {
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

/** Responds with a list that is paginated only if the request names a page. */
export function pageIfRequested(request: PageRequest, parts: PageContent): JsonApiResult {
  if (request.page.isExplicitPage) return pageDocument(request, parts)
  const { items, included } = parts
  return listDocument(items, included === undefined ? {} : { included })
}

/** Returns the full URL of a page, with the other query parameters. */
function pageLink({ page, requestUrl }: PageRequest, number: number): string {
  const query = new URLSearchParams(
    requestUrl.query.map(([name, value]): [string, string] => [name, value]),
  )
  query.set('page[number]', String(number))
  query.set('page[size]', String(page.size))
  return `${requestUrl.base}?${query.toString()}`
}

/** Returns each resource once, by type and ID. */
function deduplicate(resources: readonly Resource[]): readonly Resource[] {
  const found = new Map(resources.map((one) => [`${one.type}!${one.id}`, one]))
  return [...found.values()]
}

/** Applies sparse fieldsets: `fields[TYPE]` selects attributes and relationships of a type. */
export function applySparseFields(
  original: JsonDocument,
  fields: ReadonlyMap<string, ReadonlySet<string>>,
): JsonDocument {
  if (fields.size === 0) return original
  const { data, included } = original
  return {
    ...original,
    data: isList(data) ? data.map((one) => applyFields(one, fields)) : applyFields(data, fields),
    ...(included === undefined
      ? {}
      : { included: included.map((one) => applyFields(one, fields)) }),
  }
}

function isList(data: JsonDocument['data']): data is readonly Resource[] {
  return Array.isArray(data)
}

function applyFields(
  resource: Resource,
  fields: ReadonlyMap<string, ReadonlySet<string>>,
): Resource {
  const names = fields.get(resource.type)
  if (names === undefined) return resource
  const { attributes, relationships } = resource
  return {
    ...resource,
    ...(attributes === undefined ? {} : { attributes: pick(attributes, names) }),
    ...(relationships === undefined ? {} : { relationships: pick(relationships, names) }),
  }
}

function pick(members: object, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.has(name)))
}
