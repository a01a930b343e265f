import type { Client } from './client.ts'
import { isPlainObject } from './plain-value.ts'

/** First and last byte of the log of a phase. */
const STX = 0x02
const ETX = 0x03

const CHUNK_BYTES = 256 * 1024

export interface RunLogOptions {
  /** `log-read-url` of a plan or an apply. */
  readonly url: string
  readonly signal?: AbortSignal
}

/**
 * Follows the log of a phase of a run to its end, without its marks. The server holds each request
 * until there is something new.
 */
export async function* followRunLog(
  client: Pick<Client, 'v2'>,
  { url, signal }: RunLogOptions,
): AsyncGenerator<Uint8Array> {
  const params = { upload_key: new URL(url).pathname.split('/').at(-1) ?? '' }
  const options = signal === undefined ? {} : { signal }
  const isWanted = (): boolean => signal?.aborted !== true
  for (let offset = 0; isWanted();) {
    const query = { offset, limit: CHUNK_BYTES }
    const { data } = await client.v2.readRunLog({ params, query, ...options })
    const start = offset === 0 && data[0] === STX ? 1 : 0
    const isOver = data.at(-1) === ETX
    offset += data.length
    if (data.length > start) yield data.subarray(start, isOver ? -1 : undefined)
    if (isOver) return
  }
}

/** Returns a line of a log as text: the message of a structured one, and any other as it is. */
export function formatLogLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const parsed: unknown = JSON.parse(line)
    const message = isPlainObject(parsed) ? parsed['@message'] : undefined
    if (typeof message !== 'string') return line
    const diagnostic = isPlainObject(parsed) ? parsed['diagnostic'] : undefined
    const detail = isPlainObject(diagnostic) ? diagnostic['detail'] : undefined
    return typeof detail === 'string' && detail !== '' ? `${message}\n${detail}` : message
  } catch {
    return line
  }
}
