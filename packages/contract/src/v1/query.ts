import { Type } from 'typebox'

/**
 * Query parameters are declared with the type that the handler receives; the server parses the
 * text. Flags marked `x-parse: lenient` parse an invalid boolean as false; all others reject it
 * with
 * 400.
 */

export function TextParameter(description: string) {
  return Type.Optional(Type.String({ description }))
}

export function FlagParameter(description: string, byDefault = false) {
  return Type.Optional(Type.Boolean({ description, default: byDefault }))
}

export function LenientFlagParameter(description: string) {
  return Type.Optional(Type.Boolean({ description, default: false, 'x-parse': 'lenient' }))
}

export function IntegerParameter(description: string, byDefault = 0) {
  return Type.Optional(Type.Integer({ description, default: byDefault }))
}

/** A parameter that may be given several times: `?topic=Job&topic=Node`. */
export function RepeatedParameter(description: string) {
  return Type.Optional(Type.Array(Type.String(), { description }))
}

/** Parameters of every route. */
export const common = {
  region: TextParameter('Region to ask; the region of the answering agent when empty.'),
  namespace: Type.Optional(
    Type.String({
      description:
        'Namespace of the request; `*` on lists means every namespace the token may see.',
      default: 'default',
    }),
  ),
  pretty: FlagParameter('Indent the answer. Present and not `0` is true.'),
}

/** Parameters of every read. */
export const consistencyQuery = {
  stale: FlagParameter(
    'Any server may answer from its own copy. Present with an empty value is true.',
  ),
  consistent: FlagParameter('The leader confirms that it leads before it answers.'),
}

/** Parameters of blocking reads. */
export const blockingQuery = {
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
  ...consistencyQuery,
}

export const prefixQuery = TextParameter('Only what begins with this.')
export const filterQuery = TextParameter('Only what this filter expression is true for.')

/** Parameters of paginated lists. */
export const pagingQuery = {
  per_page: Type.Optional(
    Type.Integer({
      description:
        'Items on one page, at most 100,000; 0 means all of them. A page whose filter rejects many ' +
        'items may have fewer, or none: the last page is the one without `X-Service-NextToken`.',
      minimum: 0,
      default: 0,
    }),
  ),
  next_token: TextParameter(
    'Where the page starts: the header `X-Service-NextToken` of the page before.',
  ),
  filter: filterQuery,
  reverse: LenientFlagParameter('Walk the list from its end.'),
}

export const listQuery = { prefix: prefixQuery, ...pagingQuery }
