import { ApiError, ConnectionError } from '@reeve/sdk'

interface Described {
  readonly title: string
  readonly text: string
  readonly advice: string
  readonly canSignIn?: boolean
}

/** What the server said, in its words, and what can be done about it. */
export function describeFailure(error: unknown): Described {
  if (error instanceof ApiError) return describeRefusal(error)
  if (error instanceof ConnectionError)
    return {
      title: 'The server was not reached.',
      text: error.message,
      advice: 'Check that it runs and that this address leads to it.',
    }
  return {
    title: 'This page failed.',
    text: error instanceof Error ? error.message : String(error),
    advice: 'Load it again. If it happens again, it is a fault of these pages: please report it.',
  }
}

function describeRefusal(error: ApiError): Described {
  const { code, status, text, requestId } = error
  if (status === 401 || status === 403)
    return {
      title: 'You may not see or do this.',
      text,
      advice: 'Ask for a token with the right, or sign in with another one.',
      canSignIn: true,
    }
  if (code === 'allocation-not-on-node')
    return {
      title: 'The node has no files of this allocation.',
      text,
      advice:
        'It has not begun with it yet, or has removed them: of allocations that have ended, a node keeps the latest only. The overview still says what happened.',
    }
  if (status === 404)
    return {
      title: 'There is no such thing here.',
      text,
      advice:
        'It may be gone, or in another namespace. The token may also not be allowed to see it.',
      canSignIn: true,
    }
  if (status >= 500)
    return {
      title: 'The server failed.',
      text,
      advice: `It wrote the reason to its log${requestId === undefined ? '' : ` as request ${requestId}`}.`,
    }
  return { title: 'The server refused this.', text, advice: 'Change what was asked and try again.' }
}
