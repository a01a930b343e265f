import { useEffect, useState } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { appendToLog, EMPTY_LOG, type LogBuffer } from './log-buffer.ts'

export interface TextStream {
  readonly log: LogBuffer
  readonly isOpen: boolean
  readonly error: unknown
}

/** Drawing more often than this shows nobody more. */
const DRAW_MS = 100

type OpenStream = (api: Api, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>

/** Follows an endless text. `key` names it: another key is another stream, opened anew. */
export function useTextStream(key: string, open: OpenStream): TextStream {
  const { api } = useSession()
  const [state, setState] = useState<TextStream>({ log: EMPTY_LOG, isOpen: true, error: undefined })
  useEffect(() => {
    const stopper = new AbortController()
    const decoder = new TextDecoder()
    let log = EMPTY_LOG
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = () => {
      timer = undefined
      setState({ log, isOpen: true, error: undefined })
    }
    const follow = async () => {
      let error: unknown
      try {
        for await (const bytes of await open(api, stopper.signal)) {
          log = appendToLog(log, decoder.decode(bytes, { stream: true }))
          timer ??= setTimeout(draw, DRAW_MS)
        }
      } catch (failure) {
        error = failure
      }
      if (stopper.signal.aborted) return
      clearTimeout(timer)
      setState({ log: log.rest === '' ? log : appendToLog(log, '\n'), isOpen: false, error })
    }
    setState({ log: EMPTY_LOG, isOpen: true, error: undefined })
    void follow()
    return () => {
      clearTimeout(timer)
      stopper.abort()
    }
    // `open` is made anew by every drawing; the key says when it means something else.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [api, key])
  return state
}
