import { Type } from 'typebox'

/**
 * Query parameters are declared with the type that the handler receives; the server parses the
 * text. A flag marked `x-parse: lenient` reads any text that is not a boolean as false; every other
 * flag refuses it with 400.
 */

export function Text(description: string) {
  return Type.Optional(Type.String({ description }))
}

export function Flag(description: string, byDefault = false) {
  return Type.Optional(Type.Boolean({ description, default: byDefault }))
}

export function LenientFlag(description: string) {
  return Type.Optional(Type.Boolean({ description, default: false, 'x-parse': 'lenient' }))
}

export function Whole(description: string, byDefault = 0) {
  return Type.Optional(Type.Integer({ description, default: byDefault }))
}

/** A parameter that may be given several times: `?topic=Job&topic=Node`. */
export function Repeated(description: string) {
  return Type.Optional(Type.Array(Type.String(), { description }))
}

/** Taken by every route. */
export const common = {
  region: Text('Region to ask; the region of the answering agent when empty.'),
  namespace: Type.Optional(
    Type.String({
      description:
        'Namespace of the request; `*` on lists means every namespace the token may see.',
      default: 'default',
    }),
  ),
  pretty: Flag('Indent the answer. Present and not `0` is true.'),
}

/** Taken by every read. */
export const consistency = {
  stale: Flag('Any server may answer from its own copy. Present with an empty value is true.'),
  consistent: Flag('The leader confirms that it leads before it answers.'),
}

/** Taken by every read that may block. */
export const blocking = {
  index: Type.Optional(
    Type.Integer({
      description: 'Hold the answer until the result has passed this index; 0 answers at once.',
      minimum: 0,
      default: 0,
    }),
  ),
  wait: Type.Optional(
    Type.String({
      description: 'How long to hold it at most, such as `30s`; capped at 10 minutes.',
      default: '5m',
    }),
  ),
  ...consistency,
}

export const prefix = Text('Only what begins with this.')
export const filter = Text('Only what this filter expression is true for.')

/** Taken by paginated lists. */
export const paging = {
  per_page: Type.Optional(
    Type.Integer({
      description:
        'Items on one page, at most 100,000; 0 means all of them. A page whose filter rejects many ' +
        'items may have fewer, or none: the last page is the one without `X-Service-NextToken`.',
      minimum: 0,
      default: 0,
    }),
  ),
  next_token: Text('Where the page starts: the header `X-Service-NextToken` of the page before.'),
  filter,
  reverse: LenientFlag('Walk the list from its end.'),
}

export const listing = { prefix, ...paging }
