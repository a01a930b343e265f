import type { ServerResponse } from 'node:http'

/** Aborts when the connection of a request closes before its response is complete. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}
