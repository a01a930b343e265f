/**
 * The vocabulary of the resources of `/api/v2`, whose files import it as `t`: constructors of
 * TypeBox, JSON:API forms, patterns and query parameters. A resource file defines only its own
 * attributes, relationships, links and permissions.
 */

import { Type, type TBoolean, type TOptional, type TProperties, type TSchema } from 'typebox'
import { Named, MapOf, Nullable, Timestamp, type Infer } from '../schema.ts'
import { PrefixedId, type PrefixedType } from './patterns.ts'
import { ERRORS_MAX, RELATED_ITEMS_MAX } from './limits.ts'

export {
  Array,
  Boolean,
  Cyclic,
  Enum,
  Integer,
  Literal,
  Null,
  Number,
  Object,
  Optional,
  Partial,
  Ref,
  String,
  Union,
  Unknown,
} from 'typebox'
export * from '../schema.ts'
export * from './limits.ts'
export * from './patterns.ts'
export * from './query.ts'

/** Media type of every body, errors included, except policy code and archives. */
export const JSON_API_TYPE = 'application/vnd.api+json'

/** Media type of policy code, downloads and archives. */
export const BINARY_TYPE = 'application/octet-stream'

/** The prefix of every path of this API. */
export const BASE_PATH = '/api/v2'

/** An enum of strings. */
export function OneOf<const Values extends string[]>(
  values: readonly [...Values],
  description?: string,
) {
  return Type.Enum(values, {
    type: 'string',
    ...(description === undefined ? {} : { description }),
  })
}

/** An object of booleans with exactly these names. */
export function Flags<const Name extends string>(names: readonly Name[]) {
  const properties = Object.fromEntries(names.map((name) => [name, Type.Boolean()]))
  // Object.fromEntries loses the type of the keys: they are exactly `names`.
  return Type.Object(properties as Record<Name, TBoolean>)
}

/** The same object in a request: omitted members are unchanged. */
export function OptionalFlags<const Name extends string>(names: readonly Name[]) {
  const properties = Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Boolean())]))
  // Object.fromEntries loses the type of the keys: they are exactly `names`.
  return Type.Object(properties as Record<Name, TOptional<TBoolean>>)
}

/** Times at which a resource entered its states, keyed `<state>-at`. */
export function StatusTimestamps() {
  return MapOf(Timestamp())
}

/**
 * A body of raw bytes. The type is for callers and the schema for the API page; raw bodies are not
 * validated.
 */
export const BinaryBody = Type.Unsafe<Uint8Array>({ type: 'string', format: 'binary' })

/** A path from the root of the host, without scheme: links inside resources. */
export function PathLink(description?: string) {
  return Type.String({ pattern: '^/', ...(description === undefined ? {} : { description }) })
}

/** `links` with only `self`. */
export function SelfLink() {
  return Type.Object({ self: PathLink() })
}

/** `{ type, id }`: the reference to a resource. */
export function Identifier<const T extends string>(type: T) {
  return Type.Object({ id: Type.String({ minLength: 1 }), type: Type.Literal(type) })
}

/** Reference to a resource of one of several types. */
export function AnyIdentifier<const Types extends string[]>(types: readonly [...Types]) {
  return Type.Object({ id: Type.String({ minLength: 1 }), type: OneOf(types) })
}

/** A relationship to exactly one resource. */
export function ToOne<const T extends string>(type: T) {
  return Type.Object({ data: Identifier(type) })
}

/** A relationship to one resource, with the path that serves it. */
export function ToOneLinked<const T extends string>(type: T) {
  return Type.Object({ data: Identifier(type), links: RelatedLink() })
}

/** A relationship that may be empty: `data` is null then. */
export function ToOneOrNone<const T extends string>(type: T) {
  return Type.Object({ data: Nullable(Identifier(type)) })
}

/** A relationship to any number of resources; `[]` when there are none. */
export function ToMany<const T extends string>(type: T) {
  return Type.Object({ data: Type.Array(Identifier(type)) })
}

/** A relationship shown as a path only; `data` is added when the resources are included. */
export function Linked<const T extends string>(type: T) {
  return Type.Object({ links: RelatedLink(), data: Type.Optional(Type.Array(Identifier(type))) })
}

/** A relationship shown as a path only, never included. */
export function LinkedOnly() {
  return Type.Object({ links: RelatedLink() })
}

function RelatedLink() {
  return Type.Object({ related: PathLink() })
}

/** A relationship in a request: the complete new set. If absent it is unchanged; `[]` clears it. */
export function NewMembers<const T extends string>(type: T) {
  return Type.Object({ data: Type.Array(Identifier(type), { maxItems: RELATED_ITEMS_MAX }) })
}

/** A resource object with an id of this service: `{ id, type, attributes, … }`. */
export function ResourceOf<const T extends PrefixedType, M extends TProperties>(
  name: string,
  type: T,
  members: M,
) {
  return ResourceWithId(name, type, { id: PrefixedId(type), ...members })
}

/** A resource object with an id of another form; `members` includes its schema. */
export function ResourceWithId<const T extends string, M extends TProperties>(
  name: string,
  type: T,
  members: M,
) {
  return Named(name, { type: Type.Literal(type), ...members })
}

/** A resource of any type in `included`; `type` selects its schema. */
export const IncludedResource = Named('IncludedResource', {
  id: Type.String(),
  type: Type.String(),
  attributes: Type.Optional(MapOf(Type.Unknown())),
  relationships: Type.Optional(MapOf(Type.Unknown())),
  links: Type.Optional(MapOf(Type.Unknown())),
})
export type IncludedResource = Infer<typeof IncludedResource>

/** Notices for users about side effects of the request. */
const DocumentMeta = Type.Object({ notices: Type.Optional(Type.Array(Type.String())) })

const included = Type.Optional(
  Type.Array(IncludedResource, { description: 'Only when `include` asks; each (type, id) once.' }),
)

/** Returns the `$id` of a form of a resource: the name of the resource, then that of the form. */
function formName(resource: TSchema, form: string): string {
  return `${String(Reflect.get(resource, '$id'))}${form}`
}

/** A document with one resource. */
export function DocumentOf<S extends TSchema>(resource: S, $id = formName(resource, 'Document')) {
  return Named($id, { data: resource, included, meta: Type.Optional(DocumentMeta) })
}

/** Type of the document of a resource. */
export type Document<S extends TSchema> = Infer<ReturnType<typeof DocumentOf<S>>>

/** Links to pages as absolute URLs; `prev` and `next` are null at the ends. */
export const PageLinks = Named('PageLinks', {
  self: Type.String(),
  first: Type.String(),
  prev: Nullable(Type.String()),
  next: Nullable(Type.String()),
  last: Type.String(),
})

export const Pagination = Named('Pagination', {
  'current-page': Type.Integer({ minimum: 1 }),
  'page-size': Type.Integer({ minimum: 1 }),
  'prev-page': Nullable(Type.Integer({ minimum: 1 })),
  'next-page': Nullable(Type.Integer({ minimum: 1 })),
  'total-pages': Type.Integer({ minimum: 0 }),
  'total-count': Type.Integer({ minimum: 0 }),
})
export type Pagination = Infer<typeof Pagination>

/** Counts by status: `total` ignores filters, `matching` applies them. */
export const StatusCounts = Named('StatusCounts', {
  total: Type.Integer({ minimum: 0 }),
  matching: Type.Integer({ minimum: 0 }),
})

const PageMeta = Type.Object({ pagination: Pagination })
const CountedPageMeta = Type.Object({ 'status-counts': StatusCounts, pagination: Pagination })

/** One page of a collection. */
export function PageOf<S extends TSchema>(resource: S, $id = formName(resource, 'Page')) {
  return Named($id, { data: Type.Array(resource), included, links: PageLinks, meta: PageMeta })
}

/** Type of one page of a resource. */
export type Page<S extends TSchema> = Infer<ReturnType<typeof PageOf<S>>>

/** One page with counts in its meta. */
export function CountedPageOf<S extends TSchema>(resource: S, $id = formName(resource, 'Page')) {
  return Named($id, {
    data: Type.Array(resource),
    included,
    links: PageLinks,
    meta: CountedPageMeta,
  })
}

/** A collection that is paginated only if the request has a page number or size. */
export function PageOnRequestOf<S extends TSchema>(resource: S, $id = formName(resource, 'Page')) {
  return Named($id, {
    data: Type.Array(resource),
    included,
    links: Type.Optional(PageLinks),
    meta: Type.Optional(PageMeta),
  })
}

/** A collection without pagination. */
export function ListOf<S extends TSchema>(resource: S, $id = formName(resource, 'List')) {
  return Named($id, { data: Type.Array(resource) })
}

/**
 * The document of a request. Unknown and read-only attributes are ignored. `id` is optional; if it
 * differs from the path, the response is 409.
 */
export function RequestOf<const T extends string, M extends TProperties>(
  $id: string,
  type: T,
  members: M,
) {
  const data = { type: Type.Literal(type), id: Type.Optional(Type.String()), ...members }
  return Named($id, { data: Type.Object(data) })
}

/** The document of a request that changes a resource: omitted attributes are unchanged. */
export function UpdateRequestOf<const T extends string, P extends TProperties>(
  $id: string,
  type: T,
  attributes: P,
) {
  return RequestOf($id, type, { attributes: Type.Optional(Type.Partial(Type.Object(attributes))) })
}

/** `{ data: [{ type, id }] }`: adds or removes members of a relationship. */
export function MembersRequestOf<const T extends string>(
  $id: string,
  type: T,
  maxItems = RELATED_ITEMS_MAX,
) {
  return Named($id, { data: Type.Array(Identifier(type), { minItems: 1, maxItems }) })
}

/** An optional body; an empty one is parsed as null. */
export function OptionalBody<S extends TSchema>(schema: S) {
  return Nullable(schema)
}

/** A response with a JSON:API body. */
export function jsonResponse<S extends TSchema>(description: string, schema: S) {
  return { description, schema } as const
}

/** 204 and 202 responses: no body. */
export function emptyResponse<const D extends string>(description: D) {
  return { description } as const
}

/** A response whose body is bytes. */
export function binaryResponse(description: string) {
  return { ...jsonResponse(description, BinaryBody), contentType: BINARY_TYPE } as const
}

/** Common part of routes that store a file of a runner and respond with 204. */
export function storesBinary(bodyBytesMax: number) {
  return {
    audit: 'none',
    bodyBytesMax,
    body: BinaryBody,
    bodyType: BINARY_TYPE,
    answers: { 204: emptyResponse('Stored.') },
  } as const
}

/** An error. Its three JSON:API fields are always present; `source` is additive. */
export const ErrorObject = Named('ErrorObject', {
  status: Type.String({ pattern: '^[45][0-9]{2}$', description: 'The HTTP status as text.' }),
  code: Type.Optional(
    Type.String({ description: 'Which error it is; stays when the detail is reworded.' }),
  ),
  title: Type.String(),
  detail: Type.String(),
  source: Type.Optional(
    Type.Object({
      pointer: Type.Optional(Type.String({ description: '`/data/attributes/name`' })),
      parameter: Type.Optional(Type.String({ description: '`page[size]`' })),
    }),
  ),
})
export type ErrorObject = Infer<typeof ErrorObject>

export const ErrorDocument = Named('ErrorDocument', {
  errors: Type.Array(ErrorObject, { minItems: 1, maxItems: ERRORS_MAX }),
})
export type ErrorDocument = Infer<typeof ErrorDocument>

/** Titles of errors. Clients match on them, so they are part of the contract. */
export const ERROR_TITLES = {
  badRequest: 'bad request',
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  notFound: 'not found',
  methodNotAllowed: 'method not allowed',
  conflict: 'conflict',
  payloadTooLarge: 'payload too large',
  unsupportedMediaType: 'unsupported media type',
  invalidAttribute: 'invalid attribute',
  /** Only for a team token whose description is already in use. */
  invalidAttributes: 'invalid attributes',
  unprocessable: 'unprocessable entity',
  tooManyRequests: 'Too many requests',
  internal: 'internal server error',
  unavailable: 'service unavailable',
} as const
