import type { Readable } from 'node:stream'

/** The type of every refusal on `/v1`. */
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/** What a handler gives back; the shell writes it. */
export interface Answer {
  readonly status?: number
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
  /** `X-Service-NextToken`: where the next page starts. */
  readonly nextToken?: string | undefined
}

export type Body =
  | { readonly kind: 'json'; readonly value: unknown }
  /** JSON already, such as a row as it is stored. */
  | { readonly kind: 'json-text'; readonly text: string }
  /** Items that are JSON already: a list is written without being built twice. */
  | { readonly kind: 'json-items'; readonly items: readonly string[] }
  /** A list that is too long for memory: its first items, and the others as they are read. */
  | {
      readonly kind: 'json-batches'
      readonly items: readonly string[]
      readonly rest: () => AsyncIterable<readonly string[]>
    }
  /** JSON as it is written, for a response that several requests share. */
  | { readonly kind: 'json-bytes'; readonly bytes: Buffer }
  | { readonly kind: 'text'; readonly text: string; readonly contentType: string }
  /** Bytes as they come, perhaps without end. */
  | { readonly kind: 'stream'; readonly stream: Readable; readonly contentType: string }
  | { readonly kind: 'empty' }

export function json(value: unknown): Answer {
  return { body: { kind: 'json', value } }
}

export function jsonText(text: string): Answer {
  return { body: { kind: 'json-text', text } }
}

export function jsonItems(items: readonly string[], nextToken?: string): Answer {
  return { body: { kind: 'json-items', items }, nextToken }
}

export function jsonBatches(
  items: readonly string[],
  rest: () => AsyncIterable<readonly string[]>,
): Answer {
  return { body: { kind: 'json-batches', items, rest } }
}

/** No object means 200 with an empty body and no content type. */
export const EMPTY: Answer = { body: { kind: 'empty' } }
