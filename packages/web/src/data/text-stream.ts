import { ApiError, ConnectionError } from '@reeve/sdk'
import { useEffect, useState } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { appendToLog, EMPTY_LOG, type LogBuffer } from './log-buffer.ts'
import { pause } from './live-feed.ts'

export interface TextStream {
  readonly log: LogBuffer
  readonly isOpen: boolean
  readonly error: unknown
  /** Opens the stream again. */
  readonly retry: () => void
}

/** Minimum time between two renderings. */
const RENDER_INTERVAL_MS = 100
/** Delay before a lost stream is opened again. */
const RECONNECT_MS = 3_000

type OpenStream = (api: Api, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>
type StreamState = Omit<TextStream, 'retry'>
type UpdateState = (change: Partial<StreamState>) => void

const INITIAL_STATE: StreamState = { log: EMPTY_LOG, isOpen: true, error: undefined }

/** Follows an endless text. A new `key` opens a new stream. */
export function useTextStream(key: string, open: OpenStream): TextStream {
  const { api } = useSession()
  const [state, setState] = useState(INITIAL_STATE)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const abortController = new AbortController()
    const { signal } = abortController
    const update: UpdateState = (change) => {
      if (!signal.aborted) setState((before) => ({ ...before, ...change }))
    }
    const run = async () => {
      update(INITIAL_STATE)
      let error = await follow(() => open(api, signal), update)
      while (!signal.aborted && isTransient(error)) {
        await pause(RECONNECT_MS, signal)
        if (!signal.aborted) error = await follow(() => open(api, signal), update)
      }
    }
    void run()
    return () => abortController.abort()
    // `open` is a new function on every rendering; the key identifies the stream.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [api, key, attempt])
  return { ...state, retry: () => setAttempt(attempt + 1) }
}

/** Reads one stream to its end; returns the error that ended it, if any. */
async function follow(
  open: () => Promise<AsyncIterable<Uint8Array>>,
  update: UpdateState,
): Promise<unknown> {
  const decoder = new TextDecoder()
  let log = EMPTY_LOG
  let timer: ReturnType<typeof setTimeout> | undefined
  let error: unknown
  const render = () => {
    timer = undefined
    update({ log })
  }
  try {
    const stream = await open()
    // The text of a broken stream stays until the new one has data.
    update({ isOpen: true, error: undefined })
    for await (const bytes of stream) {
      log = appendToLog(log, decoder.decode(bytes, { stream: true }))
      timer ??= setTimeout(render, RENDER_INTERVAL_MS)
    }
  } catch (failure) {
    error = toConnectionError(failure)
  }
  clearTimeout(timer)
  const last = log.partialLine === '' ? log : appendToLog(log, '\n')
  update({
    isOpen: false,
    error,
    ...(last === EMPTY_LOG && error !== undefined ? {} : { log: last }),
  })
  return error
}

/** Replaces the error that browsers throw for an incomplete body. */
function toConnectionError(failure: unknown): unknown {
  if (failure instanceof ApiError || failure instanceof ConnectionError) return failure
  return new ConnectionError({
    reason: 'cut',
    address: window.location.origin,
    message: 'The connection was lost.',
    cause: failure,
  })
}

/** Reports whether a retry may succeed: rejections are final. */
function isTransient(error: unknown): boolean {
  return error instanceof ApiError ? error.status >= 500 : error !== undefined
}
