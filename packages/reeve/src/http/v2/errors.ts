import { v2 } from '@reeve/contract'
import type { FastifyReply } from 'fastify'

const { ERROR_TITLES, JSON_API_TYPE } = v2

/** Spec G: Error object. One renderer for the whole dialect. */
const TITLE_OF: Readonly<Record<number, string>> = {
  400: ERROR_TITLES.badRequest,
  401: ERROR_TITLES.unauthorized,
  403: ERROR_TITLES.forbidden,
  404: ERROR_TITLES.notFound,
  405: ERROR_TITLES.methodNotAllowed,
  413: ERROR_TITLES.payloadTooLarge,
  415: ERROR_TITLES.unsupportedMediaType,
  429: ERROR_TITLES.tooManyRequests,
  500: ERROR_TITLES.internal,
  503: ERROR_TITLES.unavailable,
}

/**
 * Fastify adds a charset to texts that have no serializer; JSON:API allows no parameter (reference
 * §1.1).
 */
export function asIs(text: string): string {
  return text
}

export function sendV2Error(reply: FastifyReply, status: number, detail: string): FastifyReply {
  const other = status < 500 ? ERROR_TITLES.badRequest : ERROR_TITLES.internal
  const title = TITLE_OF[status] ?? other
  return reply
    .code(status)
    .type(JSON_API_TYPE)
    .serializer(asIs)
    .send(JSON.stringify({ errors: [{ status: String(status), title, detail }] }))
}
