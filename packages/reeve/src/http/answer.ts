import type { Readable } from 'node:stream'

/** The content type of every error on `/v1`. */
export const TEXT_PLAIN = 'text/plain; charset=utf-8'

/** Result of a handler; the HTTP server writes it as a response. */
export interface HttpResponse {
  readonly status?: number
  readonly body: ResponseBody
  readonly headers?: Readonly<Record<string, string>>
  /** Value of `X-Service-NextToken`: the start of the next page. */
  readonly nextToken?: string | undefined
}

export type ResponseBody =
  | { readonly kind: 'json'; readonly value: unknown }
  /** JSON text, such as a row as it is stored. */
  | { readonly kind: 'json-text'; readonly text: string }
  /** List items that are JSON already, so that they are not parsed and rendered again. */
  | { readonly kind: 'json-items'; readonly items: readonly string[] }
  /** A list that is too long for memory: its first items, and an iterator that reads the others. */
  | {
      readonly kind: 'json-batches'
      readonly items: readonly string[]
      readonly rest: () => AsyncIterable<readonly string[]>
    }
  /** Rendered JSON, for a response that several requests share. */
  | { readonly kind: 'json-bytes'; readonly bytes: Buffer }
  | { readonly kind: 'text'; readonly text: string; readonly contentType: string }
  /** A byte stream, possibly without end. */
  | { readonly kind: 'stream'; readonly stream: Readable; readonly contentType: string }
  | { readonly kind: 'empty' }

export function json(value: unknown): HttpResponse {
  return { body: { kind: 'json', value } }
}

export function jsonText(text: string): HttpResponse {
  return { body: { kind: 'json-text', text } }
}

export function jsonItems(items: readonly string[], nextToken?: string): HttpResponse {
  return { body: { kind: 'json-items', items }, nextToken }
}

export function jsonBatches(
  items: readonly string[],
  rest: () => AsyncIterable<readonly string[]>,
): HttpResponse {
  return { body: { kind: 'json-batches', items, rest } }
}

/** Response 200 with an empty body and no content type. */
export const EMPTY_RESPONSE: HttpResponse = { body: { kind: 'empty' } }
