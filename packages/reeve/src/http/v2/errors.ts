import { v2 } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import {
  REFUSAL_REASONS,
  type GovernanceRefusal,
  type GovernanceRefusalCode,
} from '../../model/index.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from '../response.ts'

const { ERROR_TITLES, JSON_API_TYPE } = v2

/** Titles of errors by status. */
const TITLE_OF_STATUS: Readonly<Record<number, string>> = {
  400: ERROR_TITLES.badRequest,
  401: ERROR_TITLES.unauthorized,
  403: ERROR_TITLES.forbidden,
  404: ERROR_TITLES.notFound,
  405: ERROR_TITLES.methodNotAllowed,
  409: ERROR_TITLES.conflict,
  413: ERROR_TITLES.payloadTooLarge,
  415: ERROR_TITLES.unsupportedMediaType,
  422: ERROR_TITLES.unprocessable,
  429: ERROR_TITLES.tooManyRequests,
  500: ERROR_TITLES.internal,
  503: ERROR_TITLES.unavailable,
}

/** HTTP status by code. A new code does not compile until its status is chosen. */
const HTTP_STATUS = {
  unseen: 404,
  'token-refused': 401,
  forbidden: 403,
  conflict: 409,
  malformed: 400,
  invalid: 422,
  unprocessable: 422,
  'too-large': 413,
} as const satisfies Record<GovernanceRefusalCode, number>

/** Serializer for texts: Fastify adds a charset to others, and JSON:API allows no parameter. */
export function asIs(text: string): string {
  return text
}

/** An error of the protocol, not of a use case. */
interface PlainError {
  readonly status: number
  readonly detail: string
  /** See docs/reference/errors.md; derived from the status unless given. */
  readonly code?: string
}

export function sendV2Error(
  reply: FastifyReply,
  { status, detail, code = codeOfStatus(status) }: PlainError,
): FastifyReply {
  return sendErrors(reply, status, [errorObject(status, detail, code)])
}

export function statusOf({ code }: GovernanceRefusal): number {
  return HTTP_STATUS[code]
}

export function sendGovernanceRefusal(
  reply: FastifyReply,
  refusal: GovernanceRefusal,
): FastifyReply {
  const status = HTTP_STATUS[refusal.code]
  return sendErrors(reply, status, errorsOf(refusal, status))
}

function errorsOf(refusal: GovernanceRefusal, status: number): readonly v2.ErrorObject[] {
  const code = errorCodeOf(refusal)
  switch (refusal.code) {
    case 'unseen':
      // The same text for all hidden objects, so that it reveals nothing.
      return [errorObject(status, 'Not found, or not for you to see or change.', code)]
    case 'token-refused':
      return [errorObject(status, 'The organization takes no tokens of users.', code)]
    case 'too-large':
      return [errorObject(status, `The body is larger than ${refusal.bytesMax} bytes.`, code)]
    case 'invalid':
      return refusal.problems.map(({ pointer, detail, title }) => ({
        status: String(status),
        code,
        title: title ?? ERROR_TITLES.invalidAttribute,
        detail,
        source: { pointer },
      }))
    case 'malformed':
    case 'unprocessable': {
      const { parameter } = refusal
      const source = parameter === undefined ? {} : { source: { parameter } }
      return [{ ...errorObject(status, refusal.detail, code), ...source }]
    }
    default:
      return [errorObject(status, refusal.detail, code)]
  }
}

/** Returns the error code of a refusal: its reason, if clients distinguish it, else its code. */
function errorCodeOf(refusal: GovernanceRefusal): string {
  const reason = 'reason' in refusal ? refusal.reason : undefined
  return reason ?? ERROR_CODES[refusal.code]
}

const ERROR_CODES = {
  unseen: 'not-found',
  'token-refused': 'token-rejected',
  forbidden: 'forbidden',
  conflict: 'conflict',
  malformed: 'bad-request',
  invalid: 'invalid-attribute',
  unprocessable: 'unprocessable',
  'too-large': 'body-too-large',
} as const satisfies Record<GovernanceRefusalCode, string>

/** All error codes of this API's refusals. */
export const GOVERNANCE_ERROR_CODES: readonly string[] = [
  ...Object.values(ERROR_CODES),
  ...REFUSAL_REASONS,
]

function errorObject(status: number, detail: string, code: string): v2.ErrorObject {
  const other = status < 500 ? ERROR_TITLES.badRequest : ERROR_TITLES.internal
  return { status: String(status), code, title: TITLE_OF_STATUS[status] ?? other, detail }
}

/** Statuses of temporary errors, which get a Retry-After unless the refusal has one. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 503])
const RETRY_SECONDS = 1

function sendErrors(
  reply: FastifyReply,
  status: number,
  errors: readonly v2.ErrorObject[],
): FastifyReply {
  if (RETRYABLE_STATUSES.has(status) && !reply.hasHeader('retry-after'))
    void reply.header('retry-after', String(RETRY_SECONDS))
  return reply
    .code(status)
    .header(ERROR_CODE_HEADER, errors[0]?.code ?? codeOfStatus(status))
    .type(JSON_API_TYPE)
    .serializer(asIs)
    .send(JSON.stringify({ errors: errors.slice(0, v2.ERRORS_MAX) }))
}
