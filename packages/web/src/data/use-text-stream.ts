import { ApiError, ConnectionError } from '@reeve/sdk'
import { useEffect, useState } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { appendToLog, EMPTY_LOG, type LogBuffer } from './log-buffer.ts'
import { pause } from './pause.ts'

export interface TextStream {
  readonly log: LogBuffer
  readonly isOpen: boolean
  readonly error: unknown
  /** Opens it anew. */
  readonly retry: () => void
}

/** Drawing more often than this shows nobody more. */
const DRAW_MS = 100
/** How long a server that is away is left alone. */
const REOPEN_MS = 3_000

type OpenStream = (api: Api, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>
type StreamState = Omit<TextStream, 'retry'>
type Show = (change: Partial<StreamState>) => void

const BEGUN: StreamState = { log: EMPTY_LOG, isOpen: true, error: undefined }

/** Follows an endless text. `key` names it: another key is another stream, opened anew. */
export function useTextStream(key: string, open: OpenStream): TextStream {
  const { api } = useSession()
  const [state, setState] = useState(BEGUN)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    const stopper = new AbortController()
    const { signal } = stopper
    const show: Show = (change) => {
      if (!signal.aborted) setState((before) => ({ ...before, ...change }))
    }
    const work = async () => {
      show(BEGUN)
      let error = await follow(() => open(api, signal), show)
      while (!signal.aborted && isPassing(error)) {
        await pause(REOPEN_MS, signal)
        if (!signal.aborted) error = await follow(() => open(api, signal), show)
      }
    }
    void work()
    return () => stopper.abort()
    // `open` is made anew by every drawing; the key says when it means something else.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [api, key, attempt])
  return { ...state, retry: () => setAttempt(attempt + 1) }
}

/** Shows one stream to its end; what ended it, if it was a failure. */
async function follow(
  open: () => Promise<AsyncIterable<Uint8Array>>,
  show: Show,
): Promise<unknown> {
  const decoder = new TextDecoder()
  let log = EMPTY_LOG
  let timer: ReturnType<typeof setTimeout> | undefined
  let error: unknown
  const draw = () => {
    timer = undefined
    show({ log })
  }
  try {
    const stream = await open()
    // What was shown of a stream that broke stays until there is something of this one.
    show({ isOpen: true, error: undefined })
    for await (const bytes of stream) {
      log = appendToLog(log, decoder.decode(bytes, { stream: true }))
      timer ??= setTimeout(draw, DRAW_MS)
    }
  } catch (failure) {
    error = asFailure(failure)
  }
  clearTimeout(timer)
  const last = log.rest === '' ? log : appendToLog(log, '\n')
  show({
    isOpen: false,
    error,
    ...(last === EMPTY_LOG && error !== undefined ? {} : { log: last }),
  })
  return error
}

/** A body that breaks off is told of by the browser, in words of its own. */
function asFailure(failure: unknown): unknown {
  if (failure instanceof ApiError || failure instanceof ConnectionError) return failure
  return new ConnectionError({
    reason: 'cut',
    address: window.location.origin,
    message: 'The connection was lost.',
    cause: failure,
  })
}

/** A refusal stays what it is; a server that is busy or away may come back. */
function isPassing(error: unknown): boolean {
  return error instanceof ApiError ? error.status >= 500 : error !== undefined
}
